"""The metrics of several workers, and the log of a server process."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

import glossator
from doors import (
    FACT,
    QUESTION,
    Body,
    is_milliseconds,
    is_timestamp,
    malformed,
)
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from llm_server import LlmServer, fails, says, stalls
from logged_server import (
    SECRET_WORD,
    client_of,
    connect,
    has_logged,
    logged_server,
    send_request,
    stopped,
    wait_until,
)
from operations import (
    corrupt_current,
    corrupt_documents,
    delete_everything,
    parse_metrics,
    total,
)

pytestmark = pytest.mark.slow

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see which worker has a connection")


@pytest.fixture(scope="module")
def used_data(data: Path) -> Path:
    """A book whose database tables exist, so that no worker is killed while it creates them."""
    with glossator.open(data) as book:
        book.ask(QUESTION)
    assert (data / "records.sqlite").exists()
    return data


@linux_only
def test_metrics_of_all_workers_add_up(used_data: Path, model: LlmServer, tmp_path: Path) -> None:
    model.script(says(f"{FACT} [1]"))
    env = {"GLOSSATOR_LLM": f"{model.url}#scripted", "GLOSSATOR_VERIFY_MODELS": "false", "TMPDIR": str(tmp_path)}
    with logged_server(used_data, workers=2, **env) as running:
        first, second = running.workers
        seen = []
        for worker, times in ((first, 2), (second, 3)):
            with client_of(running, worker) as client:
                for _ in range(times):
                    name = client.post("/ask", json={"question": QUESTION}).headers["x-request-id"]
                    wait_until(partial(has_logged, running, name))  # and counted just before
        for worker in (first, second):
            with client_of(running, worker) as client:
                seen.append(parse_metrics(client.get("/metrics").text))
        running.stop()
    for found in seen:
        assert total(found, "requests_total", route="/ask", status="200") == 5
        assert total(found, "request_seconds_count", route="/ask") == 5
        assert total(found, "answers_total", mode="full") == 5
        assert total(found, "stage_seconds_count", stage="generation") == 2
        assert total(found, "cache_total", found="miss") == 2
        assert total(found, "cache_total", found="hit") == 3
        assert total(found, "tokens_total", kind="input") == 2 * 20
        assert total(found, "index_generation") == 1
    assert list(tmp_path.glob("glossator-counts-*")) == []


@linux_only
def test_gauges_of_a_killed_worker_are_removed(used_data: Path, model: LlmServer, tmp_path: Path) -> None:
    model.script(stalls())
    env = {"GLOSSATOR_LLM": f"{model.url}#scripted", "TMPDIR": str(tmp_path)}
    with logged_server(used_data, workers=2, **env) as running:
        first, _ = running.workers
        with stopped(running.process.pid), connect(running, first) as hung:
            body = json.dumps({"question": QUESTION})
            head = f"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            hung.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
            wait_until(lambda: len(model.requests) > 0)
            os.kill(first, signal.SIGKILL)
        wait_until(lambda: "".join(running.lines).count("startup complete") >= 3)
        found = parse_metrics(httpx.get(f"{running.address}/metrics", timeout=120).text)
        running.stop()
    assert total(found, "requests_running") == 1


def test_server_process_sends_no_telemetry(data: Path, tmp_path: Path) -> None:
    with logged_server(data, TMPDIR=str(tmp_path)) as running:
        send_request(running, "POST", "/ask", json={"question": QUESTION})
        running.stop()
    assert [file.name for file in tmp_path.iterdir()] == []  # ONNX Runtime's telemetry keeps its session in `.ses`


def test_every_log_line_is_json_and_names_its_request(private_data: Path) -> None:
    key = KeyStore(private_data / KEYS_FILE).create("reader", [Scope.ADMIN])
    authorized = {"authorization": f"Bearer {key}"}
    requests: list[tuple[str, str, Body | None, dict[str, str], str, int]] = [
        ("GET", "/livez", None, authorized, "/livez", 200),
        ("GET", f"/search?q={SECRET_WORD}", None, authorized, "/search", 200),
        ("POST", "/ask", {"question": f"What is {SECRET_WORD}?"}, authorized, "/ask", 200),
        ("GET", f"/{SECRET_WORD}", None, authorized, "/{path:path}", 404),
        ("POST", "/chat/stream", {"query": SECRET_WORD}, authorized, "/chat/stream", 200),
        ("POST", f"/ask?{SECRET_WORD}", {"q": SECRET_WORD}, authorized, "/ask", 400),
        ("GET", "/metrics", None, {"x-api-key": SECRET_WORD}, "other", 401),
        ("GET", f"/?q={SECRET_WORD}", None, authorized, "/", 200),
    ]
    with logged_server(private_data) as running:
        expected = {
            send_request(running, method, path, json=body, headers=headers): (method, route, status)
            for method, path, body, headers, route, status in requests
        }
        lines = running.stop()
        log = "".join(running.lines)
    mine = [line for line in lines if line["logger"] == "glossator.requests"]
    assert {line["request_id"]: (line["method"], line["route"], line["status"]) for line in mine} == expected
    assert len(mine) == len(expected) == len(requests)
    assert all(is_timestamp(line["time"]) and is_milliseconds(line["ms"]) for line in mine)
    for secret in (SECRET_WORD, key, key.split("_")[2], str(private_data), "secret-place", "Traceback"):
        assert secret not in log
    assert {line["caller"] for line in mine} - {"open"} == {key.split("_")[1]}
    assert not any("127.0.0.1" in json.dumps(line) for line in mine)


def test_bad_requests_are_logged_on_one_line_without_traceback(data: Path) -> None:
    bodies = malformed({"question": SECRET_WORD}, "question").values()
    headers = {"content-type": "application/json"}
    with logged_server(data) as running:
        ids = [send_request(running, "POST", "/ask", content=body, headers=headers) for body in bodies]
        ids += [
            send_request(running, "PUT", "/ask", content=SECRET_WORD),
            send_request(running, "GET", "/search?top_k=0"),
        ]
        for garbage in (b"RUBBISH\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/x.y\r\n\r\n"):
            with connect(running) as open_socket:
                open_socket.sendall(garbage)
                assert open_socket.recv(100).startswith(b"HTTP/1.1 400")
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id")]
    assert [line["request_id"] for line in mine] == ids
    assert {(line["level"], line["status"] < 500) for line in mine} == {("info", True)}
    assert sum("Invalid HTTP request" in line["message"] for line in lines) == 3
    assert not any("exception" in line for line in lines)
    assert SECRET_WORD not in json.dumps(lines)


@pytest.mark.parametrize("damage", [delete_everything, corrupt_documents, corrupt_current])
def test_index_problems_are_logged_without_paths(private_data: Path, damage: Callable[[Path], None]) -> None:
    damage(private_data)
    with logged_server(private_data) as running:
        ids = [
            send_request(running, "POST", "/ask", json={"question": SECRET_WORD}),
            send_request(running, "GET", "/readyz"),
        ]
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id")]
    assert {line["request_id"] for line in mine} == set(ids)
    assert {line["problem"] for line in mine if "problem" in line} == {"QDRANT_UNAVAILABLE"}
    assert [line["level"] for line in mine if line["request_id"] == ids[0]] == ["error", "info"]
    assert not any("exception" in line for line in lines)
    for secret in (SECRET_WORD, str(private_data), "secret-place"):
        assert secret not in json.dumps(lines)


def test_internal_errors_are_logged_with_traceback_on_one_line(private_data: Path) -> None:
    with logged_server(private_data) as running:
        send_request(running, "GET", "/readyz")
        corrupt_documents(private_data)
        name = send_request(running, "GET", "/docs/module1/kinematics")
        lines = running.stop()
    fault, line = (line for line in lines if line.get("request_id") == name)
    assert (fault["level"], fault["message"]) == ("error", "DatabaseError")
    assert fault["exception"].startswith("Traceback")
    assert (line["status"], line["problem"]) == (500, "INTERNAL_ERROR")
    assert "secret-place" not in json.dumps(lines)


def test_language_model_failures_are_logged_with_their_request(data: Path, model: LlmServer) -> None:
    model.script(fails(401))
    with logged_server(data, GLOSSATOR_LLM=f"{model.url}#scripted", GLOSSATOR_LLM_API_KEY="sk-secret") as running:
        name = send_request(running, "POST", "/ask", json={"question": QUESTION})
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id") == name]
    assert {line["level"] for line in mine} == {"warning", "info"}
    assert any("HTTP 401" in line["message"] for line in mine)
    assert "sk-secret" not in json.dumps(lines)
    assert QUESTION not in json.dumps(lines)
