"""Streams of a server in this process: its clients, a language model paced by the test, and the fixtures."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from starlette.responses import StreamingResponse

from doors import FACT, QUESTION, Body
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.resilience.retry import Backoff
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.app import create_app
from glossator.serve.doors.streams import StreamLimits, Streams
from llm_server import LONG_COOLDOWN_SECONDS, LlmServer, Reply, says

SENTENCES = (
    FACT,
    "Miomir Vukobratović introduced it in 1968.",
    "A robot keeps its balance as long as this point stays inside the support polygon of its feet.",
)
OTHER_SENTENCE = (
    "Walking controllers compute the zero-moment point 200 times per second from force sensors in the ankles."
)
NOT_FOUND = says("NOT FOUND")
ALL = 1000
"""More pieces than any answer has."""
LONG_SECONDS = 300.0
"""Longer than any test waits."""
MAX_WAIT_SECONDS = 60.0
"""Within which everything that a test waits for happens, however busy the machine is."""
NO_TIMEOUTS = RetryPolicy(Backoff(first_seconds=0.01, max_seconds=5.0, attempts=3), LONG_SECONDS, LONG_SECONDS)
"""Retries at once, and no call is aborted because the machine is busy."""
NO_LIMITS = StreamLimits(
    heartbeat_seconds=LONG_SECONDS,
    first_event_seconds=LONG_SECONDS,
    reconnect_seconds=LONG_SECONDS,
    max_orphaned=ALL,
)
"""No stream is cancelled because the machine is busy."""
LONG_TIMEOUTS: dict[str, Any] = {
    "verify_models": False,
    "cache_answers": 0,
    "answer_seconds": LONG_SECONDS,
    "query_seconds": LONG_SECONDS,
    "request_seconds": LONG_SECONDS,
}
"""Every answer is made anew, and none is cut short because the machine is busy."""
REQUEST_METADATA = frozenset(
    "query_time_ms request_id response_time_ms embedding_time_ms retrieval_time_ms generation_time_ms timestamp"
    " conversation_id".split()
)
"""Metadata of a request, which differs between two streams of the same answer."""


def chat_body(session: str) -> Body:
    return {"query": QUESTION, "session_id": session}


def agent_body(session: str) -> Body:
    return {"message": QUESTION, "session_id": session, "stream": True}


def grounded_body(session: str) -> Body:
    return {"query_text": QUESTION, "conversation_id": session, "stream": True}


ENDPOINTS: dict[str, Callable[[str], Body]] = {
    "/chat/stream": chat_body,
    "/agent/chat": agent_body,
    "/agent/chat/structured": agent_body,
    "/agent/query": lambda _: {"query_text": QUESTION, "stream": True},
    "/agent/query/session": grounded_body,
    "/ask": lambda _: {"question": QUESTION, "stream": True},
    "/query": lambda _: {"query": QUESTION, "stream": True},
}
"""Every endpoint that streams, and a request body for a session."""
SESSION_ENDPOINTS = ["/chat/stream", "/agent/chat", "/agent/chat/structured", "/agent/query/session"]
"""Those that store their answers in the session."""
WHOLE_ANSWERS = {
    "/chat/stream": ("/chat", "answer"),
    "/agent/chat": ("/agent/chat", "response"),
    "/agent/chat/structured": ("/agent/chat/structured", "answer"),
    "/agent/query": ("/agent/query", "response_text"),
    "/agent/query/session": ("/agent/query/session", "response_text"),
    "/ask": ("/ask", "answer"),
    "/query": ("/query", "answer"),
}
"""The endpoint and field of the same answer without streaming."""
each_endpoint = pytest.mark.parametrize("path", ENDPOINTS)
each_session_endpoint = pytest.mark.parametrize("path", SESSION_ENDPOINTS)


class Pacer:
    """Limits how many pieces a language model has sent; one more than all pieces lets it finish."""

    def __init__(self, allowed: int = 0) -> None:
        self.allowed = allowed


def paced(pieces: Sequence[str], pacer: Pacer) -> Reply:
    """A reply whose pieces are sent as the pacer allows."""

    async def lines() -> AsyncIterator[str]:
        for number, piece in enumerate((*pieces, "")):
            while pacer.allowed <= number:  # noqa: ASYNC110 - another thread changes it
                await asyncio.sleep(0.005)
            choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None if piece else "stop"}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def paragraphs(*sentences: str) -> list[str]:
    """Sentences that the server checks and sends one by one."""
    return [f"{sentence} [Source 1]\n\n" for sentence in sentences]


def script(model: LlmServer, *sentences: str) -> Pacer:
    """Script the language model with the three sentences, or the given ones, and return their pacer."""
    pacer = Pacer()
    model.script(paced(paragraphs(*(sentences or SENTENCES)), pacer), NOT_FOUND)
    return pacer


def script_for_all(model: LlmServer, allowed: int = ALL) -> Pacer:
    """Script the language model with the three sentences for any number of requests."""
    pacer = Pacer(allowed)
    model.script(paced(paragraphs(*SENTENCES), pacer))
    return pacer


@dataclass(frozen=True)
class StreamEvent:
    """One event as it was sent."""

    name: str
    id: str
    data: Any


class StreamClient:
    """A client in this process that receives everything at once, can be slow, and can disconnect at any moment."""

    def __init__(self, app: FastAPI, path: str, body: Body, headers: dict[str, str]) -> None:
        self.status, self.headers, self.raw, self.complete = 0, httpx.Headers(), "", False
        self.reading = asyncio.Event()
        self.reading.set()
        self._disconnected, self._changed = asyncio.Event(), asyncio.Event()
        self._body = [json.dumps(body).encode()]
        all_headers = {"content-type": "application/json", "host": "127.0.0.1"} | headers
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in all_headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))
        self.task.add_done_callback(lambda _: self._changed.set())

    async def _receive(self) -> Body:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], httpx.Headers(message["headers"])
        else:
            await self.reading.wait()
            self.raw += "" if self._disconnected.is_set() else message["body"].decode()
            self.complete = not message.get("more_body", False)
        self._changed.set()

    @property
    def events(self) -> list[StreamEvent]:
        return [_parse_event(block) for block in self.raw.split("\n\n")[:-1] if not block.startswith(":")]

    @property
    def comments(self) -> int:
        return sum(block.startswith(":") for block in self.raw.split("\n\n")[:-1])

    @property
    def deltas(self) -> list[str]:
        return [event.data["delta"] for event in self.events if event.name == "delta"]

    @property
    def text(self) -> str:
        return "".join(self.deltas)

    @property
    def last_id(self) -> str:
        """The id with which a browser would reconnect."""
        return next((event.id for event in reversed(self.events) if event.id), "")

    def data(self, name: str) -> Any:
        """The data of the only event with this name."""
        (data,) = (event.data for event in self.events if event.name == name)
        return data

    async def until(self, ready: Callable[[StreamClient], object]) -> StreamClient:
        """Wait for a condition."""
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while not ready(self):
                assert not self.task.done(), f"the stream ended with {self.raw!r}"
                self._changed.clear()
                await self._changed.wait()
        return self

    async def until_deltas(self, count: int) -> StreamClient:
        """Wait for a number of deltas."""
        return await self.until(lambda client: len(client.deltas) >= count)

    async def until_headers(self) -> StreamClient:
        """Wait for the status and headers."""
        return await self.until(lambda client: client.status)

    async def read_all(self) -> StreamClient:
        """Read to the end; a broken connection is an error."""
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            await self.task
        assert self.complete
        return self

    async def disconnect(self) -> StreamClient:
        """Close the connection."""
        self._disconnected.set()
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            await self.task
        return self


def _parse_event(block: str) -> StreamEvent:
    """An event in the standard format, each of its fields once and on one line."""
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    assert fields.keys() in ({"event", "id", "data"}, {"event", "data"})
    assert len(fields) == block.count("\n") + 1
    return StreamEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))


@dataclass(frozen=True)
class StreamServer:
    """A server in this process."""

    app: FastAPI
    engine: Engine
    streams: Streams
    client: httpx.AsyncClient

    def connect(self, path: str, body: Body, last_event_id: str = "", **headers: str) -> StreamClient:
        resume = {"Last-Event-ID": last_event_id} if last_event_id else {}
        return StreamClient(self.app, path, body, resume | headers)

    def limit(self, **limits: Any) -> None:
        """Change the limits of streams from now on."""
        self.streams.limits = replace(self.streams.limits, **limits)

    def limit_turn_wait(self, seconds: float) -> None:
        """Change how long a turn waits for another turn of its conversation."""
        self.engine.records.timings = replace(self.engine.records.timings, wait_timeout_seconds=seconds)

    async def history(self, session: str, **headers: str) -> list[str]:
        """The stored answers of a conversation."""
        response = await self.client.get(f"/history/{session}", headers=headers)
        return [entry["response"] for entry in response.json().get("entries", [])]

    async def wait_for_history(self, session: str) -> list[str]:
        """The stored answers of a conversation, as soon as there are any."""
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while not (answers := await self.history(session)):  # noqa: ASYNC110 - the server writes them
                await asyncio.sleep(0.01)
        return answers

    async def wait_for_eviction(self, client: StreamClient) -> None:
        """Wait until a client's stream is forgotten."""
        stream_id = client.last_id.partition(".")[0]
        await eventually(lambda: stream_id not in self.streams)


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for a condition that something else fulfils."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - there is nothing to wait on
            await asyncio.sleep(0.005)


@asynccontextmanager
async def stream_server(folder: Path, policy: RetryPolicy = NO_TIMEOUTS, **values: Any) -> AsyncIterator[StreamServer]:
    """A server from start to shutdown, which gives nothing up because the machine is busy."""
    settings = load_settings(data_dir=folder, **(LONG_TIMEOUTS | values))
    engine, streams = wire(settings, policy, LONG_COOLDOWN_SECONDS), Streams(NO_LIMITS)
    app = create_app(settings, engine, streams=streams)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield StreamServer(app, engine, streams, client)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server(data: Path, model: LlmServer) -> AsyncIterator[StreamServer]:
    """The server of all tests of a file."""
    async with stream_server(data, llm=f"{model.url}#scripted") as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def server(shared_server: StreamServer) -> AsyncIterator[StreamServer]:
    """A server whose answers a language model writes; its limits are reset after each test."""
    timings = shared_server.engine.records.timings
    yield shared_server
    shared_server.streams.limits = NO_LIMITS
    shared_server.engine.records.timings = timings


@pytest_asyncio.fixture(loop_scope="module")
async def own_server(data: Path, model: LlmServer) -> AsyncIterator[StreamServer]:
    """A server for one test: failures of the language model, circuit breakers and metrics affect no other."""
    async with stream_server(data, llm=f"{model.url}#scripted") as server:
        yield server


def new_id() -> str:
    return str(uuid.uuid4())


def error_code(error: Body) -> str:
    """The code of an error in the shape of any door."""
    code = error.get("error_code") or error["error"]
    return str(code["code"] if isinstance(code, dict) else code).upper()


def without_request_metadata(event: StreamEvent) -> StreamEvent:
    if event.name != "sources":
        return event
    metadata = {name: value for name, value in event.data["metadata"].items() if name not in REQUEST_METADATA}
    return StreamEvent(event.name, event.id, event.data | {"metadata": metadata})


def joined(events: Sequence[StreamEvent]) -> tuple[str, list[StreamEvent]]:
    """The text of events, however it was cut into deltas, and the other events."""
    text = "".join(event.data["delta"] for event in events if event.name == "delta")
    return text, [without_request_metadata(event) for event in events if event.name != "delta"]


def resume_points(events: Sequence[StreamEvent]) -> list[int]:
    """The numbers of events after which a client can reconnect with the id of the last."""
    return [number for number, event in enumerate(events, 1) if event.id]


async def stream_answer(server: StreamServer, model: LlmServer, path: str, session: str) -> StreamClient:
    """A stream of the three sentences, read to the end."""
    script(model).allowed = ALL
    return await server.connect(path, ENDPOINTS[path](session)).read_all()


def as_stored(text: str) -> str:
    """A text as it is stored: without the list of sources that one door appends, and with bare numbers as marks."""
    return re.sub(r"\[Source (\d+)\]", r"[\1]", text.partition("\n\nSources:\n")[0])
