"""Limits of a request: how many at once, how large, and how long each may take."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import Response, StreamingResponse

from api_requests import (
    CHEAP_PATH,
    HEALTH_PATHS,
    JSON,
    OTHER_POSTS,
    QUESTIONS,
    TIMEOUT_SECONDS,
    error_of,
    eventually,
    llm_settings,
    retry_after,
)
from doors import FACT, QUESTION, Body, post_in_pieces, serving
from glossator.serve.app import ServerOptions
from llm_server import LlmServer, Reply, drips, searches, stalls

pytestmark = pytest.mark.slow


def stall_until(released: threading.Event) -> Reply:
    """A language model that sends nothing until the event is set, and then an empty answer."""

    async def lines() -> AsyncIterator[str]:
        await eventually(released.is_set, 3600)
        yield "data: [DONE]\n\n"

    def reply(_body: Body) -> Response:
        return StreamingResponse(lines(), media_type="text/event-stream")

    return reply


@dataclass(frozen=True)
class Busy:
    """A server that is busy with one request until it is released."""

    client: httpx.AsyncClient
    running: asyncio.Task[httpx.Response]
    released: threading.Event


@asynccontextmanager
async def busy(data: Path, model: LlmServer, waiting: int) -> AsyncIterator[Busy]:
    released = threading.Event()
    model.script(stall_until(released))
    settings: dict[str, Any] = llm_settings(model) | {"max_running": 1, "max_waiting": waiting}
    async with serving(data, answer_seconds=600, request_seconds=3600, **settings) as client:
        running = asyncio.create_task(client.post("/ask", json=QUESTIONS["/ask"]))
        try:
            assert await eventually(lambda: bool(model.requests))
            yield Busy(client, running, released)
        finally:
            released.set()
            await running


async def test_requests_queue_for_a_slot_and_the_next_is_rejected(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=2) as server:
        sent = [asyncio.create_task(server.client.get(CHEAP_PATH)) for _ in range(5)]
        assert await eventually(lambda: sum(task.done() for task in sent) == 3)
        done = [task for task in sent if task.done()]
        assert [error_of(task.result()) for task in done] == [(429, "OVERLOADED")] * 3
        assert [retry_after(task.result()) for task in done]
        assert not server.running.done()
        server.released.set()
        assert (await server.running).status_code == 200
        served = [(await task).status_code for task in sent if task not in done]
        assert served == [200, 200]


async def test_overload_error_has_the_shape_of_the_door(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=0) as server:
        for path, body in (QUESTIONS | OTHER_POSTS).items():
            response = await server.client.post(path, json=body)
            assert error_of(response) == (429, "OVERLOADED"), path
            assert retry_after(response)


async def test_health_checks_respond_under_overload(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=0) as server:
        for path in [*HEALTH_PATHS, "/metrics"]:
            assert (await server.client.get(path)).status_code == 200
        assert not server.running.done()


async def test_slot_is_released_however_a_request_ends(data: Path) -> None:
    options = ServerOptions(body_timeout_seconds=0.1)
    async with serving(data, options, max_running=1, max_waiting=0, max_body_bytes=1000) as client:
        ends = [
            await client.post("/ask", json={}),
            await client.post("/ask", content=b"x"),
            await client.get("/nowhere"),
            await post_in_pieces(client, "/ask", b"x" * 2000),
            await client.post("/ask", content=endless_body(b"{"), headers=JSON),
            await client.get(CHEAP_PATH),
        ]
    assert [response.status_code for response in ends] == [400, 415, 404, 413, 408, 200]


async def endless_body(begin: bytes, interval: float = 0.0) -> AsyncIterator[bytes]:
    """A body that never ends: it stalls, or drips a byte at each interval."""
    yield begin
    while True:
        await asyncio.sleep(interval or 3600)
        yield b" "


def padded(body: Body, size: int) -> bytes:
    return json.dumps(body).encode().ljust(size)


@pytest.mark.parametrize("path", [*QUESTIONS, *OTHER_POSTS])
async def test_body_over_the_limit_is_rejected_whole_or_chunked(empty_data: Path, path: str) -> None:
    body = (QUESTIONS | OTHER_POSTS)[path]
    async with serving(empty_data, max_body_bytes=1000) as client:
        for size, large in ((1000, False), (1001, True), (50_000, True)):
            content = padded(body, size)
            whole = await client.post(path, content=content, headers=JSON)
            pieces = await post_in_pieces(client, path, content)
            assert ((whole.status_code == 413), (pieces.status_code == 413)) == (large, large)
            if large:
                assert error_of(whole) == error_of(pieces) == (413, "PAYLOAD_TOO_LARGE")


@dataclass
class CountedBody:
    """A body of many pieces, and how many of them were read."""

    read: int = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        for _ in range(10_000):
            self.read += 1
            yield b" " * 100


@pytest.mark.parametrize("path", [*QUESTIONS, *OTHER_POSTS])
@pytest.mark.parametrize("length", ["1000000", "5", ""], ids=["true length", "false length", "no length"])
async def test_body_over_the_limit_is_not_read_to_its_end(empty_data: Path, path: str, length: str) -> None:
    body = CountedBody()
    headers = JSON | ({"Content-Length": length} if length else {})
    async with serving(empty_data, max_body_bytes=1000) as client:
        response = await client.post(path, content=body.pieces(), headers=headers)
    assert error_of(response) == (413, "PAYLOAD_TOO_LARGE")
    assert body.read <= (0 if length == "1000000" else 12)


@pytest.mark.parametrize("path", [*QUESTIONS, *OTHER_POSTS])
async def test_stalled_body_times_out(empty_data: Path, path: str) -> None:
    options = ServerOptions(body_timeout_seconds=0.1)
    async with serving(empty_data, options) as client, asyncio.timeout(TIMEOUT_SECONDS):
        response = await client.post(path, content=endless_body(b"{"), headers=JSON)
    assert error_of(response)[0] == 408


async def test_dripping_body_times_out(empty_data: Path) -> None:
    options = ServerOptions(body_timeout_seconds=1.0)
    async with serving(empty_data, options, request_seconds=TIMEOUT_SECONDS / 2) as client:
        await client.post("/ask", json=QUESTIONS["/ask"])  # so that no import delays the body
        response = await client.post("/ask", content=endless_body(b"{", interval=0.01), headers=JSON)
    assert error_of(response)[0] == 408


async def test_body_timeout_does_not_apply_to_the_answer(data: Path, model: LlmServer) -> None:
    options = ServerOptions(body_timeout_seconds=0.2)
    async with serving(data, options, **llm_settings(model)) as client:
        for path in ("/ask", "/chat/stream"):
            model.script(searches(), drips(f"{FACT} [Source 1]", 0.01))
            response = await client.post(path, json=QUESTIONS[path])
            assert response.status_code == 200
            assert FACT in response.text


@pytest.mark.parametrize("path", QUESTIONS)
async def test_slow_request_times_out(data: Path, model: LlmServer, path: str) -> None:
    model.script(stalls())
    given: dict[str, Any] = llm_settings(model) | {"request_seconds": 0.5, "max_running": 1, "max_waiting": 0}
    async with serving(data, **given) as client, asyncio.timeout(TIMEOUT_SECONDS):
        assert error_of(await client.post(path, json=QUESTIONS[path])) == (504, "TIMEOUT")
        assert (await client.get(CHEAP_PATH)).status_code != 429


async def test_request_timeout_includes_the_wait_for_a_slot(data: Path, model: LlmServer) -> None:
    """Otherwise a request could be answered long after its client has given up."""
    model.script(stalls())
    given: dict[str, Any] = llm_settings(model) | {"request_seconds": 2, "max_running": 1, "max_waiting": 3}
    async with serving(data, **given) as client:
        sent = [client.post("/ask", json=QUESTIONS["/ask"]) for _ in range(4)]
        assert {error_of(response) for response in await asyncio.gather(*sent)} == {(504, "TIMEOUT")}
    assert len(model.requests) <= 2


async def test_request_timeout_cancels_the_draft(data: Path, model: LlmServer) -> None:
    model.script(drips("word " * 100_000, 0.05))
    async with serving(data, request_seconds=2, answer_seconds=600, **llm_settings(model)) as client:
        assert error_of(await client.post("/ask", json=QUESTIONS["/ask"])) == (504, "TIMEOUT")
        assert await eventually(lambda: model.disconnects == len(model.requests))


async def test_conversation_continues_after_a_timed_out_turn(data: Path, model: LlmServer) -> None:
    body = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    model.script(stalls())
    async with serving(data, request_seconds=0.5, **llm_settings(model)) as hasty:
        assert error_of(await hasty.post("/chat", json=body)) == (504, "TIMEOUT")
    async with serving(data) as client:
        assert (await client.post("/chat", json=body)).status_code == 200
