"""The query door: the contract of seed 004, and how it was settled."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import doors
from doors import (
    BASE,
    FACT,
    FALSEHOOD,
    LARGEST,
    NO_BOOLEAN,
    NO_INTEGER,
    NO_TEXT,
    OUT_OF_SCOPE,
    QUESTION,
    RIGHT_TYPES,
    TOO_LARGE,
    WRONG_TYPES,
    Body,
    given,
    is_share,
    is_time,
    is_uuid4,
    malformed,
    page_of,
    passages,
    post,
    post_in_pieces,
    stream,
    tells_no_internals,
)
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")
client, data, dev, empty, drafted, model = (
    doors.client,
    doors.data,
    doors.dev,
    doors.empty,
    doors.drafted,
    doors.model,
)

PHYSICAL = "What is physical AI?"
BODY: Body = {"query": QUESTION}
MALFORMED = malformed(BODY, "query")
TIMES = ("response_time_ms", "embedding_time_ms", "retrieval_time_ms", "generation_time_ms")


def refused(response: httpx.Response) -> tuple[int, str]:
    """The status and the type of an error, which has this door's shape."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "message", "detail", "status_code"}
    assert found["detail"] is None
    assert found["status_code"] == response.status_code
    assert tells_no_internals(found["message"])
    return response.status_code, found["error"]


async def query(client: httpx.AsyncClient, **body: Any) -> Body:
    """An answer, which has this door's shape."""
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
    assert all(is_time(metadata[name]) for name in TIMES)
    assert type(metadata["chunk_count"]) is int
    assert metadata["chunk_count"] >= 0


def is_source(source: Body) -> None:
    assert set(source) == {"content", "url", "chunk_id", "document_id", "similarity_score", "position"}
    assert source["content"].strip()
    assert source["url"].startswith(f"{BASE}/module")
    assert source["chunk_id"]
    assert source["document_id"]
    assert is_share(source["similarity_score"])
    assert type(source["position"]) is int
    assert source["position"] >= 1


# Answers.


@pytest.mark.parametrize(
    "body", [{"query": PHYSICAL, "top_k": 5, "include_sources": True}, {"query": PHYSICAL}, BODY], ids=str
)
async def test_an_answer_has_sources_from_the_book(client: httpx.AsyncClient, body: Body) -> None:
    found = await query(client, **body)
    assert 1 <= len(found["sources"]) <= 5
    assert len(found["sources"]) <= found["metadata"]["chunk_count"] <= 5


async def test_an_answer_is_what_the_book_says(client: httpx.AsyncClient) -> None:
    assert FACT in (await query(client, **BODY))["answer"]


@pytest.mark.parametrize("question", [QUESTION, PHYSICAL, "What is inverse kinematics?"])
async def test_a_source_is_a_chunk_and_its_rank(client: httpx.AsyncClient, question: str) -> None:
    ranked = await passages(client, question, 5)
    sources = (await query(client, query=question, top_k=5))["sources"]
    assert len({source["position"] for source in sources}) == len(sources) > 0
    for source in sources:
        chunk = ranked[source["position"] - 1]
        for name in ("chunk_id", "document_id"):
            assert source[name] == chunk[name]
        assert source["content"] == chunk["text"]
        assert page_of(source["url"]) == chunk["url"]
        assert source["similarity_score"] == pytest.approx(chunk["score"], abs=0.01)


@pytest.mark.parametrize("top_k", [1, 2, 10])
async def test_top_k_bounds_the_sources(client: httpx.AsyncClient, top_k: int) -> None:
    found = await query(client, query=QUESTION, top_k=top_k)
    assert 1 <= len(found["sources"]) <= found["metadata"]["chunk_count"] <= top_k


async def test_top_k_is_5_unless_told(client: httpx.AsyncClient) -> None:
    told, default = await query(client, query=QUESTION, top_k=5), await query(client, query=QUESTION)
    assert (told["answer"], told["sources"]) == (default["answer"], default["sources"])
    assert told["metadata"]["chunk_count"] == default["metadata"]["chunk_count"]


async def test_sources_are_included_unless_told(client: httpx.AsyncClient) -> None:
    told, default = await query(client, query=QUESTION, include_sources=True), await query(client, query=QUESTION)
    assert told["sources"] == default["sources"] != []


async def test_sources_may_be_left_out(client: httpx.AsyncClient) -> None:
    found = await query(client, query=QUESTION, include_sources=False)
    assert found["sources"] == []
    assert found["answer"] == (await query(client, query=QUESTION))["answer"]


async def test_out_of_scope_is_a_refusal_without_sources(client: httpx.AsyncClient) -> None:
    assert (await query(client, query=OUT_OF_SCOPE))["sources"] == []


@pytest.mark.parametrize("text", ["x", "🤖" * 1000, f"{QUESTION} " * 32, f"  {QUESTION}\n"], ids=len)
async def test_a_query_may_have_1000_characters(client: httpx.AsyncClient, text: str) -> None:
    await query(client, query=text)


@pytest.mark.parametrize("content_type", RIGHT_TYPES)
async def test_json_may_be_called_by_its_full_name(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, "/query", BODY, content_type)).status_code == 200


async def test_a_body_of_a_megabyte_is_read(client: httpx.AsyncClient) -> None:
    assert (await post(client, "/query", json.dumps(BODY).encode().ljust(LARGEST))).status_code == 200


# What is refused.


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
async def test_an_invalid_request_is_refused(client: httpx.AsyncClient, body: Body) -> None:
    assert refused(await post(client, "/query", body)) == (400, "validation_error")


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_body_is_refused(client: httpx.AsyncClient, content: bytes) -> None:
    assert refused(await post(client, "/query", content)) == (400, "validation_error")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("query", value) for value in NO_TEXT),
        *(("top_k", value) for value in NO_INTEGER),
        *(("include_sources", value) for value in NO_BOOLEAN),
        *(("stream", value) for value in NO_BOOLEAN),
    ],
    ids=lambda value: value[:20],
)
async def test_nothing_is_taken_for_what_it_is_not(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert refused(await post(client, "/query", given(BODY, field, value))) == (400, "validation_error")


@pytest.mark.parametrize("text", ["\ud800", "a\0b"], ids=["half a character", "NUL"])
async def test_odd_text_is_answered_or_refused(client: httpx.AsyncClient, text: str) -> None:
    response = await post(client, "/query", {"query": text})
    assert response.status_code == 200 or refused(response) == (400, "validation_error")


@pytest.mark.parametrize("content_type", WRONG_TYPES)
async def test_another_content_type_is_415(client: httpx.AsyncClient, content_type: str) -> None:
    assert refused(await post(client, "/query", BODY, content_type)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("send", [post, post_in_pieces])
async def test_a_body_over_a_megabyte_is_413(client: httpx.AsyncClient, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE)
    assert refused(await send(client, "/query", content)) == (413, "payload_too_large")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_a_wrong_method_is_405(client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, "/query")
    assert refused(response) == (405, "method_not_allowed")
    assert "POST" in response.headers["allow"]


async def test_details_are_for_developers(dev: httpx.AsyncClient) -> None:
    response = await dev.post("/query", json={"query": ""})
    assert response.status_code == 400
    assert response.json()["detail"]
    assert isinstance(response.json()["detail"], str)


async def test_a_server_with_no_book_is_503(empty: httpx.AsyncClient) -> None:
    response = await empty.post("/query", json=BODY)
    status, error = refused(response)
    assert (status, bool(error)) == (503, True)
    assert "secret-place" not in response.text


# Streams.


@pytest.mark.parametrize(
    "body",
    [BODY, {"query": OUT_OF_SCOPE}, {"query": QUESTION, "top_k": 1}, {"query": QUESTION, "include_sources": False}],
    ids=str,
)
async def test_a_stream_says_the_same(client: httpx.AsyncClient, body: Body) -> None:
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


# With a language model.


async def test_a_language_model_writes_the_answer(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await query(drafted, **BODY)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_a_stream_of_a_language_model_says_the_same(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    whole = await query(drafted, **BODY)
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    streamed = await stream(drafted, "/query", BODY | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.text == whole["answer"]


async def test_what_a_language_model_makes_up_is_not_shown(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1] {FALSEHOOD} [Source 1]"), says("NOT FOUND"))
    found = await query(drafted, **BODY)
    assert FACT in found["answer"]
    assert "baker" not in found["answer"]


async def test_a_language_model_that_fails_leaves_the_quotes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await query(drafted, **BODY)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_out_of_scope_is_refused_whoever_writes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await query(drafted, query=OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["answer"]
