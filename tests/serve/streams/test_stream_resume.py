"""Resuming a stream with Last-Event-ID."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doors import (
    leaks_nothing,
)
from llm_server import LlmServer, fails
from streams import (
    ALL,
    ENDPOINTS,
    OTHER_SENTENCE,
    SENTENCES,
    SESSION_ENDPOINTS,
    StreamServer,
    agent_body,
    as_stored,
    chat_body,
    each_endpoint,
    each_session_endpoint,
    error_code,
    joined,
    new_id,
    resume_points,
    script,
    stream_answer,
    stream_server,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@each_endpoint
async def test_resumed_stream_sends_exactly_the_rest(server: StreamServer, model: LlmServer, path: str) -> None:
    body = ENDPOINTS[path](new_id())
    script(model).allowed = ALL
    client = await server.connect(path, body).read_all()
    for point in resume_points(client.events)[:-1]:
        resumed = await server.connect(path, body, client.events[point - 1].id).read_all()
        assert joined(resumed.events) == joined(client.events[point:])
        assert resumed.headers["cache-control"] == client.headers["cache-control"]
    assert len(model.requests) == 1


@each_endpoint
async def test_resuming_a_complete_stream_sends_only_done(server: StreamServer, model: LlmServer, path: str) -> None:
    body = ENDPOINTS[path](new_id())
    script(model).allowed = ALL
    client = await server.connect(path, body).read_all()
    resumed = await server.connect(path, body, client.last_id).read_all()
    assert [event.name for event in resumed.events] == ["done"]
    assert len(model.requests) == 1


@each_endpoint
async def test_reconnecting_at_every_event_of_a_running_answer_misses_nothing(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    session = new_id()
    body, pacer, received, last = ENDPOINTS[path](session), script(model), "", ""
    for number in range(1, len(SENTENCES) + 1):
        client = server.connect(path, body, last)
        pacer.allowed = number
        await (await client.until_deltas(1)).disconnect()
        received, last = received + client.text, client.last_id
    pacer.allowed = ALL
    client = await server.connect(path, body, last).read_all()
    whole = await stream_answer(server, model, path, new_id())
    assert received + client.text == whole.text
    assert [event.name for event in client.events[-2:]] == ["sources", "done"]
    if path in SESSION_ENDPOINTS:
        assert await server.history(session) == [as_stored(whole.text)]


@each_endpoint
async def test_answer_is_generated_once_however_often_a_client_reconnects(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    body, pacer = ENDPOINTS[path](new_id()), script(model)
    pacer.allowed = 1
    client = await (await server.connect(path, body).until_deltas(1)).disconnect()
    for _ in range(3):
        await (await server.connect(path, body, client.last_id).until_headers()).disconnect()
    pacer.allowed = ALL
    await server.connect(path, body, client.last_id).read_all()
    assert len(model.requests) == 1
    assert model.disconnects == 0


async def test_answer_is_counted_once_however_often_it_is_resumed(own_server: StreamServer, model: LlmServer) -> None:
    body = chat_body(new_id())
    script(model).allowed = ALL
    client = await own_server.connect("/chat/stream", body).read_all()
    for point in resume_points(client.events)[:-1]:
        await own_server.connect("/chat/stream", body, client.events[point - 1].id).read_all()
    assert 'glossator_answers_total{mode="full"} 1.0' in (await own_server.client.get("/metrics")).text


async def test_appended_source_list_is_not_sent_twice(server: StreamServer, model: LlmServer) -> None:
    body = agent_body(new_id())
    script(model).allowed = ALL
    client = await server.connect("/agent/chat", body).read_all()
    with_tail = client.events[:-2]
    assert with_tail[-1].data["delta"].startswith("\n\nSources:\n")
    last = next(event.id for event in reversed(with_tail) if event.id)
    resumed = await server.connect("/agent/chat", body, last).read_all()
    received = "".join(event.data["delta"] for event in with_tail)
    assert received + resumed.text == client.text


@each_session_endpoint
async def test_evicted_stream_is_resumed_from_the_stored_answer(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0)
    session = new_id()
    body = ENDPOINTS[path](session)
    script(model).allowed = ALL
    client = await server.connect(path, body).read_all()
    for point in resume_points(client.events)[:-1]:
        await server.wait_for_eviction(client)
        resumed = await server.connect(path, body, client.events[point - 1].id).read_all()
        assert joined(resumed.events) == joined(client.events[point:])
    assert len(model.requests) == 1
    assert len(await server.history(session)) == 1


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/query/session"])
async def test_resuming_without_a_session_id_finds_the_generated_session(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0)
    body = {name: value for name, value in ENDPOINTS[path]("").items() if name not in ("session_id", "conversation_id")}
    script(model).allowed = ALL
    client = await server.connect(path, body).read_all()
    await server.wait_for_eviction(client)
    resumed = await server.connect(path, body, client.events[0].id).read_all()
    both = [each.data("sources")["metadata"] for each in (client, resumed)]
    assert len({metadata.get("session_id") or metadata["conversation_id"] for metadata in both}) == 1
    assert resumed.text == "".join(client.deltas[1:])
    assert len(model.requests) == 1


async def test_evicted_stream_without_a_language_model_has_the_same_sources(
    own_server: StreamServer, model: LlmServer
) -> None:
    own_server.limit(reconnect_seconds=0.0)
    body = chat_body(new_id())
    model.script(fails(401))
    client = await own_server.connect("/chat/stream", body).read_all()
    await own_server.wait_for_eviction(client)
    resumed = await own_server.connect("/chat/stream", body, client.events[0].id).read_all()
    assert joined(resumed.events) == joined(client.events[1:])


@pytest.mark.parametrize("path", ["/ask", "/query", "/agent/query"])
async def test_evicted_stream_that_was_not_stored_is_generated_again(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0)
    body = ENDPOINTS[path](new_id())
    client = await stream_answer(server, model, path, new_id())
    for point in resume_points(client.events)[:-1]:
        await server.wait_for_eviction(client)
        script(model).allowed = ALL
        resumed = await server.connect(path, body, client.events[point - 1].id).read_all()
        assert joined(resumed.events) == joined(client.events[point:])


@each_endpoint
async def test_stream_is_resumed_by_another_worker(
    data: Path, server: StreamServer, model: LlmServer, path: str
) -> None:
    session = new_id()
    body = ENDPOINTS[path](session)
    client = await stream_answer(server, model, path, session)
    async with stream_server(data, llm=f"{model.url}#scripted") as other:
        for point in resume_points(client.events)[:-1]:
            script(model).allowed = ALL
            resumed = await other.connect(path, body, client.events[point - 1].id).read_all()
            assert joined(resumed.events) == joined(client.events[point:])
            assert path not in SESSION_ENDPOINTS or model.requests == []
    if path in SESSION_ENDPOINTS:
        assert len(await server.history(session)) == 1


@each_session_endpoint
async def test_another_worker_waits_for_an_answer_in_progress(
    data: Path, server: StreamServer, model: LlmServer, path: str
) -> None:
    session, pacer = new_id(), script(model)
    body = ENDPOINTS[path](session)
    pacer.allowed = 1
    async with stream_server(data, llm=f"{model.url}#scripted") as other:
        other.limit(first_event_seconds=0.01)
        client = await (await server.connect(path, body).until_deltas(1)).disconnect()
        resumed = await other.connect(path, body, client.last_id).until_headers()
        assert resumed.events == []
        pacer.allowed = ALL
        await resumed.read_all()
    whole = await stream_answer(server, model, path, new_id())
    assert client.text + resumed.text == whole.text
    assert resumed.events[-1].name == "done"
    assert await server.history(session) == [as_stored(whole.text)]


async def test_two_clients_of_one_stream_receive_the_same(server: StreamServer, model: LlmServer) -> None:
    body, pacer = chat_body(new_id()), script(model)
    pacer.allowed = 1
    one = await server.connect("/chat/stream", body).until_deltas(1)
    other = await server.connect("/chat/stream", body, one.last_id).until_headers()
    pacer.allowed = 2
    await one.until_deltas(2)
    await other.until_deltas(1)
    await one.disconnect()
    pacer.allowed = ALL
    await other.read_all()
    assert one.deltas[1:] == other.deltas[:1]
    assert SENTENCES[2] in other.text
    assert len(model.requests) == 1


async def test_stream_with_an_idempotency_key_can_be_resumed(server: StreamServer, model: LlmServer) -> None:
    session, headers = new_id(), {"Idempotency-Key": new_id()}
    body, pacer = chat_body(session), script(model)
    pacer.allowed = 1
    client = await (await server.connect("/chat/stream", body, **headers).until_deltas(1)).disconnect()
    pacer.allowed = ALL
    server.limit(reconnect_seconds=0.0)
    resumed = await server.connect("/chat/stream", body, client.last_id, **headers).read_all()
    await server.wait_for_eviction(client)
    late = await server.connect("/chat/stream", body, client.last_id, **headers).read_all()
    repeated = await server.connect("/chat/stream", body, **headers).read_all()
    assert resumed.text == late.text
    assert repeated.text == client.text + resumed.text
    assert await server.history(session) == [repeated.text]
    assert len(model.requests) == 1


MALFORMED_IDS = [
    " ",
    "x",
    "0",
    "-1",
    "null",
    "\xff" * 8,
    "00000000-0000-0000-0000-000000000000",
    "00000000-0000-0000-0000-000000000000.0",
    "00000000-0000-0000-0000-000000000000.-1.00000000",
    "00000000-0000-0000-0000-000000000000.1e3.00000000",
    "00000000-0000-0000-0000-000000000000.9999999999999999999.00000000",
    "00000000-0000-0000-0000-00000000000G.1.00000000",
    "00000000-0000-0000-0000-000000000000.1.00000000x",
    "../../etc/passwd",
    "' OR 1=1 --",
    "a" * 10_000,
]


@pytest.mark.parametrize("event_id", MALFORMED_IDS, ids=lambda event_id: repr(event_id[:50]))
async def test_malformed_event_id_is_ignored(server: StreamServer, model: LlmServer, event_id: str) -> None:
    session = new_id()
    script(model).allowed = ALL
    client = await server.connect("/chat/stream", chat_body(session), event_id).read_all()
    assert [event.name for event in client.events] == ["delta"] * 3 + ["sources", "done"]
    assert await server.history(session) == [client.text]


@each_endpoint
@pytest.mark.parametrize("point", ["1.00000000", "128.00000000", "999999999.00000000", "999999999.e3b0c442s"])
async def test_event_id_that_was_never_issued_is_an_error(
    server: StreamServer, model: LlmServer, path: str, point: str
) -> None:
    script(model).allowed = ALL
    client = await server.connect(path, ENDPOINTS[path](new_id()), f"{new_id()}.{point}").read_all()
    assert (client.status, [event.name for event in client.events]) == (200, ["error"])
    assert error_code(client.data("error")) == "STREAM_LOST"
    assert leaks_nothing(json.dumps(client.data("error")))


@each_endpoint
async def test_stream_is_not_resumed_when_the_new_answer_begins_differently(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0)
    body = ENDPOINTS[path](new_id())
    script(model).allowed = 2
    client = await (await server.connect(path, body).until_deltas(2)).disconnect()
    await server.wait_for_eviction(client)
    script(model, OTHER_SENTENCE, *SENTENCES).allowed = ALL
    resumed = await server.connect(path, body, client.last_id).read_all()
    assert [event.name for event in resumed.events] == ["error"]
    assert error_code(resumed.data("error")) == "STREAM_LOST"


@each_endpoint
async def test_cancelled_answer_is_resumed_when_the_new_one_begins_the_same(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    server.limit(reconnect_seconds=0.0)
    session = new_id()
    body = ENDPOINTS[path](session)
    script(model).allowed = 2
    client = await (await server.connect(path, body).until_deltas(2)).disconnect()
    await server.wait_for_eviction(client)
    script(model).allowed = ALL
    resumed = await server.connect(path, body, client.last_id).read_all()
    whole = await stream_answer(server, model, path, new_id())
    assert client.text + resumed.text == whole.text
    if path in SESSION_ENDPOINTS:
        assert await server.history(session) == [as_stored(whole.text)]
