"""The query door: the contract 004."""

from __future__ import annotations

import httpx
import pytest

from door_query import BODY, error_of, is_metadata, query
from doors import (
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
from glossator.core.text.marks import strip_marks

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHYSICAL = "What is physical AI?"


# Answers.


@pytest.mark.parametrize(
    "body", [{"query": PHYSICAL, "top_k": 5, "include_sources": True}, {"query": PHYSICAL}, BODY], ids=str
)
async def test_answer_has_sources_from_the_book(client: httpx.AsyncClient, body: Body) -> None:
    found = await query(client, **body)
    assert 1 <= len(found["sources"]) <= 5
    assert len(found["sources"]) <= found["metadata"]["chunk_count"] <= 5


async def test_answer_quotes_the_book(client: httpx.AsyncClient) -> None:
    assert FACT in (await query(client, **BODY))["answer"]


@pytest.mark.parametrize("question", [QUESTION, PHYSICAL, "What is inverse kinematics?"])
async def test_source_is_a_chunk_with_its_rank(client: httpx.AsyncClient, question: str) -> None:
    ranked = await passages(client, question, 5)
    sources = (await query(client, query=question, top_k=5))["sources"]
    assert len({source["position"] for source in sources}) == len(sources) > 0
    for source in sources:
        chunk = ranked[source["position"] - 1]
        for name in ("chunk_id", "document_id"):
            assert source[name] == chunk[name]
        assert source["content"] == chunk["text"]
        assert page_url(source["url"]) == chunk["url"]
        assert source["similarity_score"] == pytest.approx(chunk["score"], abs=0.01)


@pytest.mark.parametrize("top_k", [1, 2, 10])
async def test_top_k_limits_the_sources(client: httpx.AsyncClient, top_k: int) -> None:
    found = await query(client, query=QUESTION, top_k=top_k)
    assert 1 <= len(found["sources"]) <= found["metadata"]["chunk_count"] <= top_k


async def test_top_k_is_5_by_default(client: httpx.AsyncClient) -> None:
    told, default = await query(client, query=QUESTION, top_k=5), await query(client, query=QUESTION)
    assert (told["answer"], told["sources"]) == (default["answer"], default["sources"])
    assert told["metadata"]["chunk_count"] == default["metadata"]["chunk_count"]


async def test_sources_are_included_by_default(client: httpx.AsyncClient) -> None:
    told, default = await query(client, query=QUESTION, include_sources=True), await query(client, query=QUESTION)
    assert told["sources"] == default["sources"] != []


async def test_sources_can_be_omitted(client: httpx.AsyncClient) -> None:
    found = await query(client, query=QUESTION, include_sources=False)
    assert found["sources"] == []
    assert found["answer"] == strip_marks((await query(client, query=QUESTION))["answer"])


async def test_out_of_scope_is_a_refusal_without_sources(client: httpx.AsyncClient) -> None:
    assert (await query(client, query=OUT_OF_SCOPE))["sources"] == []


@pytest.mark.parametrize("text", ["x", "🤖" * 1000, f"{QUESTION} " * 32, f"  {QUESTION}\n"], ids=len)
async def test_query_of_1000_characters_is_accepted(client: httpx.AsyncClient, text: str) -> None:
    await query(client, query=text)


# Rejected requests.


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"top_k": 5},
        {"query": ""},
        {"query": " \n\t "},
        {"query": None},
        {"query": "x" * 1001},
        {"query": "🤖" * 1001},
        {"query": QUESTION, "top_k": 0},
        {"query": QUESTION, "top_k": -1},
        {"query": QUESTION, "top_k": 11},
        {"query": QUESTION, "include_sources": None},
        {"query": QUESTION, "session_id": "user_123_conv_456"},
        {"query": QUESTION, "question": QUESTION},
    ],
    ids=lambda body: str(body)[:60],
)
async def test_invalid_request_is_rejected(client: httpx.AsyncClient, body: Body) -> None:
    assert error_of(await post(client, "/query", body)) == (400, "validation_error")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, "/query")
    assert error_of(response) == (405, "method_not_allowed")
    assert "POST" in response.headers["allow"]


# Streams.


@pytest.mark.parametrize(
    "body",
    [BODY, {"query": OUT_OF_SCOPE}, {"query": QUESTION, "top_k": 1}, {"query": QUESTION, "include_sources": False}],
    ids=str,
)
async def test_stream_equals_the_whole_answer(client: httpx.AsyncClient, body: Body) -> None:
    whole = await query(client, **body, stream=False)
    streamed = await stream(client, "/query", body | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole["answer"]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert set(streamed.sources["metadata"]) >= set(whole["metadata"])
    is_metadata(streamed.sources["metadata"])
    assert streamed.sources["metadata"]["chunk_count"] == whole["metadata"]["chunk_count"]
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])
