"""Streams of a real server: clients that disconnect, that are slow, that never finish their request."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

import pytest
from httpx_sse import aconnect_sse

from counters import Counters
from doors import FACT, QUESTION
from llm_server import LlmServer, stalls
from server_process import (
    ServerProcess,
    connect_and_disconnect,
    raw_request,
    read_events,
    server_process,
    text_of,
)
from streams import ALL, ENDPOINTS, MAX_WAIT_SECONDS, SENTENCES, eventually, new_id, script, script_for_all

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

DISCONNECTS = int(os.environ.get("GLOSSATOR_DISCONNECTS", "100"))
MAX_CONCURRENT = 25
SLACK = 40
"""Files and threads that a pool may open later than another time; far less than one for each disconnect."""
BACKGROUND_TASKS = 1
"""Tasks that come and go by themselves: one renews the leases of this worker."""
MONITORED = """
import asyncio
from starlette.responses import JSONResponse
from starlette.routing import Route
from glossator.answer.llm.policy import RetryPolicy
from glossator.serve import app, run
from glossator.serve.doors.streams import StreamLimits, Streams

wire, create_app = run.wire, app.create_app


async def tasks(_request):
    return JSONResponse(len(asyncio.all_tasks()))


def create_monitored_app(*arguments):
    created = create_app(*arguments, streams=Streams(StreamLimits(reconnect_seconds=0.2)))
    created.router.routes.insert(0, Route("/tasks", tasks))
    return created


run.wire = lambda settings: wire(settings, RetryPolicy(stall_timeout_seconds=300.0, silence_timeout_seconds=300.0))
app.create_app = create_monitored_app
from glossator.cli.main import main

main()
"""
"""The command with a route that returns the number of tasks, and a short reconnect timeout."""


@pytest.fixture(scope="module")
def monitored(data: Path, model: LlmServer) -> Iterator[ServerProcess]:
    """A server that tells how many tasks it runs."""
    with server_process(data, start=[sys.executable, "-c", MONITORED], llm=f"{model.url}#scripted") as server:
        yield server


async def disconnect_many(server: ServerProcess, times: int, after: bytes) -> None:
    limit = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(number: int, path: str) -> None:
        async with limit:
            await connect_and_disconnect(server, path, after, abort=bool(number % 2))

    await asyncio.gather(*(one(number, path) for number, path in enumerate(islice(cycle(ENDPOINTS), times))))


@pytest.mark.parametrize("after", [b"event: delta", b"200 OK", b""], ids=["mid-stream", "after headers", "at once"])
async def test_many_disconnects_leak_nothing(monitored: ServerProcess, model: LlmServer, after: bytes) -> None:
    known = len(monitored.errors)
    times = DISCONNECTS if after == b"event: delta" else 4 * MAX_CONCURRENT
    model.script(stalls(f"{FACT} [Source 1]\n\n" if after == b"event: delta" else ""))
    await disconnect_many(monitored, 2 * MAX_CONCURRENT, after)
    await eventually(lambda: model.disconnects == len(model.requests))
    await asyncio.sleep(0.5)
    before = (monitored.files, monitored.threads, await monitored.tasks())
    await disconnect_many(monitored, times, after)
    await eventually(lambda: model.disconnects == len(model.requests))
    await monitored.wait_for_usage(before[0] + SLACK, before[1] + SLACK, before[2] + BACKGROUND_TASKS)
    if after == b"event: delta":
        assert model.disconnects == times + 2 * MAX_CONCURRENT
    script_for_all(model)
    for path, body in ENDPOINTS.items():
        events = await read_events(monitored, path, body(new_id()))
        assert events[-1].event == "done"
    assert monitored.errors[known:] == []
    Counters(f"clients disconnected ({after.decode() or 'at once'})", times, len(ENDPOINTS)).report()


async def test_conversation_can_continue_after_a_disconnect(monitored: ServerProcess, model: LlmServer) -> None:
    session = new_id()
    pacer = script(model)
    pacer.allowed = 1
    body = {"query": QUESTION, "session_id": session}
    async with monitored.client() as client:
        async with aconnect_sse(client, "POST", "/chat/stream", json=body) as source:
            async for _ in source.aiter_sse():
                break
        await eventually(lambda: model.disconnects == 1)
        assert (await client.get(f"/history/{session}")).json().get("entries", []) == []
        script_for_all(model)
        events = await read_events(monitored, "/chat/stream", body)
        (entry,) = (await client.get(f"/history/{session}")).json()["entries"]
    assert entry["response"] == text_of(events)


async def read_slowly(server: ServerProcess, path: str, hurry: asyncio.Event) -> bytes:
    """The response to a client that reads a byte a second until `hurry` is set."""
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=small, limit=1)
    content = raw_request(path, ENDPOINTS[path](new_id())).replace(b"Host:", b"Connection: close\r\nHost:", 1)
    writer.write(content)
    response = b""
    while not hurry.is_set():
        response += await reader.read(1)
        with suppress(TimeoutError):
            await asyncio.wait_for(hurry.wait(), 1)
    response += await reader.read()
    writer.close()
    await writer.wait_closed()
    return response


async def test_slow_clients_delay_nobody_and_receive_everything(monitored: ServerProcess, model: LlmServer) -> None:
    script_for_all(model)
    hurry = asyncio.Event()
    async with asyncio.timeout(2 * MAX_WAIT_SECONDS), asyncio.TaskGroup() as group:
        slow = [group.create_task(read_slowly(monitored, path, hurry)) for path in islice(cycle(ENDPOINTS), 21)]
        for path, body in ENDPOINTS.items():
            assert (await read_events(monitored, path, body(new_id())))[-1].event == "done"
        assert not any(task.done() for task in slow)
        hurry.set()
    for task in slow:
        answer = task.result().decode()
        assert answer.startswith("HTTP/1.1 200 OK")
        assert all(sentence in answer for sentence in SENTENCES)
        assert "event: done" in answer
        assert answer.endswith("\r\n0\r\n\r\n")


async def test_half_open_connections_delay_nobody(monitored: ServerProcess, model: LlmServer) -> None:
    script_for_all(model)
    known = len(monitored.errors)
    whole = raw_request("/chat/stream", ENDPOINTS["/chat/stream"](new_id()))
    beginnings = [b"", b"P", whole[:40], whole[:-5], whole]
    await read_events(monitored, "/chat/stream", ENDPOINTS["/chat/stream"](new_id()))
    before = (monitored.files, monitored.threads, await monitored.tasks())
    opened = []
    for beginning in beginnings * 8:
        _, writer = await asyncio.open_connection("127.0.0.1", monitored.port)
        writer.write(beginning)
        opened.append(writer)
    for path, body in ENDPOINTS.items():
        assert (await read_events(monitored, path, body(new_id())))[-1].event == "done"
    for number, writer in enumerate(opened):
        if number % 2 and not writer.is_closing():
            writer.write_eof()
        else:
            writer.close()
    await monitored.wait_for_usage(before[0] + SLACK, before[1] + SLACK, before[2] + BACKGROUND_TASKS)
    for writer in opened:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    assert monitored.errors[known:] == []


async def test_stream_can_be_resumed_on_any_worker(data: Path, model: LlmServer) -> None:
    pacer = script_for_all(model, 1)
    session = new_id()
    with server_process(data, workers=2, llm=f"{model.url}#scripted") as server:
        for path in ("/chat/stream", "/agent/chat", "/ask", "/query"):
            body, received = ENDPOINTS[path](session if path == "/chat/stream" else new_id()), []
            async with server.client() as client, aconnect_sse(client, "POST", path, json=body) as source:
                async for event in source.aiter_sse():
                    received.append(event)
                    break
            resuming = [asyncio.create_task(read_events(server, path, body, received[0].id)) for _ in range(6)]
            pacer.allowed = ALL
            rests = await asyncio.gather(*resuming)
            assert {rest[-1].event for rest in rests} == {"done"}
            (rest,) = {text_of(rest) for rest in rests}
            text = text_of(received) + rest
            assert all(sentence in text for sentence in SENTENCES)
            pacer.allowed = ALL if path == "/query" else 1
        async with server.client() as client:
            (entry,) = (await client.get(f"/history/{session}")).json()["entries"]
    assert all(sentence in entry["response"] for sentence in SENTENCES)
