"""A client written from contract 002 alone."""

from __future__ import annotations

import re
import uuid
from datetime import datetime

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUERY = {"query": "What is the zero-moment point?"}
SELECTION = "Geysers erupt when water boils deep underground. The steam pushes a column of water into the air."
CITATION = {"source_url", "title", "section", "chunk_position", "similarity_score", "snippet"}


def check_metadata(metadata: dict[str, object]) -> None:
    assert set(metadata) >= {"query_time_ms", "retrieval_count", "mode", "low_confidence", "request_id"}
    assert uuid.UUID(str(metadata["request_id"])).version == 4


async def test_chat(server: httpx.AsyncClient, kind: str) -> None:
    response = await server.post("/chat", json=QUERY)
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"answer", "fallback_message", "sources", "metadata", "session_id"}
    check_metadata(body["metadata"])
    assert uuid.UUID(body["session_id"]).version == 4
    unavailable = kind in ("hanging", "dead")
    assert body["metadata"]["mode"] == ("retrieval_only" if unavailable else "full")
    assert (body["answer"] is None) == unavailable
    assert bool(body["fallback_message"]) == unavailable
    assert body["metadata"]["retrieval_count"] > 0
    assert body["sources"]
    for source in body["sources"]:
        assert set(source) == CITATION
        assert source["chunk_position"] >= 0
        assert 0.0 <= source["similarity_score"] <= 1.0
        assert len(source["snippet"]) <= 200
    best = max(source["similarity_score"] for source in body["sources"])
    assert body["metadata"]["low_confidence"] == (0.3 <= best < 0.5)


async def test_selected_text(server: httpx.AsyncClient) -> None:
    body = (await server.post("/chat", json={"query": "Why do geysers erupt?", "selected_text": SELECTION})).json()
    assert body["metadata"]["mode"] == "selected_text"
    for source in body["sources"]:
        assert source["source_type"] == "selected_text"
        assert source["selection_length"] == len(SELECTION)
        assert source["snippet"] == SELECTION[:200]
        assert source["relevance_note"]


async def test_history(server: httpx.AsyncClient) -> None:
    session_id = str(uuid.uuid4())
    for query in ("What is the zero-moment point?", "What is inverse kinematics?"):
        assert (await server.post("/chat", json={"query": query, "session_id": session_id})).status_code == 200
    asked = {"query": "Why do geysers erupt?", "selected_text": SELECTION, "session_id": session_id}
    assert (await server.post("/chat", json=asked)).status_code == 200
    body = (await server.get(f"/history/{session_id}", params={"limit": 100})).json()
    assert set(body) == {"session_id", "entries", "total_entries"}
    assert body["total_entries"] == 3
    assert body["entries"][0]["query"] == "What is the zero-moment point?"
    for entry in body["entries"]:
        assert set(entry) == {"timestamp", "query", "response", "sources"}
        assert datetime.fromisoformat(entry["timestamp"])
        assert all(set(source) >= CITATION for source in entry["sources"])
        assert set(re.findall(r"\[(\d+)\]", entry["response"])) <= {str(n) for n in range(1, len(entry["sources"]) + 1)}
    for entry in body["entries"][:2]:
        assert all(set(source) == CITATION for source in entry["sources"])


async def test_no_results(server: httpx.AsyncClient) -> None:
    body = (await server.post("/chat", json={"query": "Who won the football match in Lisbon yesterday?"})).json()
    assert (body["metadata"]["mode"], body["sources"]) == ("no_results", [])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "  "}, "EMPTY_QUERY"),
        ({"query": None}, "EMPTY_QUERY"),
        ({"query": "x" * 32_001}, "QUERY_TOO_LONG"),
        (QUERY | {"selected_text": "x" * 64_001}, "SELECTION_TOO_LONG"),
        (QUERY | {"session_id": "not-a-uuid"}, "INVALID_SESSION_ID"),
    ],
)
async def test_invalid_request(server: httpx.AsyncClient, body: dict[str, object], code: str) -> None:
    response = await server.post("/chat", json=body)
    found = response.json()
    assert response.status_code == 400
    assert set(found) == {"error_code", "message", "request_id", "details"}
    assert found["error_code"] == code
    assert uuid.UUID(found["request_id"]).version == 4


async def test_health(server: httpx.AsyncClient) -> None:
    body = (await server.get("/health")).json()
    assert set(body) >= {"status", "timestamp", "services", "version"}
    assert body["status"] in {"healthy", "degraded", "unavailable"}
    for service in body["services"].values():
        assert set(service) >= {"name", "status", "latency_ms", "error"}
        assert service["status"] in {"healthy", "degraded", "unavailable"}
