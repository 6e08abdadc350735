"""A client written from contract 000 alone."""

from __future__ import annotations

import re

import httpx
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

MESSAGE = {"message": "What is the zero-moment point in humanoid robotics?", "session_id": "user_123_conv_456"}
CONTEXT = "The zero-moment point (ZMP) is the point on the ground where the sum of all forces equals zero."
STATUSES = {"success", "guardrail_triggered", "citation_validation_failed", "error"}


async def test_chat(server: httpx.AsyncClient, kind: str) -> None:
    response = await server.post("/agent/chat", json=MESSAGE)
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"response", "session_id", "status"}
    assert body["session_id"] == MESSAGE["session_id"]
    assert body["status"] == ("citation_validation_failed" if kind == "refusing" else "success")
    answer, _, listed = body["response"].partition("\n\nSources:\n")
    cited = {int(number) for number in re.findall(r"\[Source (\d+)\]", answer)}
    sources = dict(re.findall(r"^- \[Source (\d+)\] (\S+)$", listed, re.MULTILINE))
    assert cited
    assert {str(number) for number in cited} == set(sources)
    assert all(url.startswith("http") for url in sources.values())


async def test_structured_chat(server: httpx.AsyncClient) -> None:
    response = await server.post("/agent/chat/structured", json=MESSAGE | {"context_text": None})
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"answer", "sources", "confidence", "retrieval_mode"}
    assert body["retrieval_mode"] == "full_book"
    assert body["confidence"] in {"High", "Medium", "Low"}
    assert 1 <= len(body["sources"]) <= 20
    for number, source in enumerate(body["sources"], 1):
        assert set(source) == {"source_number", "url", "score"}
        assert source["source_number"] == number
        assert 0.0 <= source["score"] <= 1.0
    cited = {int(number) for number in re.findall(r"\[Source (\d+)\]", body["answer"])}
    assert cited == set(range(1, len(body["sources"]) + 1))
    best = max(source["score"] for source in body["sources"])
    assert body["confidence"] != "High" or best > 0.8


async def test_context_constrained_mode(server: httpx.AsyncClient) -> None:
    body = {"message": "Explain this concept in simple terms", "session_id": "c", "context_text": CONTEXT}
    found = (await server.post("/agent/chat/structured", json=body)).json()
    assert found["retrieval_mode"] == "context_constrained"
    assert found["sources"] == []
    assert "[Source" not in found["answer"]
    told = (await server.post("/agent/chat", json=body)).json()
    assert told["status"] in STATUSES
    assert "Sources:" not in told["response"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"message": "", "session_id": "s"}, "VALIDATION_ERROR"),
        ({"message": "x" * 2001, "session_id": "s"}, "VALIDATION_ERROR"),
        ({"message": "What is ZMP?", "session_id": "user@email.com"}, "INVALID_SESSION_ID"),
        ({"message": "Explain this", "session_id": "s", "context_text": "   "}, "VALIDATION_ERROR"),
        ({"message": "Explain this", "session_id": "s", "context_text": "x" * 10_001}, "VALIDATION_ERROR"),
    ],
)
async def test_invalid_request(server: httpx.AsyncClient, body: dict[str, str], code: str) -> None:
    response = await server.post("/agent/chat", json=body)
    found = response.json()
    assert response.status_code == 400
    assert set(found) == {"error", "session_id"}
    assert set(found["error"]) == {"code", "message", "details"}
    assert found["error"]["code"] == code
    assert found["error"]["details"] is None
