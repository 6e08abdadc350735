"""Streams that fail: the language model, the server, or the request; and heartbeats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doors import (
    FACT,
    FALSEHOOD,
    QUESTION,
    leaks_nothing,
)
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.answers import UNAVAILABLE_NOTICE
from glossator.store.records.record_store import RecordStore
from llm_server import LlmServer, Reply, drops_connection, fails, stalls
from streams import (
    ALL,
    ENDPOINTS,
    LONG_SECONDS,
    SENTENCES,
    SESSION_ENDPOINTS,
    WHOLE_ANSWERS,
    StreamServer,
    as_stored,
    chat_body,
    each_endpoint,
    each_session_endpoint,
    error_code,
    eventually,
    new_id,
    script,
    stream_answer,
    stream_server,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@each_endpoint
async def test_sent_sentences_stay_when_the_language_model_drops_the_connection(
    own_server: StreamServer, model: LlmServer, path: str
) -> None:
    session = new_id()
    model.script(
        drops_connection(f"{FACT} [Source 1]\n\n{FALSEHOOD} [Source 1]\n\nA robot keeps its balance as long as")
    )
    client = await own_server.connect(path, ENDPOINTS[path](session)).read_all()
    assert FACT in client.deltas[0]
    assert "baker" not in client.text
    assert "as long as" not in client.text
    assert [event.name for event in client.events[-2:]] == ["sources", "done"]
    if path in SESSION_ENDPOINTS:
        assert await own_server.history(session) == [as_stored(client.text)]


async def test_truncated_answer_is_marked_as_degraded(own_server: StreamServer, model: LlmServer) -> None:
    model.script(drops_connection(f"{FACT} [Source 1]\n\nA robot"))
    cut = await own_server.connect("/chat/stream", chat_body(new_id())).read_all()
    assert (cut.data("sources")["metadata"]["degraded"], cut.data("sources")["metadata"]["mode"]) == (True, "full")
    full = await stream_answer(own_server, model, "/chat/stream", new_id())
    assert full.data("sources")["metadata"]["degraded"] is False


@pytest.mark.parametrize(
    "reply",
    [fails(401), drops_connection(""), drops_connection("A robot keeps")],
    ids=["status 401", "no text", "half a sentence"],
)
async def test_quotes_are_sent_when_the_language_model_fails_before_its_first_sentence(
    own_server: StreamServer, model: LlmServer, reply: Reply
) -> None:
    session = new_id()
    model.script(reply)
    client = await own_server.connect("/chat/stream", chat_body(session)).read_all()
    assert [event.name for event in client.events] == ["delta", "sources", "done"]
    assert FACT in client.text
    assert client.data("sources")["metadata"]["mode"] == "retrieval_only"
    assert await own_server.history(session) == [client.text]


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if path != "/chat/stream"])
async def test_stream_begins_with_the_same_unavailable_notice_as_the_whole_answer(
    own_server: StreamServer, model: LlmServer, path: str
) -> None:
    model.script(fails(401))
    client = await own_server.connect(path, ENDPOINTS[path](new_id())).read_all()
    endpoint, field = WHOLE_ANSWERS[path]
    body = {name: value for name, value in ENDPOINTS[path](new_id()).items() if name != "stream"}
    assert client.text == (await own_server.client.post(endpoint, json=body)).json()[field]
    assert client.text.startswith(f"{UNAVAILABLE_NOTICE} ")


async def test_stalled_language_model_is_aborted(data: Path, model: LlmServer) -> None:
    policy = RetryPolicy(stall_timeout_seconds=0.2, silence_timeout_seconds=LONG_SECONDS)
    async with stream_server(data, policy, llm=f"{model.url}#scripted") as own_server:
        model.script(stalls(f"{FACT} [Source 1]\n\nA robot keeps"))
        client = await own_server.connect("/chat/stream", chat_body(new_id())).read_all()
        assert client.text == f"{FACT} [1]"
        assert client.data("sources")["metadata"]["degraded"] is True
        await eventually(lambda: model.disconnects == 1)


async def test_answer_timeout_ends_the_answer_but_not_the_connection(data: Path, model: LlmServer) -> None:
    async with stream_server(data, llm=f"{model.url}#scripted", answer_seconds=1.5) as server:
        model.script(stalls(f"{FACT} [Source 1]\n\nA robot keeps"))
        client = await server.connect("/chat/stream", chat_body(new_id())).read_all()
    assert FACT in client.text
    assert client.data("sources")["metadata"]["degraded"] is True
    assert client.events[-1].name == "done"


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/chat", "/query"])
async def test_request_timeout_is_reported_before_the_connection_closes(
    data: Path, model: LlmServer, path: str
) -> None:
    async with stream_server(data, llm=f"{model.url}#scripted", request_seconds=2.0) as server:
        script(model).allowed = 1
        client = await server.connect(path, ENDPOINTS[path](new_id())).read_all()
    if client.status == 200:
        assert not client.text or FACT in client.text
        assert error_code(client.data("error")) == "TIMEOUT"
    else:  # the machine is so busy that nothing was sent in that time
        assert (client.status, error_code(json.loads(client.raw))) == (504, "TIMEOUT")


@each_endpoint
async def test_internal_error_mid_stream_is_sent_as_an_error_event_of_the_door(
    server: StreamServer, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("secret-place")

    monkeypatch.setattr(RecordStore, "finish_turn", fail)
    monkeypatch.setattr(RecordStore, "store_receipt", fail)
    client = await stream_answer(server, model, path, new_id())
    assert all(sentence in client.text for sentence in SENTENCES)
    assert client.events[-1].name == "error"
    assert error_code(client.data("error")) == "INTERNAL_ERROR"
    assert leaks_nothing(json.dumps(client.data("error")))
    assert not any(event.name in ("sources", "done") for event in client.events)


async def test_conversation_deleted_mid_stream_stays_deleted(server: StreamServer, model: LlmServer) -> None:
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    client = await server.connect("/chat/stream", chat_body(session)).until_deltas(1)
    assert (await server.client.delete(f"/agent/session/{session}")).status_code == 204
    pacer.allowed = ALL
    await client.read_all()
    metadata = client.data("sources")["metadata"]
    assert (metadata["stored"], metadata["receipt_id"]) == (False, "")
    assert await server.history(session) == []


# Errors before the first delta.


@each_endpoint
async def test_stream_without_an_index_fails_with_a_status(tmp_path: Path, path: str) -> None:
    async with stream_server(tmp_path / "secret-place") as server:
        client = await server.connect(path, ENDPOINTS[path](new_id())).read_all()
    assert client.status == 503
    assert client.headers["content-type"] == "application/json"
    assert error_code(json.loads(client.raw)) in ("QDRANT_UNAVAILABLE", "RETRIEVAL_FAILED", "RETRIEVAL_ERROR")


@each_endpoint
async def test_invalid_stream_request_fails_with_a_status(server: StreamServer, path: str) -> None:
    body = {name: "" if value == QUESTION else value for name, value in ENDPOINTS[path](new_id()).items()}
    client = await server.connect(path, body).read_all()
    assert client.status == 400
    assert client.headers["content-type"] == "application/json"


async def test_reused_idempotency_key_fails_with_a_status(server: StreamServer, model: LlmServer) -> None:
    session = new_id()
    script(model).allowed = ALL
    headers = {"Idempotency-Key": new_id()}
    await server.connect("/chat/stream", chat_body(session), **headers).read_all()
    client = await server.connect(
        "/chat/stream", {"query": "What is a Jacobian?", "session_id": session}, **headers
    ).read_all()
    assert (client.status, error_code(json.loads(client.raw))) == (409, "IDEMPOTENCY_KEY_REUSED")


@each_session_endpoint
@pytest.mark.parametrize("as_status", [True, False], ids=["status", "event"])
async def test_busy_conversation_is_reported_by_status_or_by_event_if_headers_were_sent(
    server: StreamServer, model: LlmServer, path: str, as_status: bool
) -> None:
    server.limit_turn_wait(0.5)
    server.limit(first_event_seconds=LONG_SECONDS if as_status else 0.01)
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    first = await server.connect(path, ENDPOINTS[path](session)).until_deltas(1)
    second = await server.connect(path, ENDPOINTS[path](session)).read_all()
    if as_status:
        assert (second.status, error_code(json.loads(second.raw))) == (429, "CONVERSATION_BUSY")
    else:
        assert (second.status, [event.name for event in second.events]) == (200, ["error"])
        assert error_code(second.data("error")) == "CONVERSATION_BUSY"
    pacer.allowed = ALL
    await first.read_all()
    assert len(await server.history(session)) == 1


# Heartbeats.


async def test_heartbeat_comments_are_sent_during_silence(server: StreamServer, model: LlmServer) -> None:
    server.limit(heartbeat_seconds=0.05, first_event_seconds=0.05)
    session, pacer = new_id(), script(model)
    client = await server.connect("/chat/stream", chat_body(session)).until(lambda client: client.comments >= 3)
    assert client.events == []
    pacer.allowed = 1
    await client.until_deltas(1)
    before = client.comments
    await client.until(lambda client: client.comments >= before + 3)
    pacer.allowed = ALL
    await client.read_all()
    assert [event.name for event in client.events] == ["delta"] * 3 + ["sources", "done"]
    assert await server.history(session) == [client.text]


async def test_heartbeat_comments_are_sent_while_a_resumed_stream_catches_up(
    server: StreamServer, model: LlmServer
) -> None:
    server.limit(heartbeat_seconds=0.05, reconnect_seconds=0.0, first_event_seconds=0.05)
    body, pacer = chat_body(new_id()), script(model)
    pacer.allowed = 2
    client = await (await server.connect("/chat/stream", body).until_deltas(2)).disconnect()
    await server.wait_for_eviction(client)
    pacer = script(model)
    resumed = await server.connect("/chat/stream", body, client.last_id).until(lambda client: client.comments >= 2)
    assert resumed.events == []
    pacer.allowed = ALL
    await resumed.read_all()
    assert SENTENCES[2] in resumed.text


async def test_no_heartbeat_without_silence(server: StreamServer, model: LlmServer) -> None:
    assert (await stream_answer(server, model, "/chat/stream", new_id())).comments == 0


async def test_slow_client_misses_nothing_and_does_not_wait_for_a_heartbeat(
    server: StreamServer, model: LlmServer
) -> None:
    """Text that arrives while an event is being sent is sent right after it."""
    session, pacer = new_id(), script(model)
    pacer.allowed = 1
    client = server.connect("/chat/stream", chat_body(session))
    client.reading.clear()
    await client.until_headers()
    pacer.allowed = ALL
    await eventually(lambda: len(model.requests) == 1)
    await server.wait_for_history(session)
    client.reading.set()
    await client.read_all()
    assert await server.history(session) == [client.text]
