"""Clients of the OpenAI-compatible door, with checks of the shape of completions and errors."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from app_server import running
from doors import (
    QUESTION,
    Body,
    is_uuid4,
    leaks_nothing,
)
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.app import create_app
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from llm_server import LONG_COOLDOWN_SECONDS, LlmServer

PATH = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": QUESTION}]
BODY: Body = {"model": "glossator", "messages": MESSAGES}
REFUSAL = "The book does not answer this question."
NOT_IN_SELECTION = "This is not found in your selection."
ACCEPTED_HERE = ("an unknown key", "a key in capitals")
"""Rejected by the other doors but not by this one: OpenAI adds new parameters all the time."""
INTERNAL_DETAIL = "something secret in /etc/place"
MARK = re.compile(r"\[\d+\]")


@contextmanager
def openai_server(folder: Path, **settings: Any) -> Iterator[str]:
    """The address of a server on a port of its own."""
    loaded = load_settings(data_dir=folder, **settings)
    engine = wire(loaded, RetryPolicy(stall_timeout_seconds=600.0), LONG_COOLDOWN_SECONDS)
    with running(create_app(loaded, engine)) as address:
        yield address


def openai_client(address: str, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    """A server without a language model."""
    with openai_server(data) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai_client(address) as opened:
        yield opened


@pytest.fixture
async def async_client(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    """The asynchronous client."""
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as opened:
        yield opened


@pytest.fixture
def llm_client(data: Path, model: LlmServer) -> Iterator[openai.OpenAI]:
    """A client of a server whose answers the scripted language model writes."""
    with (
        openai_server(
            data, llm=f"{model.url}#scripted", verify_models=False, cache_answers=0, answer_seconds=600
        ) as found,
        openai_client(found) as opened,
    ):
        yield opened


@pytest.fixture
def keyed_server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server with API keys, and a key with the scope read."""
    key = KeyStore(tmp_path / KEYS_FILE).create("reader", [Scope.READ])
    with openai_server(tmp_path) as found:
        yield found, key


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Body:
    return {"role": "assistant", "content": content}


def ask(client: openai.OpenAI, *messages: Any, **more: Any) -> ChatCompletion:
    """A completion, checked against OpenAI's shape; a string is a message of the user."""
    asked = [user(message) if isinstance(message, str) else message for message in messages]
    found: ChatCompletion = client.chat.completions.create(model="glossator", messages=asked, **more)
    assert found.id.startswith("chatcmpl-")
    assert (found.object, len(found.choices)) == ("chat.completion", 1)
    assert (found.choices[0].index, found.choices[0].finish_reason) == (0, "stop")
    assert found.choices[0].message.role == "assistant"
    assert text_of(found)
    assert found.usage is not None
    assert found.usage.prompt_tokens > 0
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens
    return found


def text_of(found: ChatCompletion) -> str:
    return found.choices[0].message.content or ""


def citations_of(found: ChatCompletion) -> list[Body]:
    """The URL citations of a completion."""
    return [note.url_citation.model_dump() for note in found.choices[0].message.annotations or []]


def ask_streamed(client: openai.OpenAI, *messages: Any, **more: Any) -> list[ChatCompletionChunk]:
    asked = [user(message) if isinstance(message, str) else message for message in messages]
    return list(client.chat.completions.create(model="glossator", messages=asked, stream=True, **more))


def streamed_text(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def streamed_citations(chunks: list[ChatCompletionChunk]) -> list[Body]:
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    return [note["url_citation"] for delta in deltas for note in getattr(delta, "annotations", None) or []]


def page_words(page: str) -> str:
    """The text of an HTML page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def check_citations(text: str, notes: list[Body], address: str) -> None:
    """Every mark has one citation at its position, which opens the page at the quote before it."""
    marks = [(mark.start(), mark.end()) for mark in MARK.finditer(text)]
    assert [(note["start_index"], note["end_index"]) for note in notes] == marks
    for note in notes:
        url = urlsplit(note["url"])
        page = httpx.get(address + url.path)
        assert page.status_code == 200
        anchor, _, fragment = url.fragment.partition(":~:text=")
        assert f'id="{anchor}"' in page.text
        first = unquote(fragment.split(",")[0])
        assert first in page_words(page.text)
        assert first in text[: note["start_index"]]
        assert note["title"]


def check_error(error: openai.APIStatusError, status: int, kind: str, code: str) -> None:
    """The error has OpenAI's shape and leaks no internals."""
    assert error.status_code == status
    whole = error.response.json()
    assert set(whole) == {"error"}
    assert set(whole["error"]) == {"message", "type", "param", "code"}
    assert (error.type, error.code, error.param) == (kind, code, None)
    assert leaks_nothing(whole["error"]["message"])
    assert INTERNAL_DETAIL not in error.response.text
    assert is_uuid4(error.request_id)
