"""The OpenAI-compatible door, used by the real client: rejected requests and failures."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import openai
import pytest

from door_openai import (
    ACCEPTED_HERE,
    BODY,
    INTERNAL_DETAIL,
    PATH,
    ask,
    assistant,
    check_error,
    openai_client,
    openai_server,
    streamed_text,
    text_of,
    user,
)
from doors import (
    FACT,
    JSON_CONTENT_TYPES,
    NOT_BOOLEANS,
    NOT_TEXT,
    OTHER_CONTENT_TYPES,
    QUESTION,
    TOO_LARGE_BODY,
    Body,
    leaks_nothing,
    malformed,
    with_raw_value,
)
from glossator.core.answers import Delta
from glossator.serve.doors.openai import MAX_MESSAGES
from llm_server import LlmServer, stalls

pytestmark = pytest.mark.slow

INVALID_MESSAGES: dict[str, Body] = {
    "no messages": {"messages": []},
    "no question": {"messages": [user("")]},
    "white space": {"messages": [user(" \n ")]},
    "no content": {"messages": [user(None)]},
    "no parts": {"messages": [user([])]},
    "a picture": {"messages": [user([{"type": "image_url", "image_url": {"url": "https://book.example/x.png"}}])]},
    "a file": {"messages": [user([{"type": "file", "file": {"file_id": "x"}}])]},
    "a part of nothing": {"messages": [user([{}])]},
    "only a system": {"messages": [{"role": "system", "content": QUESTION}]},
    "the assistant last": {"messages": [user(QUESTION), assistant(FACT)]},
    "an unknown role": {"messages": [{"role": "narrator", "content": QUESTION}]},
    "no role": {"messages": [{"content": QUESTION}]},
    "a message that is a text": {"messages": [QUESTION]},
    "messages that are a text": {"messages": QUESTION},
    "a question that is too long": {"messages": [user("x" * 32_001)]},
    "parts that are too long": {"messages": [user([{"type": "text", "text": "x" * 20_000}] * 2)]},
    "too many parts": {"messages": [user([{"type": "text", "text": "x"}] * 51)]},
    "too many messages": {"messages": [user(QUESTION)] * (MAX_MESSAGES + 1)},
    "a NUL": {"messages": [user("What is\0 this?")]},
    "a selection that is too long": {"extra_body": {"selected_text": "x" * 64_001}},
    "a model whose name is too long": {"model": "x" * 201},
}


@pytest.mark.parametrize("bad", INVALID_MESSAGES.values(), ids=INVALID_MESSAGES.keys())
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_invalid_messages_are_a_bad_request(client: openai.OpenAI, bad: Body, streamed: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**(BODY | bad | {"stream": streamed}))
    check_error(caught.value, 400, "invalid_request_error", "validation_error")


def test_maximum_number_of_messages_is_accepted(client: openai.OpenAI) -> None:
    turns = [user(QUESTION), assistant(FACT)] * (MAX_MESSAGES // 2 - 1)
    assert FACT in text_of(ask(client, *turns, {"role": "system", "content": "x"}, QUESTION))


def post(address: str, content: bytes, content_type: str = "application/json") -> httpx.Response:
    return httpx.post(address + PATH, content=content, headers={"content-type": content_type}, timeout=60)


def error_of(response: httpx.Response) -> tuple[int, str, str]:
    """The status, type and code of an error in OpenAI's shape."""
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert leaks_nothing(error["message"])
    return response.status_code, error["type"], error["code"]


INVALID = (400, "invalid_request_error", "validation_error")
MALFORMED = {name: body for name, body in malformed(BODY, "messages").items() if name not in ACCEPTED_HERE}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_request_is_rejected(address: str, content: bytes) -> None:
    assert error_of(post(address, content)) == INVALID
    assert FACT in post(address, json.dumps(BODY).encode()).json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("model", value) for value in (*NOT_TEXT, "null")]
    + [("selected_text", value) for value in NOT_TEXT]
    + [("stream", value) for value in NOT_BOOLEANS]
    + [("stream_options", value) for value in ("5", "[]", '"x"')],
)
def test_value_of_another_type_is_rejected(address: str, field: str, value: str) -> None:
    assert error_of(post(address, with_raw_value(BODY, field, value))) == INVALID


def test_lone_surrogate_is_rejected(address: str) -> None:
    for text in (r'{"messages": [{"role": "user", "content": "\ud800"}]}', json.dumps(BODY | {"model": "\ud800"})):
        assert error_of(post(address, text.encode())) == INVALID


@pytest.mark.parametrize("content_type", [*OTHER_CONTENT_TYPES, *JSON_CONTENT_TYPES])
def test_only_json_content_types_are_accepted(address: str, content_type: str) -> None:
    response = post(address, json.dumps(BODY).encode(), content_type)
    if content_type in JSON_CONTENT_TYPES:
        assert response.status_code == 200
    else:
        assert error_of(response) == (415, "invalid_request_error", "unsupported_media_type")


def test_oversized_body_is_rejected(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**BODY, extra_body={"padding": "x" * TOO_LARGE_BODY})
    check_error(caught.value, 413, "invalid_request_error", "payload_too_large")


def test_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-4o")
    check_error(caught.value, 404, "invalid_request_error", "not_found")


UNKNOWN_ROUTES: dict[str, Callable[[openai.OpenAI], object]] = {
    "responses": lambda client: client.responses.create(model="glossator", input=QUESTION),
    "embeddings": lambda client: client.embeddings.create(model="glossator", input=QUESTION),
    "completions": lambda client: client.completions.create(model="glossator", prompt=QUESTION),
    "files": lambda client: client.files.list(),
    "a model with a slash": lambda client: client.get("/models/meta/llama", cast_to=object),
    "nothing": lambda client: client.get("/nothing", cast_to=object),
}


@pytest.mark.parametrize("call", UNKNOWN_ROUTES.values(), ids=UNKNOWN_ROUTES.keys())
def test_unknown_routes_are_not_found_in_the_same_shape(
    client: openai.OpenAI, call: Callable[[openai.OpenAI], object]
) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        call(client)
    check_error(caught.value, 404, "invalid_request_error", "not_found")


def test_unsupported_method_is_rejected_in_the_same_shape(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.models.delete("glossator")
    check_error(caught.value, 405, "invalid_request_error", "method_not_allowed")
    assert "GET" in caught.value.response.headers["allow"]


def test_request_without_an_api_key_is_unauthorized(keyed_server: tuple[str, str]) -> None:
    address, key = keyed_server
    for wrong in ("none", key[:-1] + ("0" if key[-1] != "0" else "1"), "gl_", "a.b.c"):
        with openai_client(address, wrong) as client, pytest.raises(openai.AuthenticationError) as caught:
            client.models.list()
        check_error(caught.value, 401, "authentication_error", "unauthorized")
        assert caught.value.response.headers["www-authenticate"] == "Bearer"
        assert wrong == "none" or wrong not in caught.value.response.text


def test_api_key_allows_what_its_scopes_allow(keyed_server: tuple[str, str]) -> None:
    address, key = keyed_server
    with openai_client(address, key) as client:
        assert [card.id for card in client.models.list()] == ["glossator"]
        with pytest.raises(openai.PermissionDeniedError) as caught:
            client.models.delete("glossator")
    check_error(caught.value, 403, "permission_error", "forbidden")


def test_rate_limit_sends_retry_after(data: Path) -> None:
    with openai_server(data, rate_per_minute=1) as address, openai_client(address) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            for _ in range(20):
                client.models.list()
        check_error(caught.value, 429, "rate_limit_error", "rate_limited")
        assert int(caught.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_server_without_an_index_reports_it(tmp_path: Path, streamed: bool) -> None:
    with openai_server(tmp_path / "secret-place") as address, openai_client(address) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(**BODY, stream=streamed)
        check_error(caught.value, 503, "server_error", "retrieval_error")
        assert "glossator ingest" in caught.value.response.json()["error"]["message"]
        assert int(caught.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_internal_error_leaks_nothing(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch, streamed: bool) -> None:
    monkeypatch.setattr("glossator.pipeline.answering.answer_question", failing_answer())
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(**BODY, stream=streamed)
    check_error(caught.value, 500, "server_error", "internal_error")


def test_failure_mid_stream_is_sent_as_an_error(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glossator.pipeline.answering.answer_question", failing_answer("Some words."))
    received = []
    with pytest.raises(openai.APIError) as caught:
        for chunk in client.chat.completions.create(**BODY, stream=True):
            received.append(chunk)
    assert streamed_text(received) == "Some words."
    assert all(choice.finish_reason is None for chunk in received for choice in chunk.choices)
    assert (caught.value.type, caught.value.code) == ("server_error", "internal_error")
    assert INTERNAL_DETAIL not in str(caught.value)


def failing_answer(*words: str) -> Callable[..., AsyncIterator[str]]:
    """An answer that fails after some deltas."""

    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        for word in words:
            yield Delta(word)
        raise RuntimeError(INTERNAL_DETAIL)

    return answering


def test_client_disconnect_cancels_the_draft(llm_client: openai.OpenAI, model: LlmServer) -> None:
    model.script(stalls(f"{FACT} [1] And "))
    stream = llm_client.chat.completions.create(**BODY, stream=True)
    assert any(FACT in (chunk.choices[0].delta.content or "") for chunk in stream)
    assert model.disconnects == 0
    stream.close()
    wait_until(lambda: model.disconnects == 1)


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
