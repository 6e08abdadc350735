"""A client written from contract 003 alone."""

from __future__ import annotations

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUESTION = "What is the zero-moment point?"


@pytest.mark.parametrize("top_k", [None, 1, 20])
async def test_ask(server: httpx.AsyncClient, top_k: int | None) -> None:
    response = await server.post("/ask", json={"question": QUESTION} | ({"top_k": top_k} if top_k else {}))
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"question", "answer", "sources", "retrieval_time_ms", "generation_time_ms"}
    assert body["question"] == QUESTION
    assert body["answer"]
    assert isinstance(body["retrieval_time_ms"], int)
    assert isinstance(body["generation_time_ms"], int)
    assert 1 <= len(body["sources"]) <= (top_k or 5)
    for source in body["sources"]:
        assert set(source) == {"url", "content", "score", "position"}
        assert source["url"].startswith("http")
        assert 1 <= len(source["content"]) <= 500
        assert 0.0 <= source["score"] <= 1.0
        assert source["position"] >= 0


@pytest.mark.parametrize(
    "body", [{}, {"question": ""}, {"question": QUESTION, "top_k": 0}, {"question": QUESTION, "top_k": 21}]
)
async def test_invalid_request(server: httpx.AsyncClient, body: dict[str, object]) -> None:
    response = await server.post("/ask", json=body)
    found = response.json()
    assert response.status_code == 400
    assert set(found) == {"error", "message", "details"}
    assert found["error"] == "validation_error"
    assert found["message"]


async def test_health(server: httpx.AsyncClient) -> None:
    body = (await server.get("/ask/health")).json()
    assert set(body) == {"status", "dependencies"}
    assert body["status"] in {"healthy", "degraded", "unhealthy"}
    for dependency in body["dependencies"].values():
        assert set(dependency) == {"status", "details"}
        assert dependency["status"] in {"connected", "configured", "error"}
