"""The grounded door: the contract of seed 001, and how it was settled."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import doors
from doors import (
    ABOUT_SELECTION,
    BASE,
    FACT,
    FALSEHOOD,
    LARGEST,
    NO_BOOLEAN,
    NO_SESSION_IDS,
    NO_TEXT,
    OUT_OF_SCOPE,
    QUESTION,
    RIGHT_TYPES,
    SELECTION,
    SESSION_IDS,
    TOO_LARGE,
    WRONG_TYPES,
    Body,
    given,
    is_moment,
    is_share,
    is_uuid4,
    malformed,
    page_of,
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

QUERY, SESSION = "/agent/query", "/agent/query/session"
PATHS = [QUERY, SESSION]
NAME = "user_123_conv_456"
INVERSE = "What is inverse kinematics?"
BODY: Body = {"query_text": QUESTION}
MALFORMED = malformed(BODY, "query_text")
USER_PROVIDED: Body = {"context_mode": "user_provided", "user_context": SELECTION}


def refused(response: httpx.Response) -> tuple[int, str | None]:
    """The status and the conversation of an error, which has this door's shape."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "session_id"}
    assert set(found["error"]) == {"code", "message", "details"}
    assert found["error"]["details"] is None
    assert tells_no_internals(found["error"]["message"])
    assert re.fullmatch(r"[A-Z_]+", found["error"]["code"])
    return response.status_code, found["session_id"]


def code_of(response: httpx.Response) -> str:
    code: str = response.json()["error"]["code"]
    return code


def fresh() -> str:
    return f"conversation_{uuid.uuid4().hex}"


async def ask(client: httpx.AsyncClient, query_text: str, path: str = QUERY, **more: Any) -> Body:
    """A response, which has this door's shape."""
    response = await client.post(path, json={"query_text": query_text} | more)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {
        "response_text",
        "sources",
        "confidence_score",
        "grounding_validation",
        "conversation_id",
        "timestamp",
        "state",
    }
    assert 1 <= len(found["response_text"]) <= 10_000
    assert is_share(found["confidence_score"])
    assert is_moment(found["timestamp"])
    assert found["state"] in {"delivered", "flagged"}
    for source in found["sources"]:
        is_source(source)
    is_grounding(found["grounding_validation"], found["state"])
    return found


def is_source(source: Body) -> None:
    assert {"content_id", "source_url", "chapter"} <= set(source) <= {"content_id", "source_url", "chapter", "section"}
    assert all(isinstance(source[name], str) for name in ("content_id", "source_url", "chapter"))
    assert source.get("section") is None or isinstance(source["section"], str)


def is_grounding(found: Body, state: str) -> None:
    assert set(found) == {"is_fully_grounded", "is_fully_ground", "unsupported_claims"}
    assert type(found["is_fully_grounded"]) is bool
    assert found["is_fully_ground"] is found["is_fully_grounded"]
    assert all(isinstance(claim, str) for claim in found["unsupported_claims"])
    if not found["is_fully_grounded"]:
        assert found["unsupported_claims"]
        assert state == "flagged"


# Answers.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"context_mode": "retrieval_pipeline"},
        {"context_mode": "retrieval_pipeline", "user_context": SELECTION},
        {"user_context": None, "filters": None, "conversation_id": None, "thread_id": None},
        {"filters": {}},
        {"stream": False},
    ],
    ids=lambda more: str(more)[:60],
)
async def test_an_answer_is_grounded_in_the_book(client: httpx.AsyncClient, path: str, more: Body) -> None:
    found = await ask(client, QUESTION, path, **more)
    assert FACT in found["response_text"]
    assert found["grounding_validation"] == {
        "is_fully_grounded": True,
        "is_fully_ground": True,
        "unsupported_claims": [],
    }
    assert found["sources"]
    for source in found["sources"]:
        assert source["content_id"]
        assert source["source_url"].startswith(f"{BASE}/module")
        assert source["chapter"]


async def test_an_answer_from_the_user_needs_nothing_of_the_book(client: httpx.AsyncClient) -> None:
    found = await ask(client, ABOUT_SELECTION, **USER_PROVIDED)
    assert "water boils deep underground" in found["response_text"]
    assert BASE not in json.dumps(found)
    assert found["grounding_validation"]["is_fully_grounded"]


async def test_nothing_of_the_book_leaks_into_a_context(client: httpx.AsyncClient) -> None:
    found = await ask(client, QUESTION, **USER_PROVIDED)
    assert "gravitational" not in json.dumps(found)
    assert BASE not in json.dumps(found)


async def test_explaining_a_context_is_never_refused(client: httpx.AsyncClient) -> None:
    found = await ask(client, "Explain this", **USER_PROVIDED)
    assert any(sentence in found["response_text"] for sentence in SELECTION.split(". "))


@pytest.mark.parametrize("path", PATHS)
async def test_out_of_scope_has_no_sources(client: httpx.AsyncClient, path: str) -> None:
    assert (await ask(client, OUT_OF_SCOPE, path))["sources"] == []


@pytest.mark.parametrize(
    "filters",
    [
        {"chapter": "Kinematics"},
        {"section": "Inverse Kinematics"},
        {"chapter": "Kinematics", "section": "Inverse Kinematics"},
        {"chapter": None, "section": "Inverse Kinematics"},
        {"chapter": "Kinematics", "section": None},
    ],
    ids=str,
)
async def test_filters_narrow_an_answer(client: httpx.AsyncClient, filters: Body) -> None:
    found = await ask(client, INVERSE, filters=filters)
    assert found["sources"]
    for source in found["sources"]:
        assert page_of(source["source_url"]) == f"{BASE}/module1/kinematics"
        assert source["chapter"] == "Kinematics"
        assert source["section"] == (filters.get("section") or source["section"])


@pytest.mark.parametrize(
    "filters", [{"chapter": "Nowhere"}, {"section": "Nowhere"}, {"chapter": "Balance", "section": "Inverse Kinematics"}]
)
async def test_filters_that_leave_nothing_leave_no_sources(client: httpx.AsyncClient, filters: Body) -> None:
    assert (await ask(client, INVERSE, filters=filters))["sources"] == []


# Limits.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", ["x", "🤖" * 1000, f"{QUESTION} " * 32], ids=len)
async def test_a_query_may_have_1000_characters(client: httpx.AsyncClient, path: str, query: str) -> None:
    await ask(client, query, path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("field", ["conversation_id", "thread_id"])
@pytest.mark.parametrize("name", SESSION_IDS, ids=lambda name: name[:20])
async def test_a_conversation_may_have_any_name(client: httpx.AsyncClient, path: str, field: str, name: str) -> None:
    assert (await ask(client, QUESTION, path, **{field: name}))["conversation_id"] == name


@pytest.mark.parametrize("content_type", RIGHT_TYPES)
async def test_json_may_be_called_by_its_full_name(client: httpx.AsyncClient, content_type: str) -> None:
    assert (await post(client, QUERY, BODY, content_type)).status_code == 200


async def test_a_body_of_a_megabyte_is_read(client: httpx.AsyncClient) -> None:
    assert (await post(client, QUERY, json.dumps(BODY).encode().ljust(LARGEST))).status_code == 200


# What is refused.


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
async def test_an_invalid_request_names_its_conversation(client: httpx.AsyncClient, path: str, more: Body) -> None:
    assert refused(await post(client, path, BODY | more)) == (400, None)
    assert refused(await post(client, path, BODY | {"conversation_id": NAME} | more)) == (400, NAME)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [*NO_SESSION_IDS, 5, True, []], ids=lambda name: repr(name)[:20])
async def test_an_invalid_conversation_id_is_refused(client: httpx.AsyncClient, path: str, name: object) -> None:
    response = await post(client, path, BODY | {"conversation_id": name})
    assert refused(response) == (400, None)
    assert code_of(response) in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}


@pytest.mark.parametrize("body", [{}, {"conversation_id": NAME}, USER_PROVIDED], ids=lambda body: str(body)[:40])
async def test_a_query_is_required(client: httpx.AsyncClient, body: Body) -> None:
    assert refused(await post(client, QUERY, body)) == (400, body.get("conversation_id"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_body_is_refused(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    assert refused(await post(client, path, content)) == (400, None)


@pytest.mark.parametrize("value", NO_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["query_text", "context_mode", "user_context", "conversation_id", "thread_id"])
async def test_nothing_is_taken_for_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert refused(await post(client, QUERY, given(BODY, field, value))) == (400, None)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", NO_BOOLEAN)
async def test_nothing_is_taken_for_a_boolean(client: httpx.AsyncClient, path: str, value: str) -> None:
    assert refused(await post(client, path, given(BODY, "stream", value))) == (400, None)


async def test_a_key_twice_among_the_filters_is_refused(client: httpx.AsyncClient) -> None:
    content = given(BODY, "filters", '{"section": "Jacobian", "section": "Sensors"}')
    assert refused(await post(client, QUERY, content)) == (400, None)


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
async def test_odd_text_is_answered_or_refused(client: httpx.AsyncClient, more: Body) -> None:
    response = await post(client, QUERY, BODY | more)
    assert response.status_code == 200 or refused(response) == (400, None)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", WRONG_TYPES)
async def test_another_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    response = await post(client, path, BODY, content_type)
    assert (refused(response)[0], code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_over_a_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    response = await send(client, path, json.dumps(BODY).encode().ljust(TOO_LARGE))
    assert (refused(response)[0], code_of(response)) == (413, "PAYLOAD_TOO_LARGE")


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
async def test_a_wrong_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: list[str]) -> None:
    response = await client.request(method, path)
    assert (refused(response)[0], code_of(response)) == (405, "METHOD_NOT_ALLOWED")
    assert all(name in response.headers["allow"] for name in allowed)


@pytest.mark.parametrize("path", PATHS)
async def test_details_are_for_developers(dev: httpx.AsyncClient, path: str) -> None:
    response = await dev.post(path, json={"query_text": ""})
    assert response.status_code == 400
    assert response.json()["error"]["details"]
    assert isinstance(response.json()["error"]["details"], str)


@pytest.mark.parametrize("path", PATHS)
async def test_a_server_with_no_book_is_503(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.post(path, json=BODY)
    assert refused(response)[0] == 503
    assert "secret-place" not in response.text


# Streams.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [BODY, {"query_text": OUT_OF_SCOPE}, {"query_text": ABOUT_SELECTION, **USER_PROVIDED}],
    ids=lambda body: str(body)[:60],
)
async def test_a_stream_says_the_same(client: httpx.AsyncClient, path: str, body: Body) -> None:
    whole = await ask(client, path=path, **body)
    streamed = await stream(client, path, body | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole["response_text"]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert isinstance(streamed.sources["metadata"], dict)
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])


# Conversations.


async def session(client: httpx.AsyncClient, name: str) -> Body:
    response = await client.get(f"{SESSION}/{name}")
    assert is_uuid4(response.headers["x-request-id"])
    return session_of(response, name)


def session_of(response: httpx.Response, name: str) -> Body:
    """A session, which has this door's shape."""
    assert response.status_code == 200, response.text
    found: Body = response.json()
    assert set(found) == {
        "session_id",
        "openai_thread_id",
        "created_at",
        "last_interaction",
        "user_id",
        "context_mode",
        "active_filters",
        "conversation_history",
        "state",
    }
    assert (found["session_id"], found["openai_thread_id"]) == (name, name)
    assert is_moment(found["created_at"])
    assert is_moment(found["last_interaction"])
    assert found["state"] in {"created", "active", "inactive", "expired"}
    assert found["context_mode"] in {"retrieval_pipeline", "user_provided"}
    assert len(found["conversation_history"]) <= 100
    for message in found["conversation_history"]:
        assert set(message) == {"role", "content", "timestamp"}
        assert message["role"] in {"user", "assistant"}
        assert is_moment(message["timestamp"])
    return found


def said(found: Body, role: str) -> list[str]:
    return [message["content"] for message in found["conversation_history"] if message["role"] == role]


async def test_a_query_alone_leaves_no_session(client: httpx.AsyncClient) -> None:
    name = (await ask(client, QUESTION))["conversation_id"]
    assert not name or refused(await client.get(f"{SESSION}/{name}")) == (404, name)


async def test_a_session_is_made_where_none_is_given(client: httpx.AsyncClient) -> None:
    first, second = await ask(client, QUESTION, SESSION), await ask(client, QUESTION, SESSION)
    assert first["conversation_id"] != second["conversation_id"]
    found = await session(client, first["conversation_id"])
    assert (found["state"], found["context_mode"]) == ("active", "retrieval_pipeline")
    assert said(found, "user") == [QUESTION]


@pytest.mark.parametrize("path", PATHS)
async def test_a_session_holds_what_was_said_in_order(client: httpx.AsyncClient, path: str) -> None:
    name = fresh()
    assert (await ask(client, QUESTION, path, conversation_id=name))["conversation_id"] == name
    await ask(client, INVERSE, path, conversation_id=name, thread_id=name)
    found = await session(client, name)
    assert said(found, "user") == [QUESTION, INVERSE]
    assert FACT in said(found, "assistant")[0]
    assert [message["role"] for message in found["conversation_history"]] == ["user", "assistant"] * 2
    assert found["state"] == "active"


async def test_a_thread_is_the_conversation(client: httpx.AsyncClient) -> None:
    name = fresh()
    await ask(client, QUESTION, thread_id=name)
    await ask(client, INVERSE, conversation_id=name)
    assert said(await session(client, name), "user") == [QUESTION, INVERSE]


async def test_what_was_streamed_is_in_the_session(client: httpx.AsyncClient) -> None:
    name = fresh()
    await stream(client, QUERY, BODY | {"conversation_id": name, "stream": True})
    assert said(await session(client, name), "user") == [QUESTION]


async def test_a_session_knows_its_filters(client: httpx.AsyncClient) -> None:
    name = fresh()
    filters = {"chapter": "Kinematics", "section": "Inverse Kinematics"}
    await ask(client, INVERSE, conversation_id=name, filters=filters)
    assert (await session(client, name))["active_filters"] == filters


async def test_a_session_knows_its_context_mode(client: httpx.AsyncClient) -> None:
    name = fresh()
    await ask(client, ABOUT_SELECTION, conversation_id=name, **USER_PROVIDED)
    assert (await session(client, name))["context_mode"] == "user_provided"


async def test_a_session_has_at_most_100_messages(client: httpx.AsyncClient) -> None:
    name = fresh()
    for _ in range(51):
        await ask(client, QUESTION, conversation_id=name)
    await ask(client, INVERSE, conversation_id=name)
    assert said(await session(client, name), "user")[-1] == INVERSE


async def test_a_deleted_session_is_gone_and_may_begin_anew(client: httpx.AsyncClient) -> None:
    name = fresh()
    await ask(client, QUESTION, conversation_id=name)
    deleted = await client.delete(f"{SESSION}/{name}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert refused(await client.get(f"{SESSION}/{name}")) == (404, name)
    await ask(client, INVERSE, conversation_id=name)
    assert said(await session(client, name), "user") == [INVERSE]


async def test_a_session_that_is_reset_waits_for_its_first_message(client: httpx.AsyncClient) -> None:
    name = fresh()
    await ask(client, QUESTION, conversation_id=name)
    reset = session_of(await client.post(f"{SESSION}/{name}/reset"), name)
    assert (reset["state"], reset["conversation_history"]) == ("created", [])
    assert await session(client, name) == reset
    await ask(client, INVERSE, conversation_id=name)
    found = await session(client, name)
    assert (found["state"], said(found, "user")) == ("active", [INVERSE])


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", "/reset")])
async def test_a_session_that_nobody_made_is_404(client: httpx.AsyncClient, method: str, rest: str) -> None:
    name = fresh()
    assert refused(await client.request(method, f"{SESSION}/{name}{rest}")) == (404, name)


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("DELETE", ""), ("POST", "/reset")])
@pytest.mark.parametrize("name", ["user@email.com", "a b", "a.b", "é", "x" * 201], ids=lambda name: name[:20])
async def test_a_path_with_an_invalid_id_is_refused(
    client: httpx.AsyncClient, method: str, rest: str, name: str
) -> None:
    assert refused(await client.request(method, f"{SESSION}/{quote(name)}{rest}")) == (400, None)


# With a language model.


async def test_a_language_model_writes_the_response(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await ask(drafted, QUESTION)
    assert FACT in found["response_text"]
    assert found["grounding_validation"]["is_fully_grounded"]
    assert found["sources"]


async def test_a_stream_of_a_language_model_says_the_same(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    whole = await ask(drafted, QUESTION)
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    streamed = await stream(drafted, QUERY, BODY | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.text == whole["response_text"]


async def test_what_a_language_model_makes_up_is_not_shown(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1] {FALSEHOOD} [Source 1]"), says("NOT FOUND"))
    found = await ask(drafted, QUESTION)
    assert FACT in found["response_text"]
    assert "baker" not in found["response_text"]


async def test_a_language_model_that_fails_leaves_the_quotes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await ask(drafted, QUESTION)
    assert FACT in found["response_text"]
    assert found["grounding_validation"]["is_fully_grounded"]
    assert found["sources"]


async def test_out_of_scope_is_refused_whoever_writes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await ask(drafted, OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["response_text"]
