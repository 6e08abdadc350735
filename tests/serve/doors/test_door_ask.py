"""The ask door: the contract 003."""

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
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY: Body = {"question": QUESTION}
MALFORMED = malformed(BODY, "question")


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


@pytest.mark.parametrize("content_type", JSON_CONTENT_TYPES)
async def test_json_content_types_are_accepted(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, "/ask", BODY, content_type)).status_code == 200


async def test_body_of_one_megabyte_is_accepted(client: httpx.AsyncClient) -> None:
    assert (await post(client, "/ask", json.dumps(BODY).encode().ljust(LARGEST_BODY))).status_code == 200


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


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, content: bytes) -> None:
    assert error_of(await post(client, "/ask", content)) == (400, "validation_error")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("question", value) for value in NOT_TEXT),
        *(("top_k", value) for value in NOT_INTEGERS),
        *(("stream", value) for value in NOT_BOOLEANS),
    ],
    ids=lambda value: value[:20],
)
async def test_values_of_another_type_are_rejected(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert error_of(await post(client, "/ask", with_raw_value(BODY, field, value))) == (400, "validation_error")


@pytest.mark.parametrize("question", [" ", "\ud800", "a\0b"], ids=["blank", "half a character", "NUL"])
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, question: str) -> None:
    response = await post(client, "/ask", {"question": question})
    assert response.status_code == 200 or error_of(response) == (400, "validation_error")


@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, content_type: str) -> None:
    assert error_of(await post(client, "/ask", BODY, content_type)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("send", [post, post_in_pieces])
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE_BODY)
    assert error_of(await send(client, "/ask", content)) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/ask", "POST"), ("PUT", "/ask", "POST"), ("DELETE", "/ask", "POST"), ("POST", "/ask/health", "GET")],
)
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    response = await client.request(method, path)
    assert error_of(response) == (405, "method_not_allowed")
    assert allowed in response.headers["allow"]


async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient) -> None:
    response = await dev_client.post("/ask", json={"question": ""})
    assert response.status_code == 400
    assert isinstance(response.json()["details"], dict)


async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient) -> None:
    response = await empty_client.post("/ask", json=BODY)
    status, error = error_of(response)
    assert (status, error in {"service_unavailable", "retrieval_error"}) == (503, True)
    assert "secret-place" not in response.text


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


# With a language model.


async def test_llm_writes_the_answer(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await ask(llm_client, QUESTION)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_quotes_are_returned_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await ask(llm_client, QUESTION)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_out_of_scope_question_is_refused_with_an_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await ask(llm_client, OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["answer"]
