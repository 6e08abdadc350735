"""The ask door: the contract 003."""

from __future__ import annotations

import httpx
import pytest

from door_ask import BODY, ask, error_of
from doors import (
    BASE,
    FACT,
    OUT_OF_SCOPE,
    QUESTION,
    Body,
    is_uuid4,
    page_url,
    passages,
    post,
    stream,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Answers.


@pytest.mark.parametrize("question", [QUESTION, "What is inverse kinematics?", "What is physical AI?"])
async def test_answer_has_sources_from_the_book(client: httpx.AsyncClient, question: str) -> None:
    found = await ask(client, question)
    assert 1 <= len(found["sources"]) <= 5


async def test_answer_quotes_the_book(client: httpx.AsyncClient) -> None:
    assert FACT in (await ask(client, QUESTION))["answer"]


async def test_content_is_the_beginning_of_its_chunk(client: httpx.AsyncClient) -> None:
    chunks = {(page_url(p["url"]), p["position"]): p for p in await passages(client, QUESTION)}
    sources = (await ask(client, QUESTION))["sources"]
    for source in sources:
        chunk = chunks[page_url(source["url"]), source["position"]]
        assert source["content"] == chunk["text"][:500]
        assert source["score"] == pytest.approx(chunk["score"], abs=0.01)
    assert max(len(source["content"]) for source in sources) == 500


async def test_first_chunk_of_a_page_has_position_zero(client: httpx.AsyncClient) -> None:
    sources = (await ask(client, "What is physical AI?"))["sources"]
    assert 0 in {s["position"] for s in sources if page_url(s["url"]) == f"{BASE}/module2/physical-ai"}


@pytest.mark.parametrize("top_k", [1, 2, 5, 20])
async def test_top_k_limits_the_sources(client: httpx.AsyncClient, top_k: int) -> None:
    assert 1 <= len((await ask(client, QUESTION, top_k=top_k))["sources"]) <= top_k


async def test_top_k_is_5_by_default(client: httpx.AsyncClient) -> None:
    told, default = await ask(client, QUESTION, top_k=5), await ask(client, QUESTION)
    assert (told["answer"], told["sources"]) == (default["answer"], default["sources"])


async def test_out_of_scope_is_a_refusal_without_sources(client: httpx.AsyncClient) -> None:
    assert (await ask(client, OUT_OF_SCOPE))["sources"] == []


@pytest.mark.parametrize("question", ["x", "🤖", f"{QUESTION} " * 999 + QUESTION], ids=len)
async def test_short_and_long_questions_are_accepted(client: httpx.AsyncClient, question: str) -> None:
    await ask(client, question)


# Rejected requests.


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"top_k": 5},
        {"question": ""},
        {"question": None},
        {"question": QUESTION, "top_k": 0},
        {"question": QUESTION, "top_k": -1},
        {"question": QUESTION, "top_k": 21},
        {"question": QUESTION, "session_id": "user_123_conv_456"},
        {"question": QUESTION, "query": QUESTION},
    ],
    ids=str,
)
async def test_invalid_request_is_rejected(client: httpx.AsyncClient, body: Body) -> None:
    assert error_of(await post(client, "/ask", body)) == (400, "validation_error")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/ask", "POST"), ("PUT", "/ask", "POST"), ("DELETE", "/ask", "POST"), ("POST", "/ask/health", "GET")],
)
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    response = await client.request(method, path)
    assert error_of(response) == (405, "method_not_allowed")
    assert allowed in response.headers["allow"]


# Streams.


@pytest.mark.parametrize("body", [BODY, {"question": OUT_OF_SCOPE}, {"question": QUESTION, "top_k": 1}], ids=str)
async def test_stream_equals_the_whole_answer(client: httpx.AsyncClient, body: Body) -> None:
    whole = await ask(client, **body, stream=False)
    streamed = await stream(client, "/ask", body | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole["answer"]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert isinstance(streamed.sources["metadata"], dict)
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])


# Health.


async def test_health_lists_every_dependency(client: httpx.AsyncClient) -> None:
    response = await client.get("/ask/health")
    found = response.json()
    assert (response.status_code, found["status"]) == (200, "healthy")
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"status", "dependencies"}
    assert found["dependencies"]
    for dependency in found["dependencies"].values():
        assert set(dependency) == {"status", "details"}
        assert dependency["status"] in {"connected", "configured", "error"}
        assert dependency["details"] is None or isinstance(dependency["details"], dict)


async def test_server_without_an_index_is_unhealthy(empty_client: httpx.AsyncClient) -> None:
    response = await empty_client.get("/ask/health")
    assert response.json()["status"] in {"degraded", "unhealthy"}
    assert "error" in {dependency["status"] for dependency in response.json()["dependencies"].values()}
    assert "secret-place" not in response.text
