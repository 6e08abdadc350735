"""The grounded door: limits, and requests that are rejected."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from door_grounded import (
    BODY,
    MALFORMED,
    NAME,
    PATHS,
    QUERY,
    SESSION,
    USER_PROVIDED,
    ask,
    code_of,
    error_of,
)
from doors import (
    INVALID_SESSION_IDS,
    JSON_CONTENT_TYPES,
    LARGEST_BODY,
    NOT_BOOLEANS,
    NOT_TEXT,
    OTHER_CONTENT_TYPES,
    QUESTION,
    SELECTION,
    TOO_LARGE_BODY,
    VALID_SESSION_IDS,
    Body,
    post,
    post_in_pieces,
    with_raw_value,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Limits.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", ["x", "🤖" * 1000, f"{QUESTION} " * 32], ids=len)
async def test_query_of_1000_characters_is_accepted(client: httpx.AsyncClient, path: str, query: str) -> None:
    await ask(client, query, path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("field", ["conversation_id", "thread_id"])
@pytest.mark.parametrize("name", VALID_SESSION_IDS, ids=lambda name: name[:20])
async def test_valid_conversation_ids_are_accepted(client: httpx.AsyncClient, path: str, field: str, name: str) -> None:
    assert (await ask(client, QUESTION, path, **{field: name}))["conversation_id"] == name


@pytest.mark.parametrize("content_type", JSON_CONTENT_TYPES)
async def test_json_content_types_are_accepted(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, QUERY, BODY, content_type)).status_code == 200


async def test_body_of_one_megabyte_is_accepted(client: httpx.AsyncClient) -> None:
    assert (await post(client, QUERY, json.dumps(BODY).encode().ljust(LARGEST_BODY))).status_code == 200


# Rejected requests.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "more",
    [
        {"query_text": ""},
        {"query_text": None},
        {"query_text": "x" * 1001},
        {"query_text": "🤖" * 1001},
        {"context_mode": "user_provided"},
        {"context_mode": "user_provided", "user_context": None},
        {"context_mode": "context_constrained"},
        {"context_mode": "USER_PROVIDED", "user_context": SELECTION},
        {"context_mode": ""},
        {"context_mode": 5},
        {"filters": "Kinematics"},
        {"filters": ["Kinematics"]},
        {"filters": {"chapter": 5}},
        {"filters": {"section": True}},
        {"filters": {"source_url_prefix": "/docs"}},
        {"top_k": 5},
    ],
    ids=lambda more: str(more)[:60],
)
async def test_error_of_an_invalid_request_names_its_conversation(
    client: httpx.AsyncClient, path: str, more: Body
) -> None:
    assert error_of(await post(client, path, BODY | more)) == (400, None)
    assert error_of(await post(client, path, BODY | {"conversation_id": NAME} | more)) == (400, NAME)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [*INVALID_SESSION_IDS, 5, True, []], ids=lambda name: repr(name)[:20])
async def test_invalid_conversation_id_is_rejected(client: httpx.AsyncClient, path: str, name: object) -> None:
    response = await post(client, path, BODY | {"conversation_id": name})
    assert error_of(response) == (400, None)
    assert code_of(response) in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}


@pytest.mark.parametrize("body", [{}, {"conversation_id": NAME}, USER_PROVIDED], ids=lambda body: str(body)[:40])
async def test_query_is_required(client: httpx.AsyncClient, body: Body) -> None:
    assert error_of(await post(client, QUERY, body)) == (400, body.get("conversation_id"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    assert error_of(await post(client, path, content)) == (400, None)


@pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["query_text", "context_mode", "user_context", "conversation_id", "thread_id"])
async def test_other_types_are_not_coerced_to_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert error_of(await post(client, QUERY, with_raw_value(BODY, field, value))) == (400, None)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", NOT_BOOLEANS)
async def test_other_types_are_not_coerced_to_booleans(client: httpx.AsyncClient, path: str, value: str) -> None:
    assert error_of(await post(client, path, with_raw_value(BODY, "stream", value))) == (400, None)


async def test_duplicate_key_in_filters_is_rejected(client: httpx.AsyncClient) -> None:
    content = with_raw_value(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert error_of(await post(client, QUERY, content)) == (400, None)


@pytest.mark.parametrize(
    "more",
    [
        {"query_text": " "},
        {"query_text": "\ud800"},
        {"query_text": "a\0b"},
        {"context_mode": "user_provided", "user_context": ""},
    ],
    ids=["blank", "half a character", "NUL", "an empty context"],
)
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, more: Body) -> None:
    response = await post(client, QUERY, BODY | more)
    assert response.status_code == 200 or error_of(response) == (400, None)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    response = await post(client, path, BODY, content_type)
    assert (error_of(response)[0], code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    response = await send(client, path, json.dumps(BODY).encode().ljust(TOO_LARGE_BODY))
    assert (error_of(response)[0], code_of(response)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", QUERY, ["POST"]),
        ("PUT", QUERY, ["POST"]),
        ("GET", SESSION, ["POST"]),
        ("DELETE", SESSION, ["POST"]),
        ("POST", f"{SESSION}/{NAME}", ["GET", "DELETE"]),
        ("PUT", f"{SESSION}/{NAME}", ["GET", "DELETE"]),
        ("GET", f"{SESSION}/{NAME}/reset", ["POST"]),
        ("DELETE", f"{SESSION}/{NAME}/reset", ["POST"]),
    ],
)
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: list[str]) -> None:
    response = await client.request(method, path)
    assert (error_of(response)[0], code_of(response)) == (405, "METHOD_NOT_ALLOWED")
    assert all(name in response.headers["allow"] for name in allowed)


@pytest.mark.parametrize("path", PATHS)
async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient, path: str) -> None:
    response = await dev_client.post(path, json={"query_text": ""})
    assert response.status_code == 400
    assert response.json()["error"]["details"]
    assert isinstance(response.json()["error"]["details"], str)


@pytest.mark.parametrize("path", PATHS)
async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient, path: str) -> None:
    response = await empty_client.post(path, json=BODY)
    assert error_of(response)[0] == 503
    assert "secret-place" not in response.text
