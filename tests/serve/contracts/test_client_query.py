"""A client written from contract 004 alone."""

from __future__ import annotations

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUERY: dict[str, object] = {"query": "What is the zero-moment point?", "top_k": 5, "include_sources": True}
CHUNK = {"content", "url", "chunk_id", "document_id", "similarity_score", "position"}
TIMES = {"response_time_ms", "embedding_time_ms", "retrieval_time_ms", "generation_time_ms"}


async def test_query(server: httpx.AsyncClient) -> None:
    response = await server.post("/query", json=QUERY)
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"answer", "sources", "metadata"}
    assert body["answer"]
    assert body["sources"]
    for source in body["sources"]:
        assert set(source) == CHUNK
        assert source["content"]
        assert source["url"].startswith("https://")
        assert 0.0 <= source["similarity_score"] <= 1.0
        assert 1 <= source["position"] <= 5
    ranked = sorted(body["sources"], key=lambda source: source["position"])
    assert ranked == sorted(ranked, key=lambda source: -source["similarity_score"])
    assert set(body["metadata"]) == TIMES | {"chunk_count"}
    assert all(body["metadata"][name] >= 0 for name in TIMES)
    assert body["metadata"]["chunk_count"] >= len(body["sources"])


async def test_sources_are_left_out_on_request(server: httpx.AsyncClient) -> None:
    body = (await server.post("/query", json=QUERY | {"include_sources": False})).json()
    assert body["sources"] == []
    assert body["answer"]


@pytest.mark.parametrize(
    "change",
    [{"query": ""}, {"query": "  "}, {"query": "x" * 1001}, {"top_k": 0}, {"top_k": 11}, {"include_sources": "yes"}],
)
async def test_invalid_request(server: httpx.AsyncClient, change: dict[str, object]) -> None:
    response = await server.post("/query", json=QUERY | change)
    found = response.json()
    assert response.status_code == 400
    assert set(found) == {"error", "message", "detail", "status_code"}
    assert found["error"] == "validation_error"
    assert found["message"]
    assert found["status_code"] == 400
