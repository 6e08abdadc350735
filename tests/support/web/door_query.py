"""Requests to the query door, with checks of the shape of its responses and errors."""

from __future__ import annotations

from typing import Any

import httpx

from doors import BASE, QUESTION, Body, is_fraction, is_milliseconds, is_uuid4, leaks_nothing

BODY: Body = {"query": QUESTION}
TIMES = ("response_time_ms", "embedding_time_ms", "retrieval_time_ms", "generation_time_ms")


def error_of(response: httpx.Response) -> tuple[int, str]:
    """The status and the type of an error, checked against the shape of this door."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "message", "detail", "status_code"}
    assert found["detail"] is None
    assert found["status_code"] == response.status_code
    assert leaks_nothing(found["message"])
    return response.status_code, found["error"]


async def query(client: httpx.AsyncClient, **body: Any) -> Body:
    """An answer, checked against the shape of this door."""
    response = await client.post("/query", json=body)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {"answer", "sources", "metadata"}
    assert found["answer"].strip()
    assert set(found["metadata"]) == {*TIMES, "chunk_count"}
    is_metadata(found["metadata"])
    for source in found["sources"]:
        is_source(source)
    return found


def is_metadata(metadata: Body) -> None:
    assert all(is_milliseconds(metadata[name]) for name in TIMES)
    assert type(metadata["chunk_count"]) is int
    assert metadata["chunk_count"] >= 0


def is_source(source: Body) -> None:
    assert set(source) == {"content", "url", "chunk_id", "document_id", "similarity_score", "position"}
    assert source["content"].strip()
    assert source["url"].startswith(f"{BASE}/module")
    assert source["chunk_id"]
    assert source["document_id"]
    assert is_fraction(source["similarity_score"])
    assert type(source["position"]) is int
    assert source["position"] >= 1
