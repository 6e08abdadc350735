"""Streams of a real server: clients who vanish, who are slow, who never say what they want; and how a server stops."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from starlette.responses import StreamingResponse
from test_events import ALL, LONG, MOST_SECONDS, SENTENCES, WAYS, Gate, fresh, paced, paragraphs, script, soon

import doors
from commands import START, quick_folder
from doors import FACT, QUESTION, Body
from llm_server import LlmServer, Reply, stalls

pytestmark = pytest.mark.asyncio(loop_scope="module")
data, model = doors.data, doors.model

DISCONNECTS = int(os.environ.get("GLOSSATOR_DISCONNECTS", "100"))
AT_ONCE = 25
FEW = 40
"""Files and threads that a pool may open later than another time; far less than one for each disconnect."""
CHORES = 1
"""Tasks that come and go by themselves: one tells the other workers that this one lives."""
WATCHED = """
import asyncio
from starlette.responses import JSONResponse
from starlette.routing import Route
from glossator.answer.llm import chain
from glossator.serve import app
from glossator.serve.doors import streams

streams.RETURN_WITHIN = 0.2
chain.PATIENCE = chain.STALL = 300.0
create_app = app.create_app


async def tasks(_request):
    return JSONResponse(len(asyncio.all_tasks()))


def watched(*given):
    made = create_app(*given)
    made.router.routes.insert(0, Route("/tasks", tasks))
    return made


app.create_app = watched
from glossator.cli.main import main

main()
"""
"""The command, with a page that tells how many tasks there are; nobody is waited for long."""


@dataclass(frozen=True)
class Running:
    """A real server that is ready."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=MOST_SECONDS)

    @property
    def files(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    @property
    def threads(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/task").iterdir())

    @property
    def faults(self) -> list[str]:
        """What it logged that an operator would have to look at."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if "Traceback" in line or '"level": "error"' in line]

    async def tasks(self) -> int:
        async with self.client() as client:
            return int((await client.get("/tasks")).text)

    async def settled(self, files: int, threads: int, tasks: int) -> None:
        """Wait until it holds no more than this."""
        async with asyncio.timeout(MOST_SECONDS):
            while self.files > files or self.threads > threads or await self.tasks() > tasks:  # noqa: ASYNC110 - its own
                await asyncio.sleep(0.1)

    async def ended(self) -> int:
        """Wait for its end."""
        return await asyncio.to_thread(self.process.wait, MOST_SECONDS)


@contextmanager
def serving(data: Path, *, start: list[str] = START, workers: int = 1, **given: Any) -> Iterator[Running]:
    """A server, from its start to its end."""
    values = {"verify_models": False, "cache_answers": 0, "answer_seconds": LONG, "request_seconds": LONG} | given
    named = {f"GLOSSATOR_{name.upper()}": str(value) for name, value in values.items()}
    command = [*start, "serve", "--port", "0", "--workers", str(workers), "--data-dir", str(data)]
    with quick_folder() as folder, (folder / "log").open("wb") as written:
        log = folder / "log"
        process = subprocess.Popen(command, env=os.environ | named, stdout=written, stderr=written)
        try:
            while "Uvicorn running on" not in log.read_text() or log.read_text().count("startup complete") < workers:
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            port = re.search(r"Uvicorn running on http://127\.0\.0\.1:(\d+)", log.read_text())
            assert port
            yield Running(int(port[1]), process, log)
        finally:
            process.terminate()
            process.wait(MOST_SECONDS)


@pytest.fixture(scope="module")
def watched(data: Path, model: LlmServer) -> Iterator[Running]:
    """A server that tells what it holds."""
    with serving(data, start=[sys.executable, "-c", WATCHED], llm=f"{model.url}#scripted") as running:
        yield running


def question(path: str, body: Body) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    )
    return head.encode() + b"\r\n\r\n" + content


async def vanish(running: Running, path: str, after: bytes, *, abort: bool) -> None:
    """Ask, hear so much, and be gone: with a word of farewell, or as if the cable had been cut."""
    async with asyncio.timeout(MOST_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(question(path, WAYS[path](fresh())))
        await writer.drain()
        if after:
            await reader.readuntil(after)
        if abort:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def all_vanish(running: Running, times: int, after: bytes) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, path: str) -> None:
        async with room:
            await vanish(running, path, after, abort=bool(number % 2))

    await asyncio.gather(*(one(number, path) for number, path in enumerate(islice(cycle(WAYS), times))))


async def heard(running: Running, path: str, body: Body, last_event_id: str = "") -> list[ServerSentEvent]:
    """All events of a stream."""
    again = {"Last-Event-ID": last_event_id} if last_event_id else {}
    async with running.client() as client, aconnect_sse(client, "POST", path, json=body, headers=again) as source:
        return [event async for event in source.aiter_sse()]


def text_of(events: list[ServerSentEvent]) -> str:
    return "".join(event.json()["delta"] for event in events if event.event == "delta")


def speaking(model: LlmServer) -> None:
    """The language model says its sentences to everybody."""
    gate = Gate()
    gate.allowed = ALL
    model.script(paced(paragraphs(*SENTENCES), gate))


# Clients who are gone.


@pytest.mark.parametrize("after", [b"event: delta", b"200 OK", b""], ids=["in mid-stream", "at the headers", "at once"])
async def test_hundreds_who_vanish_leave_nothing_behind(watched: Running, model: LlmServer, after: bytes) -> None:
    known = len(watched.faults)
    times = DISCONNECTS if after == b"event: delta" else 4 * AT_ONCE
    model.script(stalls(f"{FACT} [Source 1]\n\n" if after == b"event: delta" else ""))
    await all_vanish(watched, 2 * AT_ONCE, after)
    await soon(lambda: model.left == len(model.asked))
    await asyncio.sleep(0.5)
    before = (watched.files, watched.threads, await watched.tasks())
    await all_vanish(watched, times, after)
    await soon(lambda: model.left == len(model.asked))
    await watched.settled(before[0] + FEW, before[1] + FEW, before[2] + CHORES)
    if after == b"event: delta":
        assert model.left == times + 2 * AT_ONCE
    speaking(model)
    for path, body in WAYS.items():
        events = await heard(watched, path, body(fresh()))
        assert events[-1].event == "done"
    assert watched.faults[known:] == []


async def test_a_conversation_goes_on_after_its_reader_vanished(watched: Running, model: LlmServer) -> None:
    session = fresh()
    gate = script(model)
    gate.allowed = 1
    body = {"query": QUESTION, "session_id": session}
    async with watched.client() as client:
        async with aconnect_sse(client, "POST", "/chat/stream", json=body) as source:
            async for _ in source.aiter_sse():
                break
        await soon(lambda: model.left == 1)
        assert (await client.get(f"/history/{session}")).json().get("entries", []) == []
        speaking(model)
        events = await heard(watched, "/chat/stream", body)
        (entry,) = (await client.get(f"/history/{session}")).json()["entries"]
    assert entry["response"] == text_of(events)


# Clients who are slow.


async def byte_by_byte(running: Running, path: str, hurry: asyncio.Event) -> bytes:
    """What a client hears that takes a byte a second, until it is told to hurry."""
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", running.port))
    reader, writer = await asyncio.open_connection(sock=small, limit=1)
    content = question(path, WAYS[path](fresh())).replace(b"Host:", b"Connection: close\r\nHost:", 1)
    writer.write(content)
    got = b""
    while not hurry.is_set():
        got += await reader.read(1)
        with suppress(TimeoutError):
            await asyncio.wait_for(hurry.wait(), 1)
    got += await reader.read()
    writer.close()
    await writer.wait_closed()
    return got


async def test_slow_readers_keep_nobody_waiting_and_hear_everything(watched: Running, model: LlmServer) -> None:
    speaking(model)
    hurry = asyncio.Event()
    async with asyncio.timeout(2 * MOST_SECONDS), asyncio.TaskGroup() as group:
        slow = [group.create_task(byte_by_byte(watched, path, hurry)) for path in islice(cycle(WAYS), 21)]
        for path, body in WAYS.items():
            assert (await heard(watched, path, body(fresh())))[-1].event == "done"
        assert not any(task.done() for task in slow)
        hurry.set()
    for task in slow:
        answer = task.result().decode()
        assert answer.startswith("HTTP/1.1 200 OK")
        assert all(sentence in answer for sentence in SENTENCES)
        assert "event: done" in answer
        assert answer.endswith("\r\n0\r\n\r\n")


async def test_sockets_that_are_half_open_keep_nobody_waiting(watched: Running, model: LlmServer) -> None:
    speaking(model)
    known = len(watched.faults)
    whole = question("/chat/stream", WAYS["/chat/stream"](fresh()))
    beginnings = [b"", b"P", whole[:40], whole[:-5], whole]
    await heard(watched, "/chat/stream", WAYS["/chat/stream"](fresh()))
    before = (watched.files, watched.threads, await watched.tasks())
    opened = []
    for beginning in beginnings * 8:
        _, writer = await asyncio.open_connection("127.0.0.1", watched.port)
        writer.write(beginning)
        opened.append(writer)
    for path, body in WAYS.items():
        assert (await heard(watched, path, body(fresh())))[-1].event == "done"
    for number, writer in enumerate(opened):
        if number % 2 and not writer.is_closing():
            writer.write_eof()
        else:
            writer.close()
    await watched.settled(before[0] + FEW, before[1] + FEW, before[2] + CHORES)
    for writer in opened:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    assert watched.faults[known:] == []


# Other workers.


async def test_a_reader_who_comes_back_to_any_worker_hears_the_rest(data: Path, model: LlmServer) -> None:
    gate = Gate()
    model.script(paced(paragraphs(*SENTENCES), gate))
    gate.allowed = 1
    session = fresh()
    with serving(data, workers=2, llm=f"{model.url}#scripted") as running:
        for path in ("/chat/stream", "/agent/chat", "/query"):
            body, whole = WAYS[path](session if path == "/chat/stream" else fresh()), []
            async with running.client() as client, aconnect_sse(client, "POST", path, json=body) as source:
                async for event in source.aiter_sse():
                    whole.append(event)
                    break
            again = [asyncio.create_task(heard(running, path, body, whole[0].id)) for _ in range(6)]
            gate.allowed = ALL
            rests = await asyncio.gather(*again)
            assert {rest[-1].event for rest in rests} == {"done"}
            (rest,) = {text_of(rest) for rest in rests}
            said = text_of(whole) + rest
            assert all(sentence in said for sentence in SENTENCES)
            gate.allowed = ALL if path == "/query" else 1
        async with running.client() as client:
            (entry,) = (await client.get(f"/history/{session}")).json()["entries"]
    assert all(sentence in entry["response"] for sentence in SENTENCES)


# The end.


async def refuses(running: Running) -> bool:
    """Whether nobody listens there any more."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", running.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    return False


async def refused(running: Running) -> None:
    """Wait until nobody listens there any more."""
    async with asyncio.timeout(MOST_SECONDS / 3):
        while not await refuses(running):  # noqa: ASYNC110 - it is another program's
            await asyncio.sleep(0.02)


GOOD_END = (0, -signal.SIGTERM, 128 + signal.SIGTERM)


def babbles(gate: Gate) -> Reply:
    """A language model that repeats itself, so that nobody takes it for dead, until it may end."""

    async def lines() -> AsyncIterator[str]:
        while not gate.allowed:
            async for line in one(FACT):
                yield line
            await asyncio.sleep(0.2)
        async for line in one(FACT):  # the gate may have opened before anything was said again
            yield line
        yield "data: [DONE]\n\n"

    async def one(sentence: str) -> AsyncIterator[str]:
        choice = {"index": 0, "delta": {"content": f"{sentence} [Source 1]\n\n"}, "finish_reason": None}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_stream_ends_well_though_its_server_is_told_to_stop(data: Path, model: LlmServer, workers: int) -> None:
    session, gate, events = fresh(), Gate(), []
    model.script(babbles(gate))
    body = {"query": QUESTION, "session_id": session}
    with serving(data, workers=workers, llm=f"{model.url}#scripted") as running:
        async with running.client() as client, aconnect_sse(client, "POST", "/chat/stream", json=body) as source:
            async for event in source.aiter_sse():
                events.append(event)
                if len(events) == 1:
                    running.process.send_signal(signal.SIGTERM)
                    refusing = asyncio.create_task(refused(running))
                    refusing.add_done_callback(lambda _: setattr(gate, "allowed", ALL))
        await refusing
        assert await running.ended() in GOOD_END
        assert running.faults == []
    assert len(events) > 3
    assert {event.event for event in events[:-2]} == {"delta"}
    assert [event.event for event in events[-2:]] == ["sources", "done"]
    async with doors.serving(data) as other:
        (entry,) = (await other.get(f"/history/{session}")).json()["entries"]
    assert entry["response"] == text_of(events)


async def test_an_idle_server_stops_at_once(data: Path, model: LlmServer) -> None:
    with serving(data, llm=f"{model.url}#scripted") as running:
        async with running.client() as client:
            assert (await client.get("/livez")).text == "ok"
            running.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(running.process.wait, LONG / 10) in GOOD_END


async def test_an_answer_that_nobody_hears_does_not_keep_a_server_from_stopping(data: Path, model: LlmServer) -> None:
    model.script(stalls(f"{FACT} [Source 1]\n\n"))
    with serving(data, llm=f"{model.url}#scripted") as running:
        await vanish(running, "/chat/stream", b"event: delta", abort=False)
        running.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(running.process.wait, LONG / 10) in GOOD_END
    await soon(lambda: model.left == 1)


async def test_a_language_model_that_never_ends_does_not_keep_a_server_from_stopping(
    data: Path, model: LlmServer
) -> None:
    model.script(stalls(f"{FACT} [Source 1]\n\n"))
    with serving(data, llm=f"{model.url}#scripted", answer_seconds=2) as running:
        asked = asyncio.create_task(heard(running, "/chat/stream", {"query": QUESTION}))
        await soon(lambda: model.asked)
        running.process.send_signal(signal.SIGTERM)
        events = await asked
        assert await running.ended() in GOOD_END
    assert events[-1].event == "done"
