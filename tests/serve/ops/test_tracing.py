"""OpenTelemetry spans of requests and their stages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from doors import (
    FACT,
    QUESTION,
)
from logged_server import (
    SECRET_WORD,
    logged_server,
    send_request,
)
from operations import (
    point_to_a_missing_generation,
)

pytestmark = pytest.mark.slow


class Collector:
    """An OpenTelemetry collector that records what it receives."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.bytes = b""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._take(self.path, self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_given: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    def _take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        self.bytes += body
        for each in request.resource_spans:
            self.resources.append(each.resource)
            self.spans += [span for scope in each.scope_spans for span in scope.spans]

    def trace(self, trace_id: str) -> list[Any]:
        """The spans of one trace, the earliest first."""
        found = [span for span in self.spans if span.trace_id.hex() == trace_id]
        return sorted(found, key=lambda span: int(span.start_time_unix_nano))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()


SERVER, INTERNAL = 2, 1
STAGES = ["embedding", "retrieval", "reading", "generation", "records"]
PARENT_SPAN = "b7ad6b7169203331"


def traceparent(trace_id: str, flags: str = "01") -> dict[str, dict[str, str]]:
    return {"headers": {"traceparent": f"00-{trace_id}-{PARENT_SPAN}-{flags}"}}


def test_request_and_stages_are_spans_of_the_callers_trace(data: Path, collector: Collector) -> None:
    whole, streamed, unsampled, rejected = (uuid.uuid4().hex for _ in range(4))
    ask_other, ask_more = {"question": "What is the Jacobian?"}, {"question": QUESTION, "stream": True}
    with logged_server(data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address, OTEL_SERVICE_NAME="library") as running:
        send_request(running, "POST", f"/ask?{SECRET_WORD}", json=ask_other, **traceparent(whole))
        send_request(running, "POST", "/ask", json=ask_more, **traceparent(streamed))
        send_request(running, "GET", f"/search?q={SECRET_WORD}", **traceparent(unsampled, "00"))
        send_request(running, "POST", "/ask", json={SECRET_WORD: SECRET_WORD}, **traceparent(rejected))
        lines = running.stop()
    for trace_id in (whole, streamed):
        request, *stages = collector.trace(trace_id)
        assert (request.kind, request.parent_span_id.hex()) == (SERVER, PARENT_SPAN)
        assert [span.name for span in stages] == STAGES
        assert {span.parent_span_id for span in stages} == {request.span_id}
        assert {span.kind for span in stages} == {INTERNAL}
        assert all(span.end_time_unix_nano <= request.end_time_unix_nano for span in stages)
    assert collector.trace(unsampled) == []
    assert [span.kind for span in collector.trace(rejected)] == [SERVER]
    names = {a.value.string_value for r in collector.resources for a in r.attributes if a.key == "service.name"}
    assert names == {"library"}
    assert SECRET_WORD.encode() not in collector.bytes
    assert not any(line["level"] in ("warning", "error") for line in lines)


def attributes(span: Any) -> dict[str, Any]:
    values = {attribute.key: attribute.value for attribute in span.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}


def test_span_has_route_and_status(private_data: Path, collector: Collector) -> None:
    good, missing, bad, broken = (uuid.uuid4().hex for _ in range(4))
    with logged_server(private_data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address) as running:
        send_request(running, "POST", "/ask", json={"question": QUESTION}, **traceparent(good))
        send_request(running, "GET", f"/{SECRET_WORD}", **traceparent(missing))
        send_request(running, "POST", "/ask", json={}, **traceparent(bad))
        point_to_a_missing_generation(private_data)
        send_request(running, "POST", "/ask", json={"question": QUESTION}, **traceparent(broken))
        running.stop()
    wanted = {
        good: ("POST /ask", 200, 0),
        missing: ("GET /{path:path}", 404, 0),
        bad: ("POST /ask", 400, 0),
        broken: ("POST /ask", 503, 2),
    }
    for trace_id, (name, status, code) in wanted.items():
        request = collector.trace(trace_id)[0]
        about = attributes(request)
        assert (request.name, about["http.response.status_code"], request.status.code) == (name, status, code)
        assert about["http.route"] == name.split()[1]


def test_invalid_traceparent_begins_a_new_trace(data: Path, collector: Collector) -> None:
    headers = ("", "rubbish", f"00-{'0' * 32}-{PARENT_SPAN}-01", "00-x-y-01", "ff" * 500)
    with logged_server(data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address) as running:
        for header in headers:
            send_request(running, "GET", "/livez", headers={"traceparent": header})
        running.stop()
    assert {(span.kind, span.parent_span_id) for span in collector.spans} == {(SERVER, b"")}
    assert len({span.trace_id for span in collector.spans}) == len(headers)


def test_unreachable_collector_does_not_affect_answers(data: Path) -> None:
    with logged_server(
        data, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1"
    ) as running:
        response = httpx.post(f"{running.address}/ask", json={"question": QUESTION}, timeout=120)
        assert FACT in response.text
        lines = running.stop()
    assert not any(QUESTION in json.dumps(line) for line in lines)


UNTRACED_SCRIPT = """
import asyncio, sys
from pathlib import Path
import httpx
from glossator.core.settings import load_settings
from glossator.serve.app import create_app

async def main():
    app = create_app(load_settings(data_dir=Path(sys.argv[1])))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        assert (await client.post("/ask", json={"question": sys.argv[2]})).status_code == 200
    print([name for name in sys.modules if name.startswith("opentelemetry.sdk")])

asyncio.run(main())
"""
DISABLED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}


@pytest.mark.parametrize("env", [{}, DISABLED], ids=["unset", "disabled"])
def test_sdk_is_not_loaded_without_an_endpoint(data: Path, env: dict[str, str]) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", UNTRACED_SCRIPT, data, QUESTION]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120, env=clean | env)
    assert done.stdout.decode().strip() == "[]"
