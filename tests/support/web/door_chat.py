"""Requests to the chat door, with checks of the shape of its responses and errors."""

from __future__ import annotations

from typing import Any

import httpx

from doors import (
    QUESTION,
    Body,
    is_milliseconds,
    is_timestamp,
    is_uuid4,
    leaks_nothing,
)

PATHS = ["/chat", "/chat/stream"]
METADATA = {"query_time_ms", "retrieval_count", "mode", "low_confidence", "request_id"}
MODES = {"full", "selected_text", "retrieval_only", "no_results"}
BODY: Body = {"query": QUESTION}
INVERSE = "What is inverse kinematics?"
SESSION = "3f2b8c1e-9d4a-4e6b-8f7a-1c2d3e4f5a6b"
NOT_UUID4 = [
    "not-a-uuid",
    "user_123_conv_456",
    "12345678-1234-1234-1234-12345678901",
    "00000000-0000-0000-0000-000000000000",
    "a8098c1a-f86e-11da-bd1a-00112444be1e",
    "6fa459ea-ee8a-3ca4-894e-db77e160355e",
    "886313e1-3b8a-5372-9b90-0c9aee199e5d",
]


def error_of(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error, checked against the shape of this door."""
    found = response.json()
    assert set(found) == {"error_code", "message", "request_id", "details"}
    assert is_uuid4(found["request_id"])
    assert found["request_id"] == response.headers["x-request-id"]
    assert found["details"] is None
    assert leaks_nothing(found["message"])
    return response.status_code, found["error_code"]


async def chat(client: httpx.AsyncClient, **body: Any) -> Body:
    """An answer, checked against the shape of this door."""
    response = await client.post("/chat", json=body)
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {"answer", "fallback_message", "sources", "metadata", "session_id"}
    assert is_uuid4(found["session_id"])
    is_metadata(found["metadata"])
    assert set(found["metadata"]) == METADATA
    assert found["metadata"]["request_id"] == response.headers["x-request-id"]
    return found


def is_metadata(metadata: Body) -> None:
    assert set(metadata) >= METADATA
    assert is_milliseconds(metadata["query_time_ms"])
    assert type(metadata["retrieval_count"]) is int
    assert metadata["retrieval_count"] >= 0
    assert metadata["mode"] in MODES
    assert type(metadata["low_confidence"]) is bool
    assert is_uuid4(metadata["request_id"])


async def history(client: httpx.AsyncClient, session: str, query: str = "") -> Body:
    """A history, checked against the shape of this door."""
    response = await client.get(f"/history/{session}{query}")
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {"session_id", "entries", "total_entries"}
    assert is_uuid4(response.headers["x-request-id"])
    for entry in found["entries"]:
        assert set(entry) == {"timestamp", "query", "response", "sources"}
        assert is_timestamp(entry["timestamp"])
    return found
