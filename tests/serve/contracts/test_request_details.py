"""Details that all doors share: empty texts, malformed bodies, suggestions of a refusal, the threshold."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from doors import FACT, FALSEHOOD, OUT_OF_SCOPE, QUESTION, SELECTION, Body, passages, post, serving, stream
from llm_server import LlmServer, fails, says, searches

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUESTION_OF: dict[str, tuple[Body, str, str]] = {
    "/chat": ({}, "query", "answer"),
    "/agent/chat": ({"session_id": "details"}, "message", "response"),
    "/agent/chat/structured": ({"session_id": "details"}, "message", "answer"),
    "/agent/query": ({}, "query_text", "response_text"),
    "/agent/query/session": ({}, "query_text", "response_text"),
    "/ask": ({}, "question", "answer"),
    "/query": ({}, "query", "answer"),
}
"""The rest of the body, the name of the question and that of the answer at each door."""


def body_of(path: str, question: str, **more: Any) -> Body:
    rest, name, _ = QUESTION_OF[path]
    return rest | {name: question} | more


def message_of(response: httpx.Response) -> str:
    found = response.json()
    message: str = (found if "message" in found else found["error"])["message"]
    return message


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/chat", {"query": "Why?", "session_id": "x"}, "session_id must be a UUID."),
        ("/chat", {"query": None}, "query is required."),
        ("/chat", {"query": 7}, "query must be a string."),
        ("/query", {"query": "Why?", "top_k": 11}, "top_k must be at most 10."),
        ("/query", {"query": "Why?", "top_k": "many"}, "top_k must be a whole number."),
        ("/query", {"query": "x" * 1001}, "query is too long (maximum length: 1000)."),
        ("/ask", {}, "question is required."),
        ("/search", {"query": "Why?", "filters": []}, "filters must be an object."),
    ],
)
async def test_invalid_field_is_named_in_plain_words(
    client: httpx.AsyncClient, path: str, body: Body, expected: str
) -> None:
    response = await client.post(path, json=body)
    assert response.status_code == 400
    assert message_of(response) == expected


@pytest.mark.parametrize("path", [*QUESTION_OF, "/v1/chat/completions", "/search", "/feedback"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "The request body is empty: send a JSON object."),
        (b" \n", "The request body is empty: send a JSON object."),
        (b'{"a": 1, "a": 2}', "Duplicate key in the request body: 'a'."),
        (b'{"a": 1', "Malformed JSON: expecting ',' delimiter at character 7."),
        (b"[]", "The request body must be a JSON object."),
        (b'{"a": NaN}', "NaN and Infinity are not valid JSON."),
        (b'{"a": "\xff"}', "The request body must be UTF-8."),
    ],
)
async def test_malformed_body_says_what_is_wrong(
    client: httpx.AsyncClient, path: str, content: bytes, expected: str
) -> None:
    response = await post(client, path, content)
    assert response.status_code == 400
    assert message_of(response) == expected


@pytest.mark.parametrize("path", QUESTION_OF)
async def test_request_without_body_says_so(client: httpx.AsyncClient, path: str) -> None:
    response = await client.post(path)
    assert (response.status_code, message_of(response)) == (400, "The request body is empty: send a JSON object.")


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("body", [{}, {"query": None}, {"query": ""}, {"query": " "}])
async def test_missing_query_is_empty_query(client: httpx.AsyncClient, path: str, body: Body) -> None:
    response = await post(client, path, body)
    assert (response.status_code, response.json()["error_code"]) == (400, "EMPTY_QUERY")


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_empty_optional_text_means_none(client: httpx.AsyncClient, blank: str) -> None:
    filters = {"section": blank, "version": blank}
    chat_filters, search_filters = filters | {"source_url_prefix": blank}, filters | {"chapter": blank}
    ids = {"conversation_id": blank, "thread_id": blank}
    requests: dict[str, Body] = {
        "/chat": body_of("/chat", QUESTION, selected_text=blank, session_id=blank, filters=chat_filters),
        "/agent/query": body_of("/agent/query", QUESTION, user_context=blank, filters=search_filters, **ids),
        "/ask": body_of("/ask", QUESTION, version=blank),
        "/query": body_of("/query", QUESTION, version=blank),
        "/search": {"query": QUESTION, "filters": search_filters | chat_filters},
        "/v1/chat/completions": {"messages": [{"role": "user", "content": QUESTION}], "selected_text": blank},
    }
    for path, body in requests.items():
        response = await post(client, path, body)
        assert response.status_code == 200, response.text
        assert FACT in response.text


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_conversation_with_an_empty_id_is_a_new_one(client: httpx.AsyncClient, blank: str) -> None:
    for path, name, answered in [
        ("/chat", "session_id", "session_id"),
        ("/agent/query", "conversation_id", "conversation_id"),
        ("/agent/query", "thread_id", "conversation_id"),
    ]:
        response = await post(client, path, body_of(path, QUESTION, **{name: blank}))
        assert uuid.UUID(response.json()[answered]).version == 4


async def test_thread_id_is_used_if_the_conversation_id_is_empty(client: httpx.AsyncClient) -> None:
    body = body_of("/agent/query", QUESTION, conversation_id="", thread_id="thread-1")
    assert (await post(client, "/agent/query", body)).json()["conversation_id"] == "thread-1"
    rejected = await post(client, "/agent/query", body | {"top_k": 5})
    assert (rejected.status_code, rejected.json()["session_id"]) == (400, "thread-1")


async def test_empty_user_context_is_rejected_where_it_is_required(client: httpx.AsyncClient) -> None:
    body = body_of("/agent/query", QUESTION, context_mode="user_provided", user_context="")
    assert (await post(client, "/agent/query", body)).status_code == 400


@pytest.mark.parametrize("path", QUESTION_OF)
async def test_refusal_suggests_the_nearest_sections(client: httpx.AsyncClient, path: str) -> None:
    found = (await post(client, path, body_of(path, OUT_OF_SCOPE))).json()
    text = found[QUESTION_OF[path][2]]
    nearest = (await passages(client, OUT_OF_SCOPE))[0]
    assert "Sections that may help:" in text
    assert nearest["url"] in text
    assert found.get("sources", []) == []
    streamed = {"/chat": ("/chat/stream", {})}.get(path, (path, {"stream": True}))
    assert (await stream(client, streamed[0], body_of(path, OUT_OF_SCOPE, **streamed[1]))).text == text


async def test_completion_suggests_the_nearest_sections(client: httpx.AsyncClient) -> None:
    body: Body = {"messages": [{"role": "user", "content": OUT_OF_SCOPE}]}
    whole = (await post(client, "/v1/chat/completions", body)).json()["choices"][0]["message"]
    streamed = await post(client, "/v1/chat/completions", body | {"stream": True})
    assert "Sections that may help:" in whole["content"]
    assert "Sections that may help:" in streamed.text


async def test_refused_selection_suggests_nothing_of_the_book(client: httpx.AsyncClient) -> None:
    body = body_of("/chat", "Who painted the ceiling?", selected_text=SELECTION)
    assert (await post(client, "/chat", body)).json()["answer"] == "This is not found in your selection."


async def test_conversation_of_agent_query_is_continued_and_found(client: httpx.AsyncClient) -> None:
    first = (await post(client, "/agent/query", body_of("/agent/query", QUESTION))).json()
    conversation_id = first["conversation_id"]
    follow_up = body_of("/agent/query", "Who introduced it?", conversation_id=conversation_id)
    second = (await post(client, "/agent/query", follow_up)).json()
    assert second["conversation_id"] == conversation_id
    assert "Vukobratović" in second["response_text"]
    found = (await client.get(f"/agent/query/session/{conversation_id}")).json()
    asked = [message["content"] for message in found["conversation_history"] if message["role"] == "user"]
    assert asked == [QUESTION, "Who introduced it?"]


async def test_search_names_total_collection_and_time_of_creation(client: httpx.AsyncClient) -> None:
    found = (await client.get("/search", params={"q": QUESTION, "top_k": 3})).json()
    assert found["total"] == len(found["results"]) == 3
    assert found["collection"] == "generation-1"
    assert all(result["created_at"] > 1_700_000_000 for result in found["results"])
    assert isinstance(found["time_ms"], int)


@pytest.mark.parametrize(("threshold", "answered"), [(None, False), (0.0, True)])
async def test_similarity_threshold_is_a_setting(data: Path, threshold: float | None, answered: bool) -> None:
    async with serving(data, similarity_threshold=threshold) as client:
        body = body_of("/chat", "Which planet has the most moons?")
        found = (await post(client, "/chat", body)).json()
    assert (found["metadata"]["mode"] == "full") == answered


@pytest.mark.parametrize(
    ("reply", "message", "context_text", "status"),
    [
        (says(f"{FACT} [Source 1]"), QUESTION, None, "success"),
        (says("NOT FOUND"), QUESTION, None, "guardrail_triggered"),
        (says("NOT FOUND"), "Who painted it?", SELECTION, "guardrail_triggered"),
        (says("Geysers are painted by elephants."), "Who painted it?", SELECTION, "citation_validation_failed"),
        (says(FALSEHOOD), QUESTION, None, "citation_validation_failed"),
        (says(f"{FALSEHOOD} [Source 1] {FACT} [Source 1]"), QUESTION, None, "success"),
        (fails(400), "Who painted the ceiling?", SELECTION, "error"),
    ],
)
async def test_every_status_of_the_agent_door_is_reached(
    llm_client: httpx.AsyncClient, model: LlmServer, reply: Any, message: str, context_text: str | None, status: str
) -> None:
    model.script(reply)
    body = {"message": message, "session_id": str(uuid.uuid4()), "context_text": context_text}
    assert (await post(llm_client, "/agent/chat", body)).json()["status"] == status


async def test_quotes_in_place_of_a_rejected_draft_are_cited_and_reported_as_failed_validation(
    llm_client: httpx.AsyncClient, model: LlmServer
) -> None:
    model.script(says(f"{FALSEHOOD} [Source 1]"))
    body, repeatable = {"message": QUESTION, "session_id": str(uuid.uuid4())}, {"idempotency-key": str(uuid.uuid4())}
    first, again = [(await llm_client.post("/agent/chat", json=body, headers=repeatable)).json() for _ in range(2)]
    assert first == again
    assert first["status"] == "citation_validation_failed"
    assert FACT in first["response"]
    assert "Jean" not in first["response"]
    assert "[Source 1]" in first["response"].partition("\n\nSources:\n")[0]
    streamed = await stream(llm_client, "/agent/chat", body | {"stream": True})
    assert (streamed.text, streamed.sources["metadata"]["status"]) == (first["response"], first["status"])


@pytest.mark.parametrize(
    ("reply", "state"), [(says(f"{FACT} [Source 1]"), "delivered"), (says("NOT FOUND"), "flagged")]
)
async def test_refusal_of_a_model_is_flagged(
    llm_client: httpx.AsyncClient, model: LlmServer, reply: Any, state: str
) -> None:
    model.script(reply)
    found = (await post(llm_client, "/agent/query", body_of("/agent/query", QUESTION))).json()
    assert found["state"] == state
    assert (found["confidence_score"] > 0) == (state == "delivered")


async def test_repeated_unsupported_claim_is_listed_once(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("I'm sorry, but I can't help with that request."))
    found = (await post(llm_client, "/agent/query", body_of("/agent/query", QUESTION))).json()
    assert found["grounding_validation"]["unsupported_claims"] == ["I'm sorry, but I can't help with that request."]


@pytest.mark.parametrize("path", ["/ask", "/query"])
async def test_search_of_a_model_retrieves_at_most_top_k(
    llm_client: httpx.AsyncClient, model: LlmServer, path: str
) -> None:
    model.script(searches(QUESTION), says(f"{FACT} [Source 1]"))
    await post(llm_client, path, body_of(path, QUESTION) | {"top_k": 1})
    results = [message["content"] for message in model.requests[1]["messages"] if message["role"] == "tool"]
    assert '"total_results": 1' in results[-1]
