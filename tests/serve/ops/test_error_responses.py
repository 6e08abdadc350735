"""Errors: their status and code, the shape of each door, and no internals for clients."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from httpx_sse import aconnect_sse
from pydantic import BaseModel, Field, ValidationError

from doors import (
    QUESTION,
    Body,
    is_uuid4,
    leaks_nothing,
)
from glossator.core import errors
from glossator.core.answers import Delta
from glossator.core.errors import GlossatorError
from glossator.embed.local import LocalEmbedder
from glossator.serve.problems import STATUSES, problem_from, validation_problem
from operations import (
    SECRET_ERROR,
    fail,
    open_server,
)

pytestmark = pytest.mark.slow


def subclasses(kind: type[GlossatorError]) -> Iterator[type[GlossatorError]]:
    """An error class and all its subclasses in the tree."""
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from subclasses(each)


ERROR_CLASSES = list(dict.fromkeys(subclasses(GlossatorError)))
EXPECTED_STATUS = {
    "GlossatorError": 500,
    "SettingsError": 500,
    "BadInput": 400,
    "SourceError": 400,
    "FetchRefused": 400,
    "SourceUnreachable": 400,
    "QuestionError": 400,
    "UnknownVersion": 400,
    "InvalidSessionId": 400,
    "AddressUnavailable": 500,
    "Unauthorized": 401,
    "Forbidden": 403,
    "ReceiptNotFound": 404,
    "SessionNotFound": 404,
    "BookNotFound": 404,
    "IdempotencyKeyReused": 409,
    "IngestRunning": 409,
    "ConversationChanged": 409,
    "ConversationBusy": 429,
}
"""All others are 503: a dependency is unavailable."""


@pytest.mark.parametrize("kind", ERROR_CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_code(kind: type[GlossatorError]) -> None:
    problem = problem_from(kind(SECRET_ERROR, "Do this."))
    assert problem.status == EXPECTED_STATUS.get(kind.__name__, 503)
    assert problem.status in STATUSES
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", problem.code)
    waits = problem.status in (429, 503) or problem.code == "INGEST_RUNNING"
    assert (problem.retry_after is not None) == waits
    if problem.status >= 500:
        assert SECRET_ERROR not in problem.message
        assert problem.message


class Fields(BaseModel):
    """Fields of the kinds that requests have."""

    name: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    count: int = 1
    items: Annotated[list[int], Field(min_length=1)] = [1]
    content: Annotated[str, Field(min_length=1)] | list[int] = "a"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "a b"}, "name must match ^[a-z]+$."),
        ({"name": "\ud800"}, "name is not valid Unicode text."),
        ({"count": "9" * 5000}, "count is too large."),
        ({"items": []}, "items has too few items (minimum: 1)."),
        ({"content": ""}, "content is too short (minimum length: 1)."),
    ],
    ids=lambda value: str(value)[:30],
)
def test_message_about_a_field_is_in_plain_words(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Fields.model_validate(fields)
    found = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    assert validation_problem(found, {}).message == message


def test_running_out_of_memory_is_reported_as_overload() -> None:
    problem = problem_from(MemoryError(SECRET_ERROR))
    assert (problem.status, problem.code) == (503, "SERVICE_UNAVAILABLE")
    assert problem.retry_after
    assert SECRET_ERROR not in problem.message


def test_every_error_class_is_in_the_documented_tree() -> None:
    drawn = re.findall(r"^[│├└─ ]*(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert {kind.__name__ for kind in ERROR_CLASSES} <= set(drawn)


def flat_error(error: Body) -> tuple[str, str, object]:
    return error["error"], error["message"], error["details"]


def nested_error(error: Body) -> tuple[str, str, object]:
    return error["error"]["code"], error["error"]["message"], error["error"].get("details")


DOORS: dict[str, tuple[str, Body, Callable[[Body], tuple[str, str, object]]]] = {
    "chat": ("/chat", {"query": QUESTION}, lambda e: (e["error_code"], e["message"], e["details"])),
    "chat stream": ("/chat/stream", {"query": QUESTION}, lambda e: (e["error_code"], e["message"], e["details"])),
    "agent": ("/agent/chat", {"message": QUESTION, "session_id": "fault"}, nested_error),
    "grounded": ("/agent/query", {"query_text": QUESTION}, nested_error),
    "ask": ("/ask", {"question": QUESTION}, flat_error),
    "query": ("/query", {"query": QUESTION}, lambda e: (e["error"], e["message"], e["detail"])),
    "openai": ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}, nested_error),
    "search": ("/search", {"query": QUESTION}, flat_error),
}


@pytest.mark.parametrize("dev_mode", [False, True], ids=["for all", "for developers"])
@pytest.mark.parametrize("door", DOORS)
async def test_unexpected_error_is_500_in_the_shape_of_the_door(
    data: Path, monkeypatch: pytest.MonkeyPatch, door: str, dev_mode: bool
) -> None:
    path, body, read = DOORS[door]
    monkeypatch.setattr(LocalEmbedder, "embed_query", fail)
    async with open_server(data, dev_mode=dev_mode) as (client, _):
        response = await client.post(path, json=body)
    code, message, details = read(response.json())
    assert (response.status_code, code.upper(), message) == (500, "INTERNAL_ERROR", "Something went wrong.")
    assert SECRET_ERROR not in response.text
    assert leaks_nothing(response.text)
    assert (details is not None) == (dev_mode and door != "openai")
    assert is_uuid4(response.headers["x-request-id"])


@pytest.mark.parametrize("door", DOORS)
async def test_details_are_shown_in_dev_mode_only(tmp_path: Path, door: str) -> None:
    path, body, read = DOORS[door]
    for dev_mode in (False, True):
        async with open_server(tmp_path / "secret-place", dev_mode=dev_mode) as (client, _):
            absent, bad = await client.post(path, json=body), await client.post(path, json={})
        assert (absent.status_code, bad.status_code) == (503, 400)
        shown = dev_mode and door != "openai"
        assert (read(absent.json())[2] is not None) == shown
        assert (read(bad.json())[2] is not None) == shown
        assert ("secret-place" in absent.text) == shown


async def test_unexpected_error_on_a_page_is_a_page(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEmbedder, "embed_query", fail)
    response = await client.get("/", params={"q": QUESTION})
    assert (response.status_code, response.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Something went wrong" in response.text
    assert SECRET_ERROR not in response.text


STREAMS = ("chat stream", "agent", "grounded", "ask", "query")


@pytest.mark.parametrize("door", STREAMS)
async def test_failing_stream_ends_with_an_error_event_without_details(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        yield Delta("Some words.")
        raise RuntimeError(SECRET_ERROR)

    path, body, read = DOORS[door]
    monkeypatch.setattr("glossator.pipeline.answering.answer_question", answering)
    streamed = body if door == "chat stream" else body | {"stream": True}
    async with aconnect_sse(client, "POST", path, json=streamed) as source:
        *_, last = [(event.event, event.data) async for event in source.aiter_sse()]
    code, message, details = read(json.loads(last[1]))
    assert (last[0], code.upper()) == ("error", "INTERNAL_ERROR")
    assert (message, details) == ("Something went wrong.", None)
    assert SECRET_ERROR not in last[1]


@pytest.mark.parametrize("door", [door for door in DOORS if door != "search"])
async def test_unknown_paths_and_methods_have_the_shape_of_the_door(client: httpx.AsyncClient, door: str) -> None:
    path, _, read = DOORS[door]
    for method, where, found in (
        ("PUT", path, (405, "METHOD_NOT_ALLOWED")),
        ("POST", f"{path}/nowhere/at/all", (404, "NOT_FOUND")),
        ("GET", f"{path}/nowhere/at/all", (404, "NOT_FOUND")),
    ):
        response = await client.request(method, where, json={})
        assert response.headers["content-type"] == "application/json", (method, where)
        assert (response.status_code, read(response.json())[0].upper()) == found
