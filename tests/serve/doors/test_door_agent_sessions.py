"""The agent door: sessions."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from door_agent import (
    CHAT,
    chat,
    error_of,
    messages_of,
    new_session,
    session,
    structured,
)
from doors import (
    FACT,
    QUESTION,
    is_uuid4,
    stream,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Sessions.


async def test_session_returns_its_messages_in_order(client: httpx.AsyncClient) -> None:
    name = new_session()
    await chat(client, QUESTION, session_id=name)
    await structured(client, "What is inverse kinematics?", session_id=name)
    found = await session(client, name)
    assert messages_of(found, "user") == [QUESTION, "What is inverse kinematics?"]
    assert FACT in messages_of(found, "assistant")[0]
    roles = [m["role"] for m in found["messages"] if m["role"] in {"user", "assistant"}]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert {m["tool_call_id"] for m in found["messages"] if m["role"] != "tool"} == {None}


async def test_streamed_answer_is_in_the_session(client: httpx.AsyncClient) -> None:
    name = new_session()
    await stream(client, CHAT, {"message": QUESTION, "session_id": name, "stream": True})
    assert messages_of(await session(client, name), "user") == [QUESTION]


async def test_deleted_session_is_gone_and_its_id_can_be_reused(client: httpx.AsyncClient) -> None:
    name = new_session()
    await chat(client, QUESTION, session_id=name)
    deleted = await client.delete(f"/agent/session/{name}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert is_uuid4(deleted.headers["x-request-id"])
    assert error_of(await client.get(f"/agent/session/{name}")) == (404, "SESSION_NOT_FOUND", name)
    await chat(client, "What is physical AI?", session_id=name)
    assert messages_of(await session(client, name), "user") == ["What is physical AI?"]


async def test_unknown_session_is_404(client: httpx.AsyncClient) -> None:
    name = new_session()
    assert error_of(await client.get(f"/agent/session/{name}")) == (404, "SESSION_NOT_FOUND", name)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["user@email.com", "a b", "a.b", "é", "x" * 201], ids=lambda name: name[:20])
async def test_path_with_an_invalid_session_id_is_rejected(client: httpx.AsyncClient, method: str, name: str) -> None:
    status, _, named = error_of(await client.request(method, f"/agent/session/{quote(name)}"))
    assert (status, named) == (400, None)
