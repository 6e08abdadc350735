"""The agent door: limits, and requests that are rejected."""

from __future__ import annotations

import httpx
import pytest

from door_agent import (
    BODY,
    CHAT,
    PATHS,
    SESSION,
    STRUCTURED,
    ask,
    error_of,
)
from doors import (
    ABOUT_SELECTION,
    INVALID_SESSION_IDS,
    QUESTION,
    SELECTION,
    VALID_SESSION_IDS,
    Body,
    post,
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
@pytest.mark.parametrize("name", ["", " ", *INVALID_SESSION_IDS, None, 5, True, []], ids=lambda name: repr(name)[:20])
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
