"""The agent door: limits, and requests that are rejected."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from door_agent import (
    BODY,
    CHAT,
    MALFORMED,
    PATHS,
    SESSION,
    STRUCTURED,
    ask,
    error_of,
)
from doors import (
    ABOUT_SELECTION,
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
@pytest.mark.parametrize("message", ["x", "🤖" * 2000, f"{QUESTION} " * 64], ids=len)
async def test_message_of_2000_characters_is_accepted(client: httpx.AsyncClient, path: str, message: str) -> None:
    await ask(client, path, BODY | {"message": message})


@pytest.mark.parametrize("path", PATHS)
async def test_context_text_of_10000_characters_is_accepted(client: httpx.AsyncClient, path: str) -> None:
    context = (f"{SELECTION} é " * 30)[:10_000]
    await ask(client, path, {"message": ABOUT_SELECTION, "session_id": SESSION, "context_text": context})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", VALID_SESSION_IDS, ids=lambda name: name[:20])
async def test_valid_session_ids_are_accepted(client: httpx.AsyncClient, path: str, name: str) -> None:
    found = await ask(client, path, BODY | {"session_id": name})
    assert found.get("session_id", name) == name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", JSON_CONTENT_TYPES)
async def test_json_content_types_are_accepted(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert (await post(client, path, BODY, content_type)).status_code == 200


async def test_body_of_one_megabyte_is_accepted(client: httpx.AsyncClient) -> None:
    assert (await post(client, CHAT, json.dumps(BODY).encode().ljust(LARGEST_BODY))).status_code == 200


# Rejected requests.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "more",
    [
        {"message": ""},
        {"message": "x" * 2001},
        {"message": "🤖" * 2001},
        {"message": None},
        {"context_text": ""},
        {"context_text": "   "},
        {"context_text": "\n\t"},
        {"context_text": "x" * 10_001},
        {"top_k": 5},
    ],
    ids=lambda more: str(more)[:40],
)
async def test_error_of_an_invalid_request_names_its_session(client: httpx.AsyncClient, path: str, more: Body) -> None:
    status, _, session = error_of(await post(client, path, BODY | more))
    assert (status, session) == (400, SESSION)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [*INVALID_SESSION_IDS, None, 5, True, []], ids=lambda name: repr(name)[:20])
async def test_invalid_session_id_is_rejected(client: httpx.AsyncClient, path: str, name: object) -> None:
    status, code, session = error_of(await post(client, path, BODY | {"session_id": name}))
    assert (status, session) == (400, None)
    assert code in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "session"),
    [({}, None), ({"message": QUESTION}, None), ({"session_id": SESSION}, SESSION)],
    ids=["both missing", "no session", "no message"],
)
async def test_message_and_session_id_are_required(
    client: httpx.AsyncClient, path: str, body: Body, session: str | None
) -> None:
    status, _, named = error_of(await post(client, path, body))
    assert (status, named) == (400, session)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_body_is_rejected(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    status, _, session = error_of(await post(client, path, content))
    assert status == 400
    assert session in {None, SESSION}


@pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["message", "session_id", "context_text"])
async def test_other_types_are_not_coerced_to_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert error_of(await post(client, CHAT, with_raw_value(BODY, field, value)))[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", NOT_BOOLEANS)
async def test_other_types_are_not_coerced_to_booleans(client: httpx.AsyncClient, path: str, value: str) -> None:
    assert error_of(await post(client, path, with_raw_value(BODY, "stream", value)))[0] == 400


@pytest.mark.parametrize("message", [" ", "\ud800", "a\0b"], ids=["blank", "half a character", "NUL"])
async def test_unusual_text_is_answered_or_rejected(client: httpx.AsyncClient, message: str) -> None:
    response = await post(client, CHAT, BODY | {"message": message})
    assert response.status_code == 200 or error_of(response)[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
async def test_other_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert error_of(await post(client, path, BODY, content_type))[:2] == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_body_over_one_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE_BODY)
    assert error_of(await send(client, path, content))[:2] == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", CHAT, ["POST"]),
        ("PUT", CHAT, ["POST"]),
        ("GET", STRUCTURED, ["POST"]),
        ("DELETE", STRUCTURED, ["POST"]),
        ("POST", f"/agent/session/{SESSION}", ["GET", "DELETE"]),
        ("PUT", f"/agent/session/{SESSION}", ["GET", "DELETE"]),
    ],
)
async def test_unsupported_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: list[str]) -> None:
    response = await client.request(method, path)
    assert error_of(response)[:2] == (405, "METHOD_NOT_ALLOWED")
    assert all(name in response.headers["allow"] for name in allowed)


@pytest.mark.parametrize("path", PATHS)
async def test_details_are_sent_in_dev_mode(dev_client: httpx.AsyncClient, path: str) -> None:
    response = await dev_client.post(path, json=BODY | {"message": ""})
    assert response.status_code == 400
    assert response.json()["error"]["details"]
    assert isinstance(response.json()["error"]["details"], str)


@pytest.mark.parametrize("path", PATHS)
async def test_server_without_an_index_is_503(empty_client: httpx.AsyncClient, path: str) -> None:
    response = await empty_client.post(path, json=BODY)
    assert error_of(response)[0] == 503
    assert "secret-place" not in response.text
