"""A client written from contract 001 alone."""

from __future__ import annotations

from datetime import datetime

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUERY = {"query_text": "What is the zero-moment point?"}
RESPONSE = {"response_text", "sources", "confidence_score", "grounding_validation", "conversation_id", "timestamp"}
SESSION = {
    *("session_id", "openai_thread_id", "created_at", "last_interaction", "user_id", "context_mode"),
    *("active_filters", "conversation_history"),
}


async def test_query(server: httpx.AsyncClient, kind: str) -> None:
    response = await server.post("/agent/query", json=QUERY)
    body = response.json()
    assert response.status_code == 200
    assert set(body) >= RESPONSE
    assert 1 <= len(body["response_text"]) <= 10_000
    assert 0 <= body["confidence_score"] <= 1
    assert datetime.fromisoformat(body["timestamp"])
    assert body["sources"]
    assert {frozenset(source) for source in body["sources"]} == {
        frozenset({"content_id", "source_url", "chapter", "section"})
    }
    grounding = body["grounding_validation"]
    assert isinstance(grounding["is_fully_ground"], bool)
    assert grounding["is_fully_ground"] or grounding["unsupported_claims"]
    assert (body["state"], body["confidence_score"] < 1) == ("flagged", True) or kind != "refusing"


async def test_conversation_is_continued_and_found(server: httpx.AsyncClient) -> None:
    conversation_id = (await server.post("/agent/query", json=QUERY)).json()["conversation_id"]
    more = {"query_text": "Who introduced the zero-moment point?", "conversation_id": conversation_id}
    assert (await server.post("/agent/query", json=more)).json()["conversation_id"] == conversation_id
    session = (await server.get(f"/agent/query/session/{conversation_id}")).json()
    assert set(session) >= SESSION
    assert session["session_id"] == conversation_id
    history = session["conversation_history"]
    assert [message["role"] for message in history] == ["user", "assistant"] * 2
    assert len(history) <= 100
    assert (await server.post(f"/agent/query/session/{conversation_id}/reset")).status_code == 200
    assert (await server.delete(f"/agent/query/session/{conversation_id}")).status_code == 204
    assert (await server.get(f"/agent/query/session/{conversation_id}")).status_code == 404


async def test_user_provided_context(server: httpx.AsyncClient) -> None:
    body = QUERY | {"context_mode": "user_provided", "user_context": "The zero-moment point is a point on the ground."}
    found = (await server.post("/agent/query", json=body)).json()
    assert found["response_text"]
    assert {source["content_id"] for source in found["sources"]} <= {"user_context"}


@pytest.mark.parametrize(
    "body",
    [
        {"query_text": ""},
        {"query_text": "x" * 1001},
        QUERY | {"context_mode": "user_provided"},
        QUERY | {"context_mode": "guess"},
        QUERY | {"filters": {"colour": "red"}},
    ],
)
async def test_invalid_request(server: httpx.AsyncClient, body: dict[str, object]) -> None:
    assert (await server.post("/agent/query", json=body)).status_code == 400
