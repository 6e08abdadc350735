"""The query door: the contract 004."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from doors import (
    BASE,
    FACT,
    JSON_CONTENT_TYPES,
    LARGEST_BODY,
    NOT_BOOLEANS,
    NOT_INTEGERS,
    NOT_TEXT,
    OTHER_CONTENT_TYPES,
    OUT_OF_SCOPE,
    QUESTION,
    TOO_LARGE_BODY,
    Body,
    is_fraction,
    is_milliseconds,
    is_uuid4,
    leaks_nothing,
    malformed,
    page_url,
    passages,
    post,
    post_in_pieces,
    stream,
    with_raw_value,
)
from glossator.core.text.marks import strip_marks
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHYSICAL = "What is physical AI?"
BODY: Body = {"query": QUESTION}
MALFORMED = malformed(BODY, "query")
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


@pytest.mark.parametrize("content_type", JSON_CONTENT_TYPES)
async def test_json_content_types_are_accepted(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, "/query", BODY, content_type)).status_code == 200


async def test_body_of_one_megabyte_is_accepted(client: httpx.AsyncClient) -> None:
    assert (await post(client, "/query", json.dumps(BODY).encode().ljust(LARGEST_BODY))).status_code == 200


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


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, content: bytes) -> None:
    assert error_of(await post(client, "/query", content)) == (400, "validation_error")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("query", value) for value in NOT_TEXT),
        *(("top_k", value) for value in NOT_INTEGERS),
        *(("include_sources", value) for value in NOT_BOOLEANS),
        *(("stream", value) for value in NOT_BOOLEANS),
    ],
    ids=lambda value: value[:20],
)
async def test_values_of_another_type_are_rejected(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert error_of(await post(client, "/query", with_raw_value(BODY, field, value))) == (400, "validation_error")


@pytest.mark.parametrize("text", ["\ud800", "a\0b"], ids=["half a character", "NUL"])
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, text: str) -> None:
    response = await post(client, "/query", {"query": text})
    assert response.status_code == 200 or error_of(response) == (400, "validation_error")


@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, content_type: str) -> None:
    assert error_of(await post(client, "/query", BODY, content_type)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("send", [post, post_in_pieces])
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE_BODY)
    assert error_of(await send(client, "/query", content)) == (413, "payload_too_large")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, "/query")
    assert error_of(response) == (405, "method_not_allowed")
    assert "POST" in response.headers["allow"]


async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient) -> None:
    response = await dev_client.post("/query", json={"query": ""})
    assert response.status_code == 400
    assert response.json()["detail"]
    assert isinstance(response.json()["detail"], str)


async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient) -> None:
    response = await empty_client.post("/query", json=BODY)
    status, error = error_of(response)
    assert (status, bool(error)) == (503, True)
    assert "secret-place" not in response.text


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


# With a language model.


async def test_llm_writes_the_answer(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await query(llm_client, **BODY)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_quotes_are_returned_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await query(llm_client, **BODY)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_out_of_scope_question_is_refused_with_an_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await query(llm_client, query=OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["answer"]
