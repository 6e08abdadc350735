"""What all doors have in common: requests that they reject or accept alike, and answers without a language model."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

import api_requests
import door_agent
import door_ask
import door_query
from api_requests import QUESTIONS
from doors import (
    FACT,
    JSON_CONTENT_TYPES,
    MAX_BODY,
    NOT_BOOLEANS,
    NOT_INTEGERS,
    NOT_TEXT,
    OTHER_CONTENT_TYPES,
    OUT_OF_SCOPE,
    QUESTION,
    TOO_LARGE_BODY,
    Body,
    leaks_nothing,
    malformed,
    post,
    post_in_pieces,
    with_raw_value,
)
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODIES = {path: body for path, body in QUESTIONS.items() if not path.startswith("/v1")}
"""The OpenAI door takes messages instead of one text, and has tests of its own."""
each_path = pytest.mark.parametrize("path", BODIES)
TEXTS = [
    ("/chat", "query"),
    ("/chat", "selected_text"),
    ("/agent/chat", "message"),
    ("/agent/chat", "context_text"),
    ("/agent/query", "query_text"),
    ("/agent/query", "context_mode"),
    ("/agent/query", "user_context"),
    ("/ask", "question"),
    ("/query", "query"),
]
IDS = [
    ("/chat", "session_id"),
    ("/agent/chat", "session_id"),
    ("/agent/query", "conversation_id"),
    ("/agent/query", "thread_id"),
]
BOOLEANS = [*((path, "stream") for path in BODIES if not path.startswith("/chat")), ("/query", "include_sources")]
INTEGERS = [("/ask", "top_k"), ("/query", "top_k")]


def error_of(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error, checked against the shape of its door; it has no details."""
    status, code = api_requests.error_of(response)
    assert _error(response).get("details") is None
    assert _error(response).get("detail") is None
    assert leaks_nothing(_error(response)["message"])
    return status, code


def _error(response: httpx.Response) -> Body:
    """The part of an error that has the message."""
    found: Body = response.json()
    nested: Body = found["error"] if isinstance(found.get("error"), dict) else found
    return nested


def field_of(path: str) -> str:
    """The field of the question."""
    return next(name for name, value in BODIES[path].items() if value == QUESTION)


@each_path
@pytest.mark.parametrize("name", malformed({}, ""))
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, path: str, name: str) -> None:
    body = BODIES[path]
    response = await post(client, path, malformed(body, field_of(path))[name])
    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert response.json().get("session_id") in {None, body.get("session_id")}


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        *((*place, value) for place in TEXTS for value in NOT_TEXT),
        *((*place, value) for place in BOOLEANS for value in NOT_BOOLEANS),
        *((*place, value) for place in INTEGERS for value in NOT_INTEGERS),
    ],
    ids=lambda value: value[:20],
)
async def test_values_of_another_type_are_rejected(
    client: httpx.AsyncClient, path: str, field: str, value: str
) -> None:
    response = await post(client, path, with_raw_value(BODIES[path], field, value))
    assert error_of(response) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize(("path", "field"), IDS)
async def test_other_types_are_not_coerced_to_session_ids(
    client: httpx.AsyncClient, path: str, field: str, value: str
) -> None:
    response = await post(client, path, with_raw_value(BODIES[path], field, value))
    status, code = error_of(response)
    assert (status, response.json().get("session_id")) == (400, None)
    assert code in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}


@pytest.mark.parametrize(
    ("path", "more"),
    [
        *((path, {field: text}) for path, field in TEXTS if field in BODIES[path] for text in (" ", "\ud800", "a\0b")),
        ("/chat", {"selected_text": ""}),
        ("/agent/query", {"context_mode": "user_provided", "user_context": ""}),
    ],
    ids=repr,
)
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, path: str, more: Body) -> None:
    response = await post(client, path, BODIES[path] | more)
    assert response.status_code == 200 or error_of(response)[0] == 400


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("/chat", {"query": " "}, "Query cannot be empty or whitespace only"),
        ("/agent/chat", {"context_text": " "}, "context_text must be null or contain non-whitespace characters"),
        ("/query", {"query": "\ud800"}, "query is not valid Unicode text."),
    ],
)
async def test_message_names_the_field_once(client: httpx.AsyncClient, path: str, more: Body, message: str) -> None:
    assert _error(await post(client, path, BODIES[path] | more))["message"] == message


@each_path
@pytest.mark.parametrize("content_type", JSON_CONTENT_TYPES)
async def test_json_content_types_are_accepted(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert (await post(client, path, BODIES[path], content_type)).status_code == 200


@each_path
@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    response = await post(client, path, BODIES[path], content_type)
    assert error_of(response) == (415, "UNSUPPORTED_MEDIA_TYPE")


@each_path
async def test_body_of_one_megabyte_is_accepted(client: httpx.AsyncClient, path: str) -> None:
    assert (await post(client, path, json.dumps(BODIES[path]).encode().ljust(MAX_BODY))).status_code == 200


@each_path
@pytest.mark.parametrize("send", [post, post_in_pieces])
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    content = json.dumps(BODIES[path]).encode().ljust(TOO_LARGE_BODY)
    assert error_of(await send(client, path, content)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("path", "more"),
    [*((path, {field_of(path): ""}) for path in BODIES), ("/chat", {"session_id": "x"})],
    ids=str,
)
async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient, path: str, more: Body) -> None:
    response = await dev_client.post(path, json=BODIES[path] | more)
    assert response.status_code == 400
    details = _error(response)["detail" if path == "/query" else "details"]
    assert details
    assert isinstance(details, dict if path.startswith(("/chat", "/ask")) else str)


@each_path
async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient, path: str) -> None:
    response = await empty_client.post(path, json=BODIES[path])
    status, code = error_of(response)
    assert (status, code in {"SERVICE_UNAVAILABLE", "QDRANT_UNAVAILABLE", "RETRIEVAL_ERROR", "RETRIEVAL_FAILED"}) == (
        503,
        True,
    )
    assert "secret-place" not in response.text


# With a language model.

ASK: dict[str, Callable[[httpx.AsyncClient, str], Awaitable[Body]]] = {
    "/ask": door_ask.ask,
    "/query": lambda client, question: door_query.query(client, query=question),
    "/agent/chat/structured": door_agent.structured,
}
each_answer = pytest.mark.parametrize("path", ASK)


@each_answer
async def test_llm_writes_the_answer(llm_client: httpx.AsyncClient, model: LlmServer, path: str) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await ASK[path](llm_client, QUESTION)
    assert FACT in found["answer"]
    assert found["sources"]


@each_answer
async def test_quotes_are_returned_when_the_llm_fails(
    llm_client: httpx.AsyncClient, model: LlmServer, path: str
) -> None:
    model.script(fails(401))
    found = await ASK[path](llm_client, QUESTION)
    assert FACT in found["answer"]
    assert found["sources"]


@each_answer
async def test_out_of_scope_question_is_refused_with_an_llm(
    llm_client: httpx.AsyncClient, model: LlmServer, path: str
) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await ASK[path](llm_client, OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["answer"]
