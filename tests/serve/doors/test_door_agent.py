"""The agent door: the contract of seed 000, and how it was settled."""

from __future__ import annotations

import json
import re
import uuid
from datetime import datetime, timedelta
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
    is_share,
    is_uuid4,
    malformed,
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

CHAT, STRUCTURED = "/agent/chat", "/agent/chat/structured"
PATHS = [CHAT, STRUCTURED]
SESSION = "user_123_conv_456"
BODY: Body = {"message": QUESTION, "session_id": SESSION}
MALFORMED = malformed(BODY, "message")
ZMP = (
    "The zero-moment point (ZMP) is the point on the ground where the total sum of inertial and gravitational forces"
    " equals zero. It is used in humanoid robot control to maintain balance..."
)
CONTEXTS = [
    ("Explain this concept in simple terms", ZMP),
    ("Explain this concept in simple terms", ZMP.partition(" It is")[0][:-1] + "..."),
    ("Explain this concept", "The ZMP is the point on the ground..."),
    ("What does ZMP mean in this context?", ZMP),
    (ABOUT_SELECTION, SELECTION),
]
CITED = re.compile(r"\[Source (\d+)\]")
LISTED = re.compile(r"- \[Source (\d+)\] (\S+)")


def refused(response: httpx.Response) -> tuple[int, str, str | None]:
    """The status, the code and the session of an error, which has this door's shape."""
    found = response.json()
    assert is_uuid4(response.headers["x-request-id"])
    assert set(found) == {"error", "session_id"}
    assert set(found["error"]) == {"code", "message", "details"}
    assert found["error"]["details"] is None
    assert tells_no_internals(found["error"]["message"])
    assert re.fullmatch(r"[A-Z_]+", found["error"]["code"])
    return response.status_code, found["error"]["code"], found["session_id"]


def fresh() -> str:
    return f"session_{uuid.uuid4().hex}"


async def ask(client: httpx.AsyncClient, path: str, body: Body) -> Body:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    return found


async def chat(client: httpx.AsyncClient, message: str, **more: Any) -> Body:
    """A response, which has this door's shape."""
    body = {"message": message, "session_id": fresh()} | more
    found = await ask(client, CHAT, body)
    assert set(found) == {"response", "session_id", "status"}
    assert found["session_id"] == body["session_id"]
    assert found["response"].strip()
    return found


async def structured(client: httpx.AsyncClient, message: str, **more: Any) -> Body:
    """A structured response, which has this door's shape."""
    found = await ask(client, STRUCTURED, {"message": message, "session_id": fresh()} | more)
    assert set(found) == {"answer", "sources", "confidence", "retrieval_mode"}
    assert found["answer"].strip()
    assert found["confidence"] in {"High", "Medium", "Low"}
    assert found["retrieval_mode"] in {"full_book", "context_constrained"}
    assert len(found["sources"]) <= 20
    for source in found["sources"]:
        is_citation(source)
    return found


def is_citation(source: Body) -> None:
    assert set(source) == {"source_number", "url", "score"}
    assert type(source["source_number"]) is int
    assert 1 <= source["source_number"] <= 20
    assert source["url"].startswith(f"{BASE}/module")
    assert is_share(source["score"])


# Answers.


@pytest.mark.parametrize("message", [QUESTION, "What is the zero-moment point in humanoid robotics?"])
@pytest.mark.parametrize("context", [{}, {"context_text": None}], ids=str)
async def test_a_response_cites_the_sources_that_it_lists(
    client: httpx.AsyncClient, message: str, context: Body
) -> None:
    found = await chat(client, message, **context)
    assert found["status"] == "success"
    assert FACT in found["response"]
    answer, _, listing = found["response"].partition("\n\nSources:\n")
    listed = [LISTED.fullmatch(line) for line in listing.strip().splitlines()]
    assert listed
    assert all(listed)
    numbers = [int(line[1]) for line in listed if line]
    assert len(numbers) == len(set(numbers))
    assert {int(number) for number in CITED.findall(answer)} == set(numbers)
    assert all(line[2].startswith(f"{BASE}/module") for line in listed if line)


@pytest.mark.parametrize("message", [QUESTION, "What is inverse kinematics?", "What is physical AI?"])
@pytest.mark.parametrize("context", [{}, {"context_text": None}], ids=str)
async def test_a_structured_response_cites_its_sources(client: httpx.AsyncClient, message: str, context: Body) -> None:
    found = await structured(client, message, **context)
    numbers = [source["source_number"] for source in found["sources"]]
    assert found["retrieval_mode"] == "full_book"
    assert len(numbers) == len(set(numbers))
    assert {int(number) for number in CITED.findall(found["answer"])} == set(numbers)
    assert numbers


async def test_both_responses_say_the_same(client: httpx.AsyncClient) -> None:
    plain, parted = await chat(client, QUESTION), await structured(client, QUESTION)
    answer, _, listing = plain["response"].partition("\n\nSources:\n")
    assert parted["answer"].strip() == answer.strip()
    urls = {int(line[1]): line[2] for line in map(LISTED.fullmatch, listing.strip().splitlines()) if line}
    assert {source["source_number"]: source["url"] for source in parted["sources"]} == urls


@pytest.mark.parametrize("message", [QUESTION, "What is physical AI?", "How many hours does the battery last?"])
async def test_confidence_follows_the_scores(client: httpx.AsyncClient, message: str) -> None:
    found = await structured(client, message)
    scores = [source["score"] for source in found["sources"]]
    assert found["confidence"] != "High" or any(score > 0.5 for score in scores)
    assert found["confidence"] != "Low" or any(score < 0.8 for score in scores) or not scores


async def test_off_topic_triggers_the_guardrail(client: httpx.AsyncClient) -> None:
    found = await chat(client, OUT_OF_SCOPE)
    assert found["status"] == "guardrail_triggered"
    assert not CITED.search(found["response"])


async def test_off_topic_has_no_sources(client: httpx.AsyncClient) -> None:
    found = await structured(client, OUT_OF_SCOPE)
    assert (found["sources"], found["confidence"]) == ([], "Low")


@pytest.mark.parametrize(("message", "context"), CONTEXTS, ids=lambda text: text[:40])
async def test_a_context_is_explained(client: httpx.AsyncClient, message: str, context: str) -> None:
    found = await chat(client, message, context_text=context)
    assert found["status"] == "success"
    assert BASE not in found["response"]


@pytest.mark.parametrize(("message", "context"), CONTEXTS, ids=lambda text: text[:40])
async def test_a_context_needs_no_retrieval(client: httpx.AsyncClient, message: str, context: str) -> None:
    found = await structured(client, message, context_text=context)
    assert (found["retrieval_mode"], found["sources"]) == ("context_constrained", [])


async def test_nothing_of_the_book_leaks_into_a_context(client: httpx.AsyncClient) -> None:
    for found in (
        await chat(client, QUESTION, context_text=SELECTION),
        await structured(client, QUESTION, context_text=SELECTION),
    ):
        assert "gravitational" not in json.dumps(found)
        assert BASE not in json.dumps(found)


# Limits.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("message", ["x", "🤖" * 2000, f"{QUESTION} " * 64], ids=len)
async def test_a_message_may_have_2000_characters(client: httpx.AsyncClient, path: str, message: str) -> None:
    await ask(client, path, BODY | {"message": message})


@pytest.mark.parametrize("path", PATHS)
async def test_a_context_may_have_10000_characters(client: httpx.AsyncClient, path: str) -> None:
    context = (f"{SELECTION} é " * 30)[:10_000]
    await ask(client, path, {"message": ABOUT_SELECTION, "session_id": SESSION, "context_text": context})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", SESSION_IDS, ids=lambda name: name[:20])
async def test_a_session_id_may_be_any_name(client: httpx.AsyncClient, path: str, name: str) -> None:
    found = await ask(client, path, BODY | {"session_id": name})
    assert found.get("session_id", name) == name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", RIGHT_TYPES)
async def test_json_may_be_called_by_its_full_name(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert (await post(client, path, BODY, content_type)).status_code == 200


async def test_a_body_of_a_megabyte_is_read(client: httpx.AsyncClient) -> None:
    assert (await post(client, CHAT, json.dumps(BODY).encode().ljust(LARGEST))).status_code == 200


# What is refused.


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
async def test_an_invalid_request_names_its_session(client: httpx.AsyncClient, path: str, more: Body) -> None:
    status, _, session = refused(await post(client, path, BODY | more))
    assert (status, session) == (400, SESSION)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [*NO_SESSION_IDS, None, 5, True, []], ids=lambda name: repr(name)[:20])
async def test_an_invalid_session_id_is_refused(client: httpx.AsyncClient, path: str, name: object) -> None:
    status, code, session = refused(await post(client, path, BODY | {"session_id": name}))
    assert (status, session) == (400, None)
    assert code in {"INVALID_SESSION_ID", "VALIDATION_ERROR"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "session"),
    [({}, None), ({"message": QUESTION}, None), ({"session_id": SESSION}, SESSION)],
    ids=["both missing", "no session", "no message"],
)
async def test_both_fields_are_required(client: httpx.AsyncClient, path: str, body: Body, session: str | None) -> None:
    status, _, named = refused(await post(client, path, body))
    assert (status, named) == (400, session)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_body_is_refused(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    status, _, session = refused(await post(client, path, content))
    assert status == 400
    assert session in {None, SESSION}


@pytest.mark.parametrize("value", NO_TEXT, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", ["message", "session_id", "context_text"])
async def test_nothing_is_taken_for_text(client: httpx.AsyncClient, field: str, value: str) -> None:
    assert refused(await post(client, CHAT, given(BODY, field, value)))[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", NO_BOOLEAN)
async def test_nothing_is_taken_for_a_boolean(client: httpx.AsyncClient, path: str, value: str) -> None:
    assert refused(await post(client, path, given(BODY, "stream", value)))[0] == 400


@pytest.mark.parametrize("message", [" ", "\ud800", "a\0b"], ids=["blank", "half a character", "NUL"])
async def test_odd_text_is_answered_or_refused(client: httpx.AsyncClient, message: str) -> None:
    response = await post(client, CHAT, BODY | {"message": message})
    assert response.status_code == 200 or refused(response)[0] == 400


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content_type", WRONG_TYPES)
async def test_another_content_type_is_415(client: httpx.AsyncClient, path: str, content_type: str) -> None:
    assert refused(await post(client, path, BODY, content_type))[:2] == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("send", [post, post_in_pieces])
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_over_a_megabyte_is_413(client: httpx.AsyncClient, path: str, send: Any) -> None:
    content = json.dumps(BODY).encode().ljust(TOO_LARGE)
    assert refused(await send(client, path, content))[:2] == (413, "PAYLOAD_TOO_LARGE")


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
async def test_a_wrong_method_is_405(client: httpx.AsyncClient, method: str, path: str, allowed: list[str]) -> None:
    response = await client.request(method, path)
    assert refused(response)[:2] == (405, "METHOD_NOT_ALLOWED")
    assert all(name in response.headers["allow"] for name in allowed)


@pytest.mark.parametrize("path", PATHS)
async def test_details_are_for_developers(dev: httpx.AsyncClient, path: str) -> None:
    response = await dev.post(path, json=BODY | {"message": ""})
    assert response.status_code == 400
    assert response.json()["error"]["details"]
    assert isinstance(response.json()["error"]["details"], str)


@pytest.mark.parametrize("path", PATHS)
async def test_a_server_with_no_book_is_503(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.post(path, json=BODY)
    assert refused(response)[0] == 503
    assert "secret-place" not in response.text


# Streams.


@pytest.mark.parametrize(("path", "field"), [(CHAT, "response"), (STRUCTURED, "answer")])
@pytest.mark.parametrize(
    "body",
    [{"message": QUESTION}, {"message": OUT_OF_SCOPE}, {"message": ABOUT_SELECTION, "context_text": SELECTION}],
    ids=str,
)
async def test_a_stream_says_the_same(client: httpx.AsyncClient, path: str, field: str, body: Body) -> None:
    whole = await ask(client, path, body | {"session_id": fresh(), "stream": False})
    streamed = await stream(client, path, body | {"session_id": fresh(), "stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole[field]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole.get("sources", streamed.sources["sources"])
    assert isinstance(streamed.sources["metadata"], dict)
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])
    for source in streamed.sources["sources"]:
        is_citation(source)


# Sessions.


async def session(client: httpx.AsyncClient, name: str) -> Body:
    """A session, which has this door's shape."""
    response = await client.get(f"/agent/session/{name}")
    assert response.status_code == 200, response.text
    assert is_uuid4(response.headers["x-request-id"])
    found: Body = response.json()
    assert set(found) == {"session_id", "created_at", "last_active", "messages"}
    assert found["session_id"] == name
    assert datetime.fromisoformat(found["created_at"]) <= datetime.fromisoformat(found["last_active"])
    for message in found["messages"]:
        assert set(message) == {"role", "content", "timestamp", "tool_call_id"}
        assert message["role"] in {"user", "assistant", "system", "tool"}
        assert datetime.fromisoformat(message["timestamp"]).utcoffset() == timedelta(0)
    return found


def said(found: Body, role: str) -> list[str]:
    return [message["content"] for message in found["messages"] if message["role"] == role]


async def test_a_session_holds_what_was_said_in_order(client: httpx.AsyncClient) -> None:
    name = fresh()
    await chat(client, QUESTION, session_id=name)
    await structured(client, "What is inverse kinematics?", session_id=name)
    found = await session(client, name)
    assert said(found, "user") == [QUESTION, "What is inverse kinematics?"]
    assert FACT in said(found, "assistant")[0]
    roles = [m["role"] for m in found["messages"] if m["role"] in {"user", "assistant"}]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert {m["tool_call_id"] for m in found["messages"] if m["role"] != "tool"} == {None}


async def test_what_was_streamed_is_in_the_session(client: httpx.AsyncClient) -> None:
    name = fresh()
    await stream(client, CHAT, {"message": QUESTION, "session_id": name, "stream": True})
    assert said(await session(client, name), "user") == [QUESTION]


async def test_a_deleted_session_is_gone_and_may_begin_anew(client: httpx.AsyncClient) -> None:
    name = fresh()
    await chat(client, QUESTION, session_id=name)
    deleted = await client.delete(f"/agent/session/{name}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert is_uuid4(deleted.headers["x-request-id"])
    assert refused(await client.get(f"/agent/session/{name}")) == (404, "SESSION_NOT_FOUND", name)
    await chat(client, "What is physical AI?", session_id=name)
    assert said(await session(client, name), "user") == ["What is physical AI?"]


async def test_a_session_that_nobody_made_is_404(client: httpx.AsyncClient) -> None:
    name = fresh()
    assert refused(await client.get(f"/agent/session/{name}")) == (404, "SESSION_NOT_FOUND", name)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["user@email.com", "a b", "a.b", "é", "x" * 201], ids=lambda name: name[:20])
async def test_a_path_with_an_invalid_id_is_refused(client: httpx.AsyncClient, method: str, name: str) -> None:
    status, _, named = refused(await client.request(method, f"/agent/session/{quote(name)}"))
    assert (status, named) == (400, None)


# With a language model.


async def test_a_language_model_writes_the_response(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await chat(drafted, QUESTION)
    assert found["status"] == "success"
    answer, _, listing = found["response"].partition("\n\nSources:\n")
    assert FACT in answer
    assert set(CITED.findall(answer)) == set(CITED.findall(listing)) != set()


@pytest.mark.parametrize(("path", "field"), [(CHAT, "response"), (STRUCTURED, "answer")])
async def test_a_stream_of_a_language_model_says_the_same(
    drafted: httpx.AsyncClient, model: LlmServer, path: str, field: str
) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    whole = await ask(drafted, path, {"message": QUESTION, "session_id": fresh()})
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    streamed = await stream(drafted, path, {"message": QUESTION, "session_id": fresh(), "stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.text == whole[field]


async def test_what_a_language_model_makes_up_is_not_shown(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1] {FALSEHOOD} [Source 1]"), says("NOT FOUND"))
    found = await chat(drafted, QUESTION)
    assert FACT in found["response"]
    assert "baker" not in found["response"]


async def test_a_language_model_that_fails_leaves_the_quotes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await chat(drafted, QUESTION)
    assert found["status"] == "success"
    assert FACT in found["response"]
    assert "\n\nSources:\n" in found["response"]


async def test_a_structured_response_needs_no_language_model(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await structured(drafted, QUESTION)
    assert FACT in found["answer"]
    assert found["sources"]


async def test_off_topic_is_refused_whoever_writes(drafted: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await chat(drafted, OUT_OF_SCOPE)
    assert found["status"] == "guardrail_triggered"
    assert "Lisbon won" not in found["response"]
