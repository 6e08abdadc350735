"""The chat door: the contract 002."""

from __future__ import annotations

import json
import uuid

import httpx
import pytest

from door_chat import BODY, INVERSE, NOT_UUID4, PATHS, SESSION, chat, error_of, history, is_metadata
from doors import (
    ABOUT_SELECTION,
    BASE,
    FACT,
    OUT_OF_SCOPE,
    QUESTION,
    SELECTION,
    Body,
    is_fraction,
    is_milliseconds,
    is_timestamp,
    is_uuid4,
    page_url,
    passages,
    post,
    stream,
    with_raw_value,
)
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Answers.


@pytest.mark.parametrize("question", [QUESTION, INVERSE, "What is physical AI?", "What is a harmonic drive?"])
async def test_answer_has_sources_from_the_book(client: httpx.AsyncClient, question: str) -> None:
    found = await chat(client, query=question)
    assert found["metadata"]["mode"] == "full"
    assert found["answer"]
    assert found["fallback_message"] is None
    assert found["sources"]
    assert found["metadata"]["retrieval_count"] >= 1
    for source in found["sources"]:
        assert set(source) == {"source_url", "title", "section", "chunk_position", "similarity_score", "snippet"}
        assert source["source_url"].startswith(f"{BASE}/module")
        assert "#" in source["source_url"]
        assert source["title"]
        assert isinstance(source["section"], str)
        assert type(source["chunk_position"]) is int
        assert source["chunk_position"] >= 0
        assert is_fraction(source["similarity_score"])


async def test_answer_quotes_the_book(client: httpx.AsyncClient) -> None:
    assert FACT in (await chat(client, query=QUESTION))["answer"]


async def test_snippet_is_the_beginning_of_its_chunk(client: httpx.AsyncClient) -> None:
    chunks = {(page_url(p["url"]), p["position"]): p for p in await passages(client, QUESTION)}
    sources = (await chat(client, query=QUESTION))["sources"]
    for source in sources:
        chunk = chunks[page_url(source["source_url"]), source["chunk_position"]]
        assert source["snippet"] == chunk["text"][:200]
        assert (source["title"], source["section"]) == (chunk["title"], chunk["section"])
        assert source["similarity_score"] == pytest.approx(chunk["score"], abs=0.01)
    assert max(len(source["snippet"]) for source in sources) == 200


async def test_first_chunk_of_a_page_has_position_zero(client: httpx.AsyncClient) -> None:
    sources = (await chat(client, query="What is physical AI?"))["sources"]
    assert 0 in {s["chunk_position"] for s in sources if page_url(s["source_url"]) == f"{BASE}/module2/physical-ai"}


@pytest.mark.parametrize("question", [QUESTION, INVERSE, "How many hours does the battery last?", "Which sensors?"])
async def test_scores_above_a_half_are_not_low_confidence(client: httpx.AsyncClient, question: str) -> None:
    found = await chat(client, query=question)
    if any(source["similarity_score"] > 0.5 for source in found["sources"]):
        assert not found["metadata"]["low_confidence"]


async def test_out_of_scope_is_a_refusal_without_sources(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=OUT_OF_SCOPE)
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])
    assert found["answer"].strip()
    assert found["fallback_message"] is None


@pytest.mark.parametrize("query", ["x", "🤖" * 32_000, f"{QUESTION} " * 1000, f"  {QUESTION}\n"], ids=len)
async def test_query_of_any_length_within_the_limit_is_accepted(client: httpx.AsyncClient, query: str) -> None:
    await chat(client, query=query)


async def test_optional_fields_may_be_null(client: httpx.AsyncClient) -> None:
    nothing = {"selected_text": None, "session_id": None, "filters": None}
    found = await chat(client, query=QUESTION, **nothing)
    assert found["metadata"]["mode"] == "full"
    assert found["answer"] == (await chat(client, query=QUESTION))["answer"]


# Filters.


@pytest.mark.parametrize(
    "filters",
    [
        {"section": "Inverse Kinematics"},
        {"source_url_prefix": "/docs/module1", "section": "Inverse Kinematics"},
        {"source_url_prefix": "/docs/module1/kinematics"},
        {"source_url_prefix": f"{BASE}/module1/kin"},
        {"source_url_prefix": None, "section": "Inverse Kinematics"},
        {"source_url_prefix": "/docs/module1/kinematics", "section": None},
    ],
)
async def test_filters_narrow_an_answer(client: httpx.AsyncClient, filters: Body) -> None:
    found = await chat(client, query=INVERSE, filters=filters)
    assert found["metadata"]["mode"] == "full"
    assert found["sources"]
    for source in found["sources"]:
        assert page_url(source["source_url"]) == f"{BASE}/module1/kinematics"
        assert source["section"] == (filters.get("section") or source["section"])


@pytest.mark.parametrize(
    "filters",
    [
        {"section": "Nowhere"},
        {"section": "Inverse"},
        {"source_url_prefix": "/docs/module9"},
        {"source_url_prefix": "/docs/module2", "section": "Inverse Kinematics"},
    ],
)
async def test_filters_without_matches_give_no_results(client: httpx.AsyncClient, filters: Body) -> None:
    found = await chat(client, query=INVERSE, filters=filters)
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])


async def test_empty_filters_equal_no_filters(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=INVERSE, filters={})
    assert found["answer"] == (await chat(client, query=INVERSE))["answer"]


# Selected text.


async def test_selection_is_the_only_source(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=ABOUT_SELECTION, selected_text=SELECTION)
    assert (found["metadata"]["mode"], found["metadata"]["retrieval_count"]) == ("selected_text", 0)
    assert "water boils deep underground" in found["answer"]
    assert found["fallback_message"] is None
    assert found["sources"]
    for source in found["sources"]:
        assert set(source) == {"source_type", "selection_length", "snippet", "relevance_note"}
        assert source["source_type"] == "selected_text"
        assert source["selection_length"] == len(SELECTION)
        assert source["snippet"] == SELECTION[:200]
        assert source["relevance_note"].strip()


@pytest.mark.parametrize("query", ["Explain this", "Explain this concept in simple terms", "summarise"])
async def test_explaining_a_selection_is_never_refused(client: httpx.AsyncClient, query: str) -> None:
    found = await chat(client, query=query, selected_text=SELECTION)
    assert found["metadata"]["mode"] == "selected_text"
    assert found["sources"]


async def test_selection_without_the_answer_gives_no_answer(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=QUESTION, selected_text=SELECTION)
    assert "gravitational" not in json.dumps(found)
    assert BASE not in json.dumps(found)
    assert "not found in your selection" in found["answer"]


async def test_selection_of_maximum_length_is_accepted(client: httpx.AsyncClient) -> None:
    selection = (f"{SELECTION} é " * 300)[:64_000]
    found = await chat(client, query=ABOUT_SELECTION, selected_text=selection)
    assert {source["selection_length"] for source in found["sources"]} == {64_000}


# Streams.


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        {"query": OUT_OF_SCOPE},
        {"query": ABOUT_SELECTION, "selected_text": SELECTION},
        {"query": INVERSE, "filters": {"source_url_prefix": "/docs/module1", "section": "Inverse Kinematics"}},
    ],
    ids=str,
)
async def test_stream_equals_the_whole_answer(client: httpx.AsyncClient, body: Body) -> None:
    whole = await chat(client, **body)
    streamed = await stream(client, "/chat/stream", body)
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    suggestions = streamed.sources["metadata"]["suggestions"]
    assert streamed.text == whole["answer"]
    assert all(suggestion["url"] in whole["answer"] for suggestion in suggestions)
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert streamed.done == {"done": True}
    metadata = streamed.sources["metadata"]
    is_metadata(metadata)
    assert metadata["request_id"] == streamed.headers["x-request-id"]
    for name in ("mode", "low_confidence", "retrieval_count"):
        assert metadata[name] == whole["metadata"][name]


@pytest.mark.parametrize("question", [QUESTION, OUT_OF_SCOPE])
@pytest.mark.parametrize("details", [False, True])
async def test_streamed_answer_is_in_the_history(client: httpx.AsyncClient, question: str, details: bool) -> None:
    session = str(uuid.uuid4())
    streamed = await stream(client, "/chat/stream", {"query": question, "session_id": session})
    (entry,) = (await client.get(f"/history/{session}", params={"details": details})).json()["entries"]
    assert (entry["query"], entry["response"]) == (question, streamed.text)


# Health.


async def test_health_lists_every_service(client: httpx.AsyncClient) -> None:
    response = await client.get("/health")
    found = response.json()
    assert (response.status_code, found["status"]) == (200, "healthy")
    assert set(found) == {"status", "timestamp", "services", "version", "dependencies"}
    assert is_timestamp(found["timestamp"])
    assert isinstance(found["version"], str)
    assert found["services"]
    for service in found["services"].values():
        assert set(service) == {"name", "status", "latency_ms", "error"}
        assert service["status"] in {"healthy", "degraded", "unavailable"}
        assert service["latency_ms"] is None or is_milliseconds(service["latency_ms"])
        assert service["error"] is None or isinstance(service["error"], str)
    for dependency in found["dependencies"].values():
        assert set(dependency) == {"status", "details"}


async def test_server_without_an_index_is_unhealthy(empty_client: httpx.AsyncClient) -> None:
    response = await empty_client.get("/health")
    assert response.json()["status"] in {"degraded", "unavailable"}
    assert "secret-place" not in response.text


# With a language model.


async def test_llm_writes_the_answer(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await chat(llm_client, query=QUESTION)
    assert found["metadata"]["mode"] == "full"
    assert FACT in found["answer"]
    assert found["fallback_message"] is None
    assert found["sources"]


async def test_quotes_are_returned_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    session = str(uuid.uuid4())
    found = await chat(llm_client, query=QUESTION, session_id=session)
    assert (found["metadata"]["mode"], found["answer"]) == ("retrieval_only", None)
    assert found["fallback_message"].startswith("AI summarization unavailable.")
    assert FACT in found["fallback_message"]
    assert found["sources"]
    (entry,) = (await history(llm_client, session))["entries"]
    assert FACT in entry["response"]


async def test_stream_continues_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    streamed = await stream(llm_client, "/chat/stream", BODY)
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.sources["metadata"]["mode"] == "retrieval_only"
    assert FACT in streamed.text


async def test_out_of_scope_question_is_refused_with_an_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await chat(llm_client, query=OUT_OF_SCOPE)
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])
    assert "Lisbon won" not in found["answer"]


# Rejected requests.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": ""}, "EMPTY_QUERY"),
        ({"query": " \n\t "}, "EMPTY_QUERY"),
        ({"query": "x" * 32_001}, "QUERY_TOO_LONG"),
        ({"query": "🤖" * 32_001}, "QUERY_TOO_LONG"),
        ({"query": QUESTION, "selected_text": "x" * 64_001}, "SELECTION_TOO_LONG"),
        *(({"query": QUESTION, "session_id": name}, "INVALID_SESSION_ID") for name in NOT_UUID4),
        ({"query": QUESTION, "filters": "section"}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "filters": []}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "filters": {"chapter": "Kinematics"}}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "filters": {"section": 5}}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "filters": {"source_url_prefix": 5}}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "filters": {"source_url_prefix": "no address at all"}}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "stream": True}, "VALIDATION_ERROR"),
        ({"query": QUESTION, "top_k": 5}, "VALIDATION_ERROR"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_invalid_request_has_its_own_code(client: httpx.AsyncClient, path: str, body: Body, code: str) -> None:
    assert error_of(await post(client, path, body)) == (400, code)


@pytest.mark.parametrize("body", [{}, {"query": None}, {"selected_text": SELECTION}], ids=str)
async def test_query_is_required(client: httpx.AsyncClient, body: Body) -> None:
    status, code = error_of(await post(client, "/chat", body))
    assert (status, code in {"EMPTY_QUERY", "VALIDATION_ERROR"}) == (400, True)


async def test_duplicate_key_in_filters_is_rejected(client: httpx.AsyncClient) -> None:
    content = with_raw_value(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert error_of(await post(client, "/chat", content)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/chat", "POST"),
        ("PUT", "/chat", "POST"),
        ("DELETE", "/chat", "POST"),
        ("GET", "/chat/stream", "POST"),
        ("PATCH", "/chat/stream", "POST"),
        ("POST", f"/history/{SESSION}", "GET"),
        ("POST", "/health", "GET"),
    ],
)
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    response = await client.request(method, path)
    assert error_of(response) == (405, "METHOD_NOT_ALLOWED")
    assert allowed in response.headers["allow"]


@pytest.mark.parametrize("path", ["/livez", "/health", "/search?q=x", "/nowhere", "/chat", "/history/x"])
async def test_every_response_has_its_own_request_id(client: httpx.AsyncClient, path: str) -> None:
    first, second = await client.get(path), await client.get(path)
    assert is_uuid4(first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
