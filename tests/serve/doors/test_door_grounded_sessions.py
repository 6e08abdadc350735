"""The grounded door: sessions."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from door_grounded import (
    INVERSE,
    PATHS,
    QUERY,
    SESSION,
    USER_PROVIDED,
    ask,
    error_of,
    messages_of,
    new_session,
    session,
    session_of,
)
from doors import (
    ABOUT_SELECTION,
    FACT,
    OUT_OF_SCOPE,
    QUESTION,
    stream,
)
from llm_server import LlmServer, fails

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Conversations.


async def test_query_without_a_session_starts_one(client: httpx.AsyncClient) -> None:
    name = (await ask(client, QUESTION))["conversation_id"]
    assert messages_of(await session(client, name), "user") == [QUESTION]


async def test_session_is_created_if_none_is_given(client: httpx.AsyncClient) -> None:
    first, second = await ask(client, QUESTION, SESSION), await ask(client, QUESTION, SESSION)
    assert first["conversation_id"] != second["conversation_id"]
    found = await session(client, first["conversation_id"])
    assert (found["state"], found["context_mode"]) == ("active", "retrieval_pipeline")
    assert messages_of(found, "user") == [QUESTION]


@pytest.mark.parametrize("path", PATHS)
async def test_session_returns_its_messages_in_order(client: httpx.AsyncClient, path: str) -> None:
    name = new_session()
    assert (await ask(client, QUESTION, path, conversation_id=name))["conversation_id"] == name
    await ask(client, INVERSE, path, conversation_id=name, thread_id=name)
    found = await session(client, name)
    assert messages_of(found, "user") == [QUESTION, INVERSE]
    assert FACT in messages_of(found, "assistant")[0]
    assert [message["role"] for message in found["conversation_history"]] == ["user", "assistant"] * 2
    assert found["state"] == "active"


async def test_thread_id_is_an_alias_of_conversation_id(client: httpx.AsyncClient) -> None:
    name = new_session()
    await ask(client, QUESTION, thread_id=name)
    await ask(client, INVERSE, conversation_id=name)
    assert messages_of(await session(client, name), "user") == [QUESTION, INVERSE]


@pytest.mark.parametrize("question", [QUESTION, OUT_OF_SCOPE])
async def test_streamed_answer_is_in_the_session(client: httpx.AsyncClient, question: str) -> None:
    name = new_session()
    body = {"query_text": question, "conversation_id": name, "stream": True}
    streamed = await stream(client, QUERY, body)
    found = await session(client, name)
    assert (messages_of(found, "user"), messages_of(found, "assistant")) == ([question], [streamed.text])


async def test_session_repeats_the_notice_of_a_failed_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await ask(llm_client, QUESTION)
    assert found["response_text"].startswith("AI summarization unavailable.")
    history = await session(llm_client, found["conversation_id"])
    assert messages_of(history, "assistant") == [found["response_text"]]


async def test_session_has_the_filters_of_its_last_query(client: httpx.AsyncClient) -> None:
    name = new_session()
    filters = {"chapter": "Kinematics", "section": "Inverse Kinematics"}
    await ask(client, INVERSE, conversation_id=name, filters=filters)
    assert (await session(client, name))["active_filters"] == filters


async def test_session_has_the_context_mode_of_its_last_query(client: httpx.AsyncClient) -> None:
    name = new_session()
    await ask(client, ABOUT_SELECTION, conversation_id=name, **USER_PROVIDED)
    assert (await session(client, name))["context_mode"] == "user_provided"


async def test_session_has_at_most_100_messages(client: httpx.AsyncClient) -> None:
    name = new_session()
    for _ in range(51):
        await ask(client, QUESTION, conversation_id=name)
    await ask(client, INVERSE, conversation_id=name)
    assert messages_of(await session(client, name), "user")[-1] == INVERSE


async def test_deleted_session_is_gone_and_its_id_can_be_reused(client: httpx.AsyncClient) -> None:
    name = new_session()
    await ask(client, QUESTION, conversation_id=name)
    deleted = await client.delete(f"{SESSION}/{name}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert error_of(await client.get(f"{SESSION}/{name}")) == (404, name)
    await ask(client, INVERSE, conversation_id=name)
    assert messages_of(await session(client, name), "user") == [INVERSE]


async def test_reset_session_is_empty(client: httpx.AsyncClient) -> None:
    name = new_session()
    await ask(client, QUESTION, conversation_id=name)
    reset = session_of(await client.post(f"{SESSION}/{name}/reset"), name)
    assert (reset["state"], reset["conversation_history"]) == ("created", [])
    assert await session(client, name) == reset
    await ask(client, INVERSE, conversation_id=name)
    found = await session(client, name)
    assert (found["state"], messages_of(found, "user")) == ("active", [INVERSE])


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", "/reset")])
async def test_unknown_session_is_404(client: httpx.AsyncClient, method: str, rest: str) -> None:
    name = new_session()
    assert error_of(await client.request(method, f"{SESSION}/{name}{rest}")) == (404, name)


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("DELETE", ""), ("POST", "/reset")])
@pytest.mark.parametrize("name", ["user@email.com", "a b", "a.b", "é", "x" * 201], ids=lambda name: name[:20])
async def test_path_with_an_invalid_session_id_is_rejected(
    client: httpx.AsyncClient, method: str, rest: str, name: str
) -> None:
    assert error_of(await client.request(method, f"{SESSION}/{quote(name)}{rest}")) == (400, None)
