"""The grounded door: limits, and requests that are rejected."""

from __future__ import annotations

import httpx
import pytest

from door_grounded import (
    BODY,
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
    QUESTION,
    SELECTION,
    VALID_SESSION_IDS,
    Body,
    post,
    with_raw_value,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Limits.


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", ["x", "🤖" * 1000, f"{QUESTION} " * 32], ids=len)
async def test_query_of_1000_characters_is_accepted(client: httpx.AsyncClient, path: str, query: str) -> None:
    await ask(client, query, path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("field", ["conversation_id", "thread_id"])
@pytest.mark.parametrize("name", VALID_SESSION_IDS, ids=lambda name: name[:20])
async def test_valid_conversation_ids_are_accepted(client: httpx.AsyncClient, path: str, field: str, name: str) -> None:
    assert (await ask(client, QUESTION, path, **{field: name}))["conversation_id"] == name


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


async def test_duplicate_key_in_filters_is_rejected(client: httpx.AsyncClient) -> None:
    content = with_raw_value(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert error_of(await post(client, QUERY, content)) == (400, None)


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
