"""Requests to the ask door, with checks of the shape of its responses and errors."""

from __future__ import annotations

from typing import Any

import httpx

from doors import BASE, QUESTION, Body, is_fraction, is_uuid4, leaks_nothing

BODY: Body = {"question": QUESTION}


def error_of(response: httpx.Response) -> tuple[int, str]:
    """The status and the type of an error, checked against the shape of this door."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "message", "details"}
    assert found["details"] is None
    assert leaks_nothing(found["message"])
    return response.status_code, found["error"]


async def ask(client: httpx.AsyncClient, question: str, **more: Any) -> Body:
    """An answer, checked against the shape of this door."""
    response = await client.post("/ask", json={"question": question} | more)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {"question", "answer", "sources", "retrieval_time_ms", "generation_time_ms"}
    assert found["question"] == question
    assert found["answer"].strip()
    for name in ("retrieval_time_ms", "generation_time_ms"):
        assert type(found[name]) is int
        assert found[name] >= 0
    for source in found["sources"]:
        assert set(source) == {"url", "content", "score", "position"}
        assert source["url"].startswith(f"{BASE}/module")
        assert 1 <= len(source["content"]) <= 500
        assert is_fraction(source["score"])
        assert type(source["position"]) is int
        assert source["position"] >= 0
    return found
