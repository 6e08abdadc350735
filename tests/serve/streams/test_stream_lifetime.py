"""How long a stream lives: after disconnects, at shutdown, and during an ingest."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path

import pytest

import glossator
from commands import quick_folder
from data_dirs import write_pages
from doors import (
    BASE,
    FACT,
    PAGES,
    QUESTION,
    leaks_nothing,
)
from llm_server import LlmServer
from streams import (
    ALL,
    ENDPOINTS,
    LONG_SECONDS,
    MAX_WAIT_SECONDS,
    SENTENCES,
    SESSION_ENDPOINTS,
    StreamServer,
    as_stored,
    chat_body,
    each_endpoint,
    each_session_endpoint,
    eventually,
    new_id,
    script,
    script_for_all,
    stream_answer,
    stream_server,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@each_session_endpoint
async def test_answer_continues_after_a_disconnect(server: StreamServer, model: LlmServer, path: str) -> None:
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    await (await server.connect(path, ENDPOINTS[path](session)).until_deltas(1)).disconnect()
    pacer.allowed = ALL
    (stored,) = await server.wait_for_history(session)
    assert all(sentence in stored for sentence in SENTENCES)
    assert model.disconnects == 0


@each_session_endpoint
async def test_deleted_answer_cannot_be_resumed_from_memory(server: StreamServer, model: LlmServer, path: str) -> None:
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    client = await (await server.connect(path, ENDPOINTS[path](session)).until_deltas(1)).disconnect()
    pacer.allowed = ALL
    await server.wait_for_history(session)
    response = await server.client.delete(f"/agent/session/{session}")
    assert response.status_code == 204
    script(model, SENTENCES[-1]).allowed = ALL
    before = len(model.requests)
    resumed = await server.connect(path, ENDPOINTS[path](session), client.last_id).read_all()
    assert len(model.requests) > before
    assert resumed.events[-1].name == "error"
    assert SENTENCES[1] not in resumed.raw


@each_endpoint
async def test_answer_without_clients_is_cancelled(server: StreamServer, model: LlmServer, path: str) -> None:
    server.limit(reconnect_seconds=0.05)
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    client = await (await server.connect(path, ENDPOINTS[path](session)).until_deltas(1)).disconnect()
    await eventually(lambda: model.disconnects == 1)
    await server.wait_for_eviction(client)
    assert await server.history(session) == []
    server.limit_turn_wait(MAX_WAIT_SECONDS / 2)
    resumed = await stream_answer(server, model, path, session)
    assert resumed.events[-1].name == "done"
    assert path not in SESSION_ENDPOINTS or await server.history(session) == [as_stored(resumed.text)]


@each_endpoint
async def test_disconnect_before_the_first_delta_cancels_the_model_call(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0, first_event_seconds=0.5)
    session = new_id()
    script(model)
    client = server.connect(path, ENDPOINTS[path](session))
    await eventually(lambda: model.requests)
    await client.disconnect()
    await eventually(lambda: model.disconnects == 1)
    assert await server.history(session) == []
    assert (await stream_answer(server, model, path, session)).events[-1].name == "done"


async def test_disconnect_while_sending_cancels_the_model_call(server: StreamServer, model: LlmServer) -> None:
    server.limit(reconnect_seconds=0.0)
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    client = server.connect("/chat/stream", chat_body(session))
    client.reading.clear()
    await client.until_headers()
    await client.disconnect()
    gc.collect()
    await eventually(lambda: model.disconnects == 1)
    assert await server.history(session) == []


async def test_reconnecting_in_time_keeps_the_answer_running(server: StreamServer, model: LlmServer) -> None:
    server.limit(reconnect_seconds=0.3)
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    body = chat_body(session)
    client = await (await server.connect("/chat/stream", body).until_deltas(1)).disconnect()
    resumed = server.connect("/chat/stream", body, client.last_id)
    await asyncio.sleep(0.6)
    pacer.allowed = ALL
    await resumed.read_all()
    assert await server.history(session) == [client.text + resumed.text]
    assert len(model.requests) == 1


async def test_second_disconnect_restarts_the_reconnect_timeout(server: StreamServer, model: LlmServer) -> None:
    server.limit(reconnect_seconds=0.5)
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    body = chat_body(session)
    client = await (await server.connect("/chat/stream", body).until_deltas(1)).disconnect()
    resumed = await server.connect("/chat/stream", body, client.last_id).until_headers()
    server.limit(reconnect_seconds=LONG_SECONDS)
    await resumed.disconnect()
    await asyncio.sleep(1.0)
    pacer.allowed = ALL
    assert len(await server.wait_for_history(session)) == 1
    assert (len(model.requests), model.disconnects) == (1, 0)


async def test_orphaned_answers_over_the_limit_are_cancelled_at_once(
    own_server: StreamServer, model: LlmServer
) -> None:
    own_server.limit(max_orphaned=2)
    pacer = script_for_all(model, 1)
    for cancelled in (0, 0, 1, 2):
        await (await own_server.connect("/chat/stream", chat_body(new_id())).until_deltas(1)).disconnect()
        await eventually(lambda: model.disconnects == cancelled)  # noqa: B023 - it is awaited here
    pacer.allowed = ALL


async def test_finished_answers_do_not_count_as_orphaned(own_server: StreamServer, model: LlmServer) -> None:
    own_server.limit(max_orphaned=2)
    for _ in range(4):
        await stream_answer(own_server, model, "/chat/stream", new_id())
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    await (await own_server.connect("/chat/stream", chat_body(session)).until_deltas(1)).disconnect()
    await asyncio.sleep(0.1)
    pacer.allowed = ALL
    assert len(await own_server.wait_for_history(session)) == 1


async def test_shutdown_cancels_orphaned_answers(data: Path, model: LlmServer) -> None:
    before = asyncio.all_tasks()
    script_for_all(model, 1)
    async with stream_server(data, llm=f"{model.url}#scripted") as server:
        for path, body in ENDPOINTS.items():
            await (await server.connect(path, body(new_id())).until_deltas(1)).disconnect()
    await eventually(lambda: model.disconnects == len(ENDPOINTS))
    await eventually(lambda: not asyncio.all_tasks() - before)


async def test_shutdown_sends_an_error_to_connected_clients(data: Path, model: LlmServer) -> None:
    before = asyncio.all_tasks()
    async with stream_server(data, llm=f"{model.url}#scripted") as server:
        clients = []
        for path, body in ENDPOINTS.items():
            script(model).allowed = 1
            clients.append(await server.connect(path, body(new_id())).until_deltas(1))
    for client in clients:
        assert (await client.read_all()).events[-1].name == "error"
        assert leaks_nothing(json.dumps(client.data("error")))
    await eventually(lambda: not asyncio.all_tasks() - before)


async def test_disconnects_leave_no_task(own_server: StreamServer, model: LlmServer) -> None:
    own_server.limit(reconnect_seconds=0.01)
    await stream_answer(own_server, model, "/chat/stream", new_id())
    before = asyncio.all_tasks()
    script_for_all(model, 2)
    for path in [*ENDPOINTS] * 3:
        await (await own_server.connect(path, ENDPOINTS[path](new_id())).until_deltas(1)).disconnect()
    await eventually(lambda: model.disconnects == 3 * len(ENDPOINTS))
    await eventually(lambda: not asyncio.all_tasks() - before)


# During an ingest.


async def test_no_stream_fails_during_an_ingest(model: LlmServer) -> None:
    with quick_folder() as folder:
        await asyncio.to_thread(ingest_pages, folder)
        script_for_all(model)
        async with stream_server(folder / "data", llm=f"{model.url}#scripted") as server:
            ingests = asyncio.create_task(asyncio.to_thread(ingest_new_generations, folder))
            finished = 0
            while not ingests.done():
                clients = [server.connect(path, ENDPOINTS[path](new_id())) for path in ENDPOINTS]
                searched = await server.client.get("/search", params={"q": QUESTION})
                assert searched.status_code == 200
                for client in clients:
                    assert (await client.read_all()).events[-1].name == "done"
                    assert FACT in client.text
                    finished += 1
            await ingests
            assert finished
            assert (await server.client.get("/search", params={"q": QUESTION})).json()["generation"] == 5


def ingest_pages(folder: Path) -> None:
    write_pages(folder / "book", PAGES)
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book", base_url=BASE)


def ingest_new_generations(folder: Path) -> None:
    page = folder / "book" / "module2" / "actuators.md"
    with glossator.open(folder / "data") as book:
        for number in range(29, 33):
            page.write_text(PAGES["module2/actuators.md"].replace("28", str(number)), "utf-8")
            book.ingest(folder / "book", base_url=BASE)


async def test_stream_finishes_in_the_generation_it_began_in(model: LlmServer) -> None:
    with quick_folder() as folder:
        await asyncio.to_thread(ingest_pages, folder)
        async with stream_server(folder / "data", llm=f"{model.url}#scripted") as server:
            session, pacer = new_id(), script(model)
            pacer.allowed = 1
            client = await server.connect("/chat/stream", chat_body(session)).until_deltas(1)
            await asyncio.to_thread(ingest_new_generations, folder)
            assert (await server.client.get("/search", params={"q": QUESTION})).json()["generation"] == 5
            pacer.allowed = ALL
            await client.read_all()
            assert all(sentence in client.text for sentence in SENTENCES)
            assert client.data("sources")["sources"]
            assert await server.history(session) == [client.text]
