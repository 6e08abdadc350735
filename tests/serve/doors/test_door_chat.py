"""The chat door: the contract of seed 002, and how it was settled."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pytest

import doors
from doors import (
    ABOUT_SELECTION,
    BASE,
    FACT,
    FALSEHOOD,
    LARGEST,
    NO_TEXT,
    OUT_OF_SCOPE,
    QUESTION,
    RIGHT_TYPES,
    SELECTION,
    TOO_LARGE,
    WRONG_TYPES,
    Body,
    given,
    is_moment,
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

PATHS = ["/chat", "/chat/stream"]
METADATA = {"query_time_ms", "retrieval_count", "mode", "low_confidence", "request_id"}
MODES = {"full", "selected_text", "retrieval_only", "no_results"}
BODY: Body = {"query": QUESTION}
INVERSE = "What is inverse kinematics?"
SESSION = "3f2b8c1e-9d4a-4e6b-8f7a-1c2d3e4f5a6b"
MALFORMED = malformed(BODY, "query")
NO_UUID4 = [
    "",
    "not-a-uuid",
    "user_123_conv_456",
    "12345678-1234-1234-1234-12345678901",
    "00000000-0000-0000-0000-000000000000",
    "a8098c1a-f86e-11da-bd1a-00112444be1e",
    "6fa459ea-ee8a-3ca4-894e-db77e160355e",
    "886313e1-3b8a-5372-9b90-0c9aee199e5d",
]


def refused(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error, which has this door's shape."""
    found = response.json()
    assert set(found) == {"error_code", "message", "request_id", "details"}
    assert is_uuid4(found["request_id"])
    assert found["request_id"] == response.headers["x-request-id"]
    assert found["details"] is None
    assert tells_no_internals(found["message"])
    return response.status_code, found["error_code"]


async def chat(client: httpx.AsyncClient, **body: Any) -> Body:
    """An answer, which has this door's shape."""
    response = await client.post("/chat", json=body)
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {"answer", "fallback_message", "sources", "metadata", "session_id"}
    assert is_uuid4(found["session_id"])
    is_metadata(found["metadata"])
    assert set(found["metadata"]) == METADATA
    assert found["metadata"]["request_id"] == response.headers["x-request-id"]
    return found


def is_metadata(metadata: Body) -> None:
    assert set(metadata) >= METADATA
    assert is_time(metadata["query_time_ms"])
    assert type(metadata["retrieval_count"]) is int
    assert metadata["retrieval_count"] >= 0
    assert metadata["mode"] in MODES
    assert type(metadata["low_confidence"]) is bool
    assert is_uuid4(metadata["request_id"])


# Answers.


@pytest.mark.parametrize("question", [QUESTION, INVERSE, "What is physical AI?", "What is a harmonic drive?"])
async def test_an_answer_has_sources_from_the_book(client: httpx.AsyncClient, question: str) -> None:
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
        assert is_share(source["similarity_score"])


async def test_an_answer_is_what_the_book_says(client: httpx.AsyncClient) -> None:
    assert FACT in (await chat(client, query=QUESTION))["answer"]


async def test_a_snippet_is_the_beginning_of_its_chunk(client: httpx.AsyncClient) -> None:
    chunks = {(page_of(p["url"]), p["position"]): p for p in await passages(client, QUESTION)}
    sources = (await chat(client, query=QUESTION))["sources"]
    for source in sources:
        chunk = chunks[page_of(source["source_url"]), source["chunk_position"]]
        assert source["snippet"] == chunk["text"][:200]
        assert (source["title"], source["section"]) == (chunk["title"], chunk["section"])
        assert source["similarity_score"] == pytest.approx(chunk["score"], abs=0.01)
    assert max(len(source["snippet"]) for source in sources) == 200


async def test_the_first_chunk_of_a_page_has_position_zero(client: httpx.AsyncClient) -> None:
    sources = (await chat(client, query="What is physical AI?"))["sources"]
    assert 0 in {s["chunk_position"] for s in sources if page_of(s["source_url"]) == f"{BASE}/module2/physical-ai"}


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
async def test_a_query_may_have_any_length_within_the_limit(client: httpx.AsyncClient, query: str) -> None:
    await chat(client, query=query)


@pytest.mark.parametrize("content_type", RIGHT_TYPES)
async def test_json_may_be_called_by_its_full_name(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, "/chat", BODY, content_type)).status_code == 200


async def test_a_body_of_a_megabyte_is_read(client: httpx.AsyncClient) -> None:
    assert (await post(client, "/chat", json.dumps(BODY).encode().ljust(LARGEST))).status_code == 200


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
        assert page_of(source["source_url"]) == f"{BASE}/module1/kinematics"
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
async def test_filters_that_leave_nothing_leave_no_results(client: httpx.AsyncClient, filters: Body) -> None:
    found = await chat(client, query=INVERSE, filters=filters)
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])


async def test_no_filters_are_as_good_as_none(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=INVERSE, filters={})
    assert found["answer"] == (await chat(client, query=INVERSE))["answer"]


# Selected text.


async def test_a_selection_is_all_that_is_read(client: httpx.AsyncClient) -> None:
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


async def test_what_stands_elsewhere_is_not_found_in_a_selection(client: httpx.AsyncClient) -> None:
    found = await chat(client, query=QUESTION, selected_text=SELECTION)
    assert "gravitational" not in json.dumps(found)
    assert BASE not in json.dumps(found)
    assert "not found in your selection" in found["answer"]


async def test_a_selection_may_be_as_long_as_the_limit(client: httpx.AsyncClient) -> None:
    selection = (f"{SELECTION} é " * 300)[:64_000]
    found = await chat(client, query=ABOUT_SELECTION, selected_text=selection)
    assert {source["selection_length"] for source in found["sources"]} == {64_000}


# What is refused.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": ""}, "EMPTY_QUERY"),
        ({"query": " \n\t "}, "EMPTY_QUERY"),
        ({"query": "x" * 32_001}, "QUERY_TOO_LONG"),
        ({"query": "🤖" * 32_001}, "QUERY_TOO_LONG"),
        ({"query": QUESTION, "selected_text": "x" * 64_001}, "SELECTION_TOO_LONG"),
        *(({"query": QUESTION, "session_id": name}, "INVALID_SESSION_ID") for name in NO_UUID4),
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
async def test_an_invalid_request_has_its_code(client: httpx.AsyncClient, path: str, body: Body, code: str) -> None:
    assert refused(await post(client, path, body)) == (400, code)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_body_is_refused(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    assert refused(await post(client, path, content)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", NO_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["query", "selected_text"])
async def test_nothing_is_taken_for_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert refused(await post(client, "/chat", given(BODY, field, value))) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", NO_TEXT, ids=lambda value: value[:20])
async def test_nothing_is_taken_for_a_session_id(client: httpx.AsyncClient, value: str) -> None:
    status, code = refused(await post(client, "/chat", given(BODY, "session_id", value)))
    assert (status, code in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}) == (400, True)


@pytest.mark.parametrize("body", [{}, {"query": None}, {"selected_text": SELECTION}], ids=str)
async def test_a_query_is_required(client: httpx.AsyncClient, body: Body) -> None:
    status, code = refused(await post(client, "/chat", body))
    assert (status, code in {"EMPTY_QUERY", "VALIDATION_ERROR"}) == (400, True)


async def test_a_key_twice_among_the_filters_is_refused(client: httpx.AsyncClient) -> None:
    content = given(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert refused(await post(client, "/chat", content)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "content",
    [b'{"query": "\\ud800"}', b'{"query": "a\\u0000b"}', given(BODY, "selected_text", '""')],
    ids=["half a character", "NUL", "an empty selection"],
)
async def test_odd_text_is_answered_or_refused(client: httpx.AsyncClient, content: bytes) -> None:
    response = await post(client, "/chat", content)
    assert response.status_code == 200 or refused(response)[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", WRONG_TYPES)
async def test_another_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert refused(await post(client, path, BODY, content_type)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_over_a_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE)
    assert refused(await send(client, path, content)) == (413, "PAYLOAD_TOO_LARGE")


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
async def test_a_wrong_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    response = await client.request(method, path)
    assert refused(response) == (405, "METHOD_NOT_ALLOWED")
    assert allowed in response.headers["allow"]


@pytest.mark.parametrize("body", [{"query": ""}, {"query": QUESTION, "session_id": "x"}], ids=str)
async def test_details_are_for_developers(dev: httpx.AsyncClient, body: Body) -> None:
    response = await dev.post("/chat", json=body)
    assert response.status_code == 400
    assert isinstance(response.json()["details"], dict)


@pytest.mark.parametrize("path", PATHS)
async def test_a_server_with_no_book_is_503(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.post(path, json=BODY)
    status, code = refused(response)
    assert (status, code in {"SERVICE_UNAVAILABLE", "QDRANT_UNAVAILABLE"}) == (503, True)
    assert "secret-place" not in response.text


@pytest.mark.parametrize("path", ["/livez", "/health", "/search?q=x", "/nowhere", "/chat", "/history/x"])
async def test_every_response_has_a_request_id_of_its_own(client: httpx.AsyncClient, path: str) -> None:
    first, second = await client.get(path), await client.get(path)
    assert is_uuid4(first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


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
async def test_a_stream_says_the_same(client: httpx.AsyncClient, body: Body) -> None:
    whole = await chat(client, **body)
    streamed = await stream(client, "/chat/stream", body)
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole["answer"]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert streamed.done == {"done": True}
    metadata = streamed.sources["metadata"]
    is_metadata(metadata)
    assert metadata["request_id"] == streamed.headers["x-request-id"]
    for name in ("mode", "low_confidence", "retrieval_count"):
        assert metadata[name] == whole["metadata"][name]


async def test_what_was_streamed_is_in_the_history(client: httpx.AsyncClient) -> None:
    session = str(uuid.uuid4())
    streamed = await stream(client, "/chat/stream", BODY | {"session_id": session})
    (entry,) = (await history(client, session))["entries"]
    assert (entry["query"], entry["response"]) == (QUESTION, streamed.text)


# Sessions and their history.


async def history(client: httpx.AsyncClient, session: str, query: str = "") -> Body:
    """A history, which has this door's shape."""
    response = await client.get(f"/history/{session}{query}")
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {"session_id", "entries", "total_entries"}
    assert is_uuid4(response.headers["x-request-id"])
    for entry in found["entries"]:
        assert set(entry) == {"timestamp", "query", "response", "sources"}
        assert is_moment(entry["timestamp"])
    return found


async def test_a_session_is_made_where_none_is_given(client: httpx.AsyncClient) -> None:
    first, second = await chat(client, query=QUESTION), await chat(client, query=QUESTION)
    assert first["session_id"] != second["session_id"]
    assert (await history(client, first["session_id"]))["total_entries"] == 1


@pytest.mark.parametrize("spelled", [str, lambda name: str(name).upper()], ids=["small", "capitals"])
async def test_an_unknown_id_begins_a_session(client: httpx.AsyncClient, spelled: Any) -> None:
    session = uuid.uuid4()
    found = await chat(client, query=QUESTION, session_id=spelled(session))
    assert uuid.UUID(found["session_id"]) == session
    assert (await history(client, str(session)))["total_entries"] == 1


async def test_history_is_what_was_shown_oldest_first(client: httpx.AsyncClient) -> None:
    session = str(uuid.uuid4())
    queries = [QUESTION, OUT_OF_SCOPE, f"  {INVERSE}\n"]
    shown = [await chat(client, query=query, session_id=session) for query in queries]
    found = await history(client, session)
    assert (found["session_id"], found["total_entries"]) == (session, 3)
    assert [entry["query"] for entry in found["entries"]] == [QUESTION, OUT_OF_SCOPE, INVERSE]
    assert [entry["response"] for entry in found["entries"]] == [each["answer"] for each in shown]
    assert [entry["sources"] for entry in found["entries"]] == [each["sources"] for each in shown]


@pytest.mark.parametrize(("query", "count"), [("", 3), ("?limit=1", 1), ("?limit=2", 2), ("?limit=100", 3)])
async def test_history_has_a_limit(client: httpx.AsyncClient, query: str, count: int) -> None:
    session = str(uuid.uuid4())
    for question in (QUESTION, INVERSE, OUT_OF_SCOPE):
        await chat(client, query=question, session_id=session)
    found = await history(client, session, query)
    order = [QUESTION, INVERSE, OUT_OF_SCOPE]
    places = [order.index(entry["query"]) for entry in found["entries"]]
    assert (len(places), places) == (count, sorted(places))
    assert found["total_entries"] == 3


@pytest.mark.parametrize("limit", ["0", "101", "-1", "abc", "", "1.5"])
async def test_a_limit_is_from_1_to_100(client: httpx.AsyncClient, limit: str) -> None:
    session = (await chat(client, query=QUESTION))["session_id"]
    assert refused(await client.get(f"/history/{session}?limit={limit}")) == (400, "VALIDATION_ERROR")


async def test_a_history_that_nobody_made_is_404(client: httpx.AsyncClient) -> None:
    assert refused(await client.get(f"/history/{uuid.uuid4()}"))[0] == 404


@pytest.mark.parametrize("name", NO_UUID4[1:])
async def test_a_history_has_a_uuid(client: httpx.AsyncClient, name: str) -> None:
    assert refused(await client.get(f"/history/{name}")) == (400, "INVALID_SESSION_ID")


# Health.


async def test_health_names_every_service(client: httpx.AsyncClient) -> None:
    response = await client.get("/health")
    found = response.json()
    assert (response.status_code, found["status"]) == (200, "healthy")
    assert set(found) == {"status", "timestamp", "services", "version", "dependencies"}
    assert is_moment(found["timestamp"])
    assert isinstance(found["version"], str)
    assert found["services"]
    for service in found["services"].values():
        assert set(service) == {"name", "status", "latency_ms", "error"}
        assert service["status"] in {"healthy", "degraded", "unavailable"}
        assert service["latency_ms"] is None or is_time(service["latency_ms"])
        assert service["error"] is None or isinstance(service["error"], str)
    for dependency in found["dependencies"].values():
        assert set(dependency) == {"status", "details"}


async def test_a_server_with_no_book_is_not_healthy(empty: httpx.AsyncClient) -> None:
    response = await empty.get("/health")
    assert response.json()["status"] in {"degraded", "unavailable"}
    assert "secret-place" not in response.text


# With a language model.


async def test_a_language_model_writes_the_answer(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await chat(drafted, query=QUESTION)
    assert found["metadata"]["mode"] == "full"
    assert FACT in found["answer"]
    assert found["fallback_message"] is None
    assert found["sources"]


async def test_what_a_language_model_makes_up_is_not_shown(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1] {FALSEHOOD} [Source 1]"), says("NOT FOUND"))
    found = await chat(drafted, query=QUESTION)
    assert FACT in found["answer"]
    assert "baker" not in json.dumps(found)


async def test_a_stream_of_a_language_model_says_the_same(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    whole = await chat(drafted, query=QUESTION)
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    streamed = await stream(drafted, "/chat/stream", BODY)
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.text == whole["answer"]
    assert streamed.sources["sources"] == whole["sources"]


async def test_a_language_model_that_fails_leaves_the_quotes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    session = str(uuid.uuid4())
    found = await chat(drafted, query=QUESTION, session_id=session)
    assert (found["metadata"]["mode"], found["answer"]) == ("retrieval_only", None)
    assert found["fallback_message"].startswith("AI summarization unavailable.")
    assert FACT in found["fallback_message"]
    assert found["sources"]
    (entry,) = (await history(drafted, session))["entries"]
    assert FACT in entry["response"]


async def test_a_stream_goes_on_when_the_language_model_fails(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    streamed = await stream(drafted, "/chat/stream", BODY)
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.sources["metadata"]["mode"] == "retrieval_only"
    assert FACT in streamed.text


async def test_out_of_scope_is_refused_whoever_writes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await chat(drafted, query=OUT_OF_SCOPE)
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])
    assert "Lisbon won" not in found["answer"]
