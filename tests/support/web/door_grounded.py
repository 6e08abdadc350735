"""Requests to the grounded door, with checks of the shape of its responses and errors."""

from __future__ import annotations

import uuid
from typing import Any

import httpx

import door_agent
from doors import (
    QUESTION,
    SELECTION,
    Body,
    is_fraction,
    is_timestamp,
    is_uuid4,
)

QUERY, SESSION = "/agent/query", "/agent/query/session"
PATHS = [QUERY, SESSION]
NAME = "user_123_conv_456"
INVERSE = "What is inverse kinematics?"
BODY: Body = {"query_text": QUESTION}
USER_PROVIDED: Body = {"context_mode": "user_provided", "user_context": SELECTION}


def error_of(response: httpx.Response) -> tuple[int, str | None]:
    """The status and the conversation of an error, checked against the shape of this door, which is the agent's."""
    status, _, session = door_agent.error_of(response)
    return status, session


def code_of(response: httpx.Response) -> str:
    code: str = response.json()["error"]["code"]
    return code


def new_session() -> str:
    return f"conversation_{uuid.uuid4().hex}"


async def ask(client: httpx.AsyncClient, query_text: str, path: str = QUERY, **more: Any) -> Body:
    """A response, checked against the shape of this door."""
    response = await client.post(path, json={"query_text": query_text} | more)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {
        "response_text",
        "sources",
        "confidence_score",
        "grounding_validation",
        "conversation_id",
        "timestamp",
        "state",
    }
    assert 1 <= len(found["response_text"]) <= 10_000
    assert is_fraction(found["confidence_score"])
    assert is_timestamp(found["timestamp"])
    assert found["state"] in {"delivered", "flagged"}
    for source in found["sources"]:
        is_source(source)
    is_grounding(found["grounding_validation"], found["state"])
    return found


def is_source(source: Body) -> None:
    assert {"content_id", "source_url", "chapter"} <= set(source) <= {"content_id", "source_url", "chapter", "section"}
    assert all(isinstance(source[name], str) for name in ("content_id", "source_url", "chapter"))
    assert source.get("section") is None or isinstance(source["section"], str)


def is_grounding(found: Body, state: str) -> None:
    assert set(found) == {"is_fully_grounded", "is_fully_ground", "unsupported_claims"}
    assert type(found["is_fully_grounded"]) is bool
    assert found["is_fully_ground"] is found["is_fully_grounded"]
    assert all(isinstance(claim, str) for claim in found["unsupported_claims"])
    if not found["is_fully_grounded"]:
        assert found["unsupported_claims"]
        assert state == "flagged"


async def session(client: httpx.AsyncClient, name: str) -> Body:
    response = await client.get(f"{SESSION}/{name}")
    assert is_uuid4(response.headers["x-request-id"])
    return session_of(response, name)


def session_of(response: httpx.Response, name: str) -> Body:
    """A session, checked against the shape of this door."""
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {
        "session_id",
        "openai_thread_id",
        "created_at",
        "last_interaction",
        "user_id",
        "context_mode",
        "active_filters",
        "conversation_history",
        "state",
    }
    assert (found["session_id"], found["openai_thread_id"]) == (name, name)
    assert is_timestamp(found["created_at"])
    assert is_timestamp(found["last_interaction"])
    assert found["state"] in {"created", "active", "inactive", "expired"}
    assert found["context_mode"] in {"retrieval_pipeline", "user_provided"}
    assert len(found["conversation_history"]) <= 100
    for message in found["conversation_history"]:
        assert set(message) == {"role", "content", "timestamp", "sources"}
        assert message["role"] in {"user", "assistant"}
        assert is_timestamp(message["timestamp"])
    return found


def messages_of(found: Body, role: str) -> list[str]:
    return [message["content"] for message in found["conversation_history"] if message["role"] == role]
