"""A real server is told to stop: streams end well, and nothing keeps it from stopping."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from httpx_sse import aconnect_sse
from starlette.responses import StreamingResponse

import doors
from doors import FACT, QUESTION
from llm_server import LlmServer, Reply, stalls
from server_process import ServerProcess, connect_and_disconnect, read_events, server_process, text_of
from streams import ALL, LONG_SECONDS, MAX_WAIT_SECONDS, Pacer, eventually, new_id

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

CLEAN_EXIT_CODES = (0, -signal.SIGTERM, 128 + signal.SIGTERM)


async def is_refusing(server: ServerProcess) -> bool:
    """Whether the port is closed."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    return False


async def wait_until_refusing(server: ServerProcess) -> None:
    """Wait until the port is closed."""
    async with asyncio.timeout(MAX_WAIT_SECONDS / 3):
        while not await is_refusing(server):  # noqa: ASYNC110 - it is another process's
            await asyncio.sleep(0.02)


def repeats_until(pacer: Pacer) -> Reply:
    """A language model that repeats itself, so that it does not count as stalled, until the pacer lets it finish."""

    async def lines() -> AsyncIterator[str]:
        while not pacer.allowed:
            async for line in one(FACT):
                yield line
            await asyncio.sleep(0.2)
        async for line in one(FACT):  # the pacer may have been opened before the first line
            yield line
        yield "data: [DONE]\n\n"

    async def one(sentence: str) -> AsyncIterator[str]:
        choice = {"index": 0, "delta": {"content": f"{sentence} [Source 1]\n\n"}, "finish_reason": None}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


@pytest.mark.parametrize("workers", [1, 2])
async def test_stream_is_completed_during_shutdown(data: Path, model: LlmServer, workers: int) -> None:
    session, pacer, events = new_id(), Pacer(), []
    model.script(repeats_until(pacer))
    body = {"query": QUESTION, "session_id": session}
    with server_process(data, workers=workers, llm=f"{model.url}#scripted") as server:
        async with server.client() as client, aconnect_sse(client, "POST", "/chat/stream", json=body) as source:
            async for event in source.aiter_sse():
                events.append(event)
                if len(events) == 1:
                    server.process.send_signal(signal.SIGTERM)
                    refusing = asyncio.create_task(wait_until_refusing(server))
                    refusing.add_done_callback(lambda _: setattr(pacer, "allowed", ALL))
        await refusing
        assert await server.wait() in CLEAN_EXIT_CODES
        assert server.errors == []
    assert len(events) > 3
    assert {event.event for event in events[:-2]} == {"delta"}
    assert [event.event for event in events[-2:]] == ["sources", "done"]
    async with doors.serving(data) as other:
        (entry,) = (await other.get(f"/history/{session}")).json()["entries"]
    assert entry["response"] == text_of(events)


async def test_idle_server_stops_at_once(data: Path, model: LlmServer) -> None:
    with server_process(data, llm=f"{model.url}#scripted") as server:
        async with server.client() as client:
            assert (await client.get("/livez")).text == "ok"
            server.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.process.wait, LONG_SECONDS / 10) in CLEAN_EXIT_CODES


async def test_orphaned_answer_does_not_delay_shutdown(data: Path, model: LlmServer) -> None:
    model.script(stalls(f"{FACT} [Source 1]\n\n"))
    with server_process(data, llm=f"{model.url}#scripted") as server:
        await connect_and_disconnect(server, "/chat/stream", b"event: delta", abort=False)
        server.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.process.wait, LONG_SECONDS / 10) in CLEAN_EXIT_CODES
    await eventually(lambda: model.disconnects == 1)


async def test_stalled_language_model_does_not_prevent_shutdown(data: Path, model: LlmServer) -> None:
    model.script(stalls(f"{FACT} [Source 1]\n\n"))
    with server_process(data, llm=f"{model.url}#scripted", answer_seconds=2) as server:
        reading = asyncio.create_task(read_events(server, "/chat/stream", {"query": QUESTION}))
        await eventually(lambda: model.requests)
        server.process.send_signal(signal.SIGTERM)
        events = await reading
        assert await server.wait() in CLEAN_EXIT_CODES
    assert events[-1].event == "done"
