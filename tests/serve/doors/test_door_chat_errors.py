"""The chat door: limits, and requests that are rejected."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from door_chat import BODY, MALFORMED, NOT_UUID4, PATHS, SESSION, error_of
from doors import (
    NOT_TEXT,
    OTHER_CONTENT_TYPES,
    QUESTION,
    SELECTION,
    TOO_LARGE_BODY,
    Body,
    is_uuid4,
    post,
    post_in_pieces,
    with_raw_value,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    assert error_of(await post(client, path, content)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["query", "selected_text"])
async def test_other_types_are_not_coerced_to_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert error_of(await post(client, "/chat", with_raw_value(BODY, field, value))) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: value[:20])
async def test_other_types_are_not_coerced_to_session_ids(client: httpx.AsyncClient, value: str) -> None:
    status, code = error_of(await post(client, "/chat", with_raw_value(BODY, "session_id", value)))
    assert (status, code in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}) == (400, True)


@pytest.mark.parametrize("body", [{}, {"query": None}, {"selected_text": SELECTION}], ids=str)
async def test_query_is_required(client: httpx.AsyncClient, body: Body) -> None:
    status, code = error_of(await post(client, "/chat", body))
    assert (status, code in {"EMPTY_QUERY", "VALIDATION_ERROR"}) == (400, True)


async def test_duplicate_key_in_filters_is_rejected(client: httpx.AsyncClient) -> None:
    content = with_raw_value(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert error_of(await post(client, "/chat", content)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "content",
    [b'{"query": "\\ud800"}', b'{"query": "a\\u0000b"}', with_raw_value(BODY, "selected_text", '""')],
    ids=["half a character", "NUL", "an empty selection"],
)
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, content: bytes) -> None:
    response = await post(client, "/chat", content)
    assert response.status_code == 200 or error_of(response)[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert error_of(await post(client, path, BODY, content_type)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE_BODY)
    assert error_of(await send(client, path, content)) == (413, "PAYLOAD_TOO_LARGE")


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


@pytest.mark.parametrize("body", [{"query": ""}, {"query": QUESTION, "session_id": "x"}], ids=str)
async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient, body: Body) -> None:
    response = await dev_client.post("/chat", json=body)
    assert response.status_code == 400
    assert isinstance(response.json()["details"], dict)


@pytest.mark.parametrize("path", PATHS)
async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient, path: str) -> None:
    response = await empty_client.post(path, json=BODY)
    status, code = error_of(response)
    assert (status, code in {"SERVICE_UNAVAILABLE", "QDRANT_UNAVAILABLE"}) == (503, True)
    assert "secret-place" not in response.text


@pytest.mark.parametrize("path", ["/livez", "/health", "/search?q=x", "/nowhere", "/chat", "/history/x"])
async def test_every_response_has_its_own_request_id(client: httpx.AsyncClient, path: str) -> None:
    first, second = await client.get(path), await client.get(path)
    assert is_uuid4(first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
