"""Users cannot read, change or resume the conversations and streams of others."""

from __future__ import annotations

import re
import uuid

import httpx
import pytest

from access import (
    OTHER_QUESTION,
    KeyedServer,
    ask_in_session,
    bearer,
)
from api_requests import error_of
from doors import FACT, QUESTION, is_uuid4, stream

pytestmark = pytest.mark.slow

SESSIONS = [
    ("/chat", "/history"),
    ("/agent/chat", "/agent/session"),
    ("/agent/query/session", "/agent/query/session"),
]


@pytest.mark.parametrize(("ask", "read"), SESSIONS)
async def test_same_session_id_of_two_users_is_two_conversations(
    client: httpx.AsyncClient, keyed: KeyedServer, ask: str, read: str
) -> None:
    session = str(uuid.uuid4())
    await ask_in_session(client, keyed.alice, ask, QUESTION, session)
    for other in (keyed.bob, keyed.write, keyed.admin):
        assert error_of(await client.get(f"{read}/{session}", headers=bearer(other))) == (404, "SESSION_NOT_FOUND")
    await ask_in_session(client, keyed.bob, ask, OTHER_QUESTION, session)
    for key, own, foreign in ((keyed.alice, QUESTION, OTHER_QUESTION), (keyed.bob, OTHER_QUESTION, QUESTION)):
        found = (await client.get(f"{read}/{session}", headers=bearer(key))).text
        assert own in found
        assert foreign not in found


@pytest.mark.parametrize(("ask", "read"), SESSIONS[1:])
async def test_users_cannot_end_conversations_of_others(
    client: httpx.AsyncClient, keyed: KeyedServer, ask: str, read: str
) -> None:
    session = str(uuid.uuid4())
    await ask_in_session(client, keyed.alice, ask, QUESTION, session)
    for other in (keyed.bob, keyed.write, keyed.admin):
        ends = [await client.delete(f"{read}/{session}", headers=bearer(other))]
        if "query" in read:
            ends.append(await client.post(f"{read}/{session}/reset", headers=bearer(other)))
        assert {error_of(response) for response in ends} == {(404, "SESSION_NOT_FOUND")}
    assert QUESTION in (await client.get(f"{read}/{session}", headers=bearer(keyed.alice))).text
    assert (await client.delete(f"{read}/{session}", headers=bearer(keyed.alice))).status_code == 204
    assert (await client.get(f"{read}/{session}", headers=bearer(keyed.alice))).status_code == 404


async def test_users_cannot_rate_answers_to_others(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    session = str(uuid.uuid4())
    await ask_in_session(client, keyed.alice, "/chat", "Why is balance hard?", session)
    history = await client.get(f"/history/{session}", params={"details": True}, headers=bearer(keyed.alice))
    (entry,) = history.json()["entries"]
    rating = {"receipt_id": entry["metadata"]["receipt_id"], "rating": "down"}
    for other in (keyed.bob, keyed.write, keyed.admin):
        for named in ({}, {"session_id": session}):
            response = await client.post("/feedback", json=rating | named, headers=bearer(other))
            assert response.status_code == 404
    assert (await client.post("/feedback", json=rating, headers=bearer(keyed.alice))).status_code == 201
    listed = (await client.get("/feedback", params={"limit": 1}, headers=bearer(keyed.admin))).json()["feedback"]
    assert [(each["receipt_id"], each["rating"]) for each in listed] == [(rating["receipt_id"], "down")]


async def test_keys_without_a_user_share_their_conversations(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    session = str(uuid.uuid4())
    await ask_in_session(client, keyed.write, "/agent/chat", QUESTION, session)
    assert QUESTION in (await client.get(f"/agent/session/{session}", headers=bearer(keyed.read))).text
    assert (await client.get(f"/agent/session/{session}", headers=bearer(keyed.alice))).status_code == 404


async def test_internal_session_id_does_not_open_a_users_conversation(
    client: httpx.AsyncClient, keyed: KeyedServer
) -> None:
    """Even if its internal id, which the source code reveals how to compute, is used as a session id."""
    from glossator.core.conversations import session_key

    name = uuid.uuid4().hex
    inside = str(session_key(name, "alice").session_id)
    await client.post(
        "/agent/chat", json={"message": OTHER_QUESTION, "session_id": inside}, headers=bearer(keyed.write)
    )
    await ask_in_session(client, keyed.alice, "/agent/chat", QUESTION, name)
    found = (await client.get(f"/agent/session/{name}", headers=bearer(keyed.alice))).text
    assert QUESTION in found
    assert OTHER_QUESTION not in found
    theirs = await client.get(f"/agent/session/{inside}", headers=bearer(keyed.write))
    assert QUESTION not in theirs.text


async def test_idempotency_keys_are_scoped_to_a_user(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    named = {"Idempotency-Key": str(uuid.uuid4())}
    first = (await client.post("/chat", json={"query": QUESTION}, headers=bearer(keyed.alice, **named))).json()
    again = (await client.post("/chat", json={"query": QUESTION}, headers=bearer(keyed.alice, **named))).json()
    other = (await client.post("/chat", json={"query": OTHER_QUESTION}, headers=bearer(keyed.bob, **named))).json()
    assert again["session_id"] == first["session_id"] != other["session_id"]
    assert FACT not in other["answer"]


async def test_users_cannot_resume_streams_of_others(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    body = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    heard = (await client.post("/chat/stream", json=body, headers=bearer(keyed.alice))).text
    name = re.findall("(?m)^id: (.*)$", heard)[0]
    for place in (name, f"{name.partition('.')[0]}.0.00000000"):
        sent = bearer(keyed.bob, **{"Last-Event-ID": place})
        other = (await client.post("/chat/stream", json=body | {"query": OTHER_QUESTION}, headers=sent)).text
        assert FACT not in other
    history = await client.get(f"/history/{body['session_id']}", headers=bearer(keyed.alice))
    assert history.json()["total_entries"] == 1


async def test_users_cannot_rate_answers_in_conversations_of_others(
    client: httpx.AsyncClient, keyed: KeyedServer
) -> None:
    session = str(uuid.uuid4())
    client.headers = httpx.Headers(bearer(keyed.alice))
    receipt = (await stream(client, "/chat/stream", {"query": QUESTION, "session_id": session})).sources["metadata"]
    body = {"receipt_id": receipt["receipt_id"], "rating": "down", "session_id": session}
    assert (await client.post("/feedback", json=body, headers=bearer(keyed.bob))).status_code == 404
    assert (await client.post("/feedback", json=body)).status_code == 201


async def test_ids_of_conversations_are_random(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    """An id can be neither guessed nor fixed: one that an attacker chose names another conversation for each user."""
    answers = [await client.post("/chat", json={"query": QUESTION}, headers=bearer(keyed.alice)) for _ in range(8)]
    ids = [answer.json()["session_id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert all(map(is_uuid4, ids))
