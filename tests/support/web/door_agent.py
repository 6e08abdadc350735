"""Requests to the agent door, with checks of the shape of its responses and errors."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta
from typing import Any

import httpx

from doors import (
    ABOUT_SELECTION,
    BASE,
    QUESTION,
    SELECTION,
    Body,
    is_fraction,
    is_uuid4,
    leaks_nothing,
)

CHAT, STRUCTURED = "/agent/chat", "/agent/chat/structured"
PATHS = [CHAT, STRUCTURED]
SESSION = "user_123_conv_456"
BODY: Body = {"message": QUESTION, "session_id": SESSION}
ZMP = (
    "The zero-moment point (ZMP) is the point on the ground where the total sum of inertial and gravitational forces"
    " equals zero. It is used in humanoid robot control to maintain balance..."
)
CONTEXTS = [
    ("Explain this concept in simple terms", ZMP),
    ("Explain this concept in simple terms", ZMP.partition(" It is")[0][:-1] + "..."),
    ("Explain this concept", "The ZMP is the point on the ground..."),
    ("What does ZMP mean in this context?", ZMP),
    (ABOUT_SELECTION, SELECTION),
]
CITED = re.compile(r"\[Source (\d+)\]")
LISTED = re.compile(r"- \[Source (\d+)\] (\S+)")


def error_of(response: httpx.Response) -> tuple[int, str, str | None]:
    """The status, the code and the session of an error, checked against the shape of this door."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "session_id"}
    assert set(found["error"]) == {"code", "message", "details"}
    assert found["error"]["details"] is None
    assert leaks_nothing(found["error"]["message"])
    assert re.fullmatch(r"[A-Z_]+", found["error"]["code"])
    return response.status_code, found["error"]["code"], found["session_id"]


def new_session() -> str:
    return f"session_{uuid.uuid4().hex}"


async def ask(client: httpx.AsyncClient, path: str, body: Body) -> Body:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    return found


async def chat(client: httpx.AsyncClient, message: str, **more: Any) -> Body:
    """A response, checked against the shape of this door."""
    body = {"message": message, "session_id": new_session()} | more
    found = await ask(client, CHAT, body)
    assert set(found) == {"response", "session_id", "status"}
    assert found["session_id"] == body["session_id"]
    assert found["response"].strip()
    return found


async def structured(client: httpx.AsyncClient, message: str, **more: Any) -> Body:
    """A structured response, checked against the shape of this door."""
    found = await ask(client, STRUCTURED, {"message": message, "session_id": new_session()} | more)
    assert set(found) == {"answer", "sources", "confidence", "retrieval_mode"}
    assert found["answer"].strip()
    assert found["confidence"] in {"High", "Medium", "Low"}
    assert found["retrieval_mode"] in {"full_book", "context_constrained"}
    assert len(found["sources"]) <= 20
    for source in found["sources"]:
        is_citation(source)
    return found


def is_citation(source: Body) -> None:
    assert set(source) == {"source_number", "url", "score"}
    assert type(source["source_number"]) is int
    assert 1 <= source["source_number"] <= 20
    assert source["url"].startswith(f"{BASE}/module")
    assert is_fraction(source["score"])


async def session(client: httpx.AsyncClient, name: str) -> Body:
    """A session, checked against the shape of this door."""
    response = await client.get(f"/agent/session/{name}")
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {"session_id", "created_at", "last_active", "messages"}
    assert found["session_id"] == name
    assert datetime.fromisoformat(found["created_at"]) <= datetime.fromisoformat(found["last_active"])
    for message in found["messages"]:
        assert set(message) == {"role", "content", "timestamp", "tool_call_id"}
        assert message["role"] in {"user", "assistant", "system", "tool"}
        assert datetime.fromisoformat(message["timestamp"]).utcoffset() == timedelta(0)
    return found


def messages_of(found: Body, role: str) -> list[str]:
    return [message["content"] for message in found["messages"] if message["role"] == role]
