"""A chain of language models that does not give up at the first failure, and knows when to."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai
from agents import Model, ModelResponse, OpenAIChatCompletionsModel, Usage

from glossator.answer.llm.breaker import Breaker
from glossator.answer.llm.providers import Provider
from glossator.core.errors import LanguageModelDown

ATTEMPTS = 3
PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""Seconds before the second try, doubled before the third and jittered; a provider that asks for more is given up."""
PATIENCE = 3.0
"""Seconds of silence after which one who stops waiting counts as a failure of the provider."""
STALL = 10.0
"""Seconds without a word after which a stream is taken for dead."""
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_OUR_FAULT = frozenset({400, 413, 422})
_log = logging.getLogger(__name__)


@dataclass
class Link:
    """One provider of a chain."""

    label: str
    model: Model
    breaker: Breaker = field(default_factory=Breaker)
    calls: int = 0
    failures: int = 0


def link_to(provider: Provider, timeout: float) -> Link:
    """A provider, reached through the OpenAI client, which does no retries of its own."""
    client = _client(provider, httpx2.Timeout(timeout, connect=5.0))
    client.chat.completions = _Completions(client)  # type: ignore[misc]
    return Link(provider.label, OpenAIChatCompletionsModel(provider.model, client))


def _client(provider: Provider, timeout: httpx2.Timeout) -> openai.AsyncOpenAI:
    """What the environment says of OpenAI's own accounts and gateways goes to nobody else."""
    client = openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.key, max_retries=0, timeout=timeout)
    if provider.name != "openai":
        client.organization = client.project = None
        client._custom_headers = {}
    return client


class _Completions(openai.resources.chat.AsyncCompletions):
    """Sends messages and tools as they are: the client would look through every word of them for files to encode."""

    async def create(self, **given: Any) -> Any:
        """One call of the chat API."""
        words = ("messages", "tools")
        plain = {name: given.pop(name) for name in words if not isinstance(given.get(name), openai.Omit)}
        given["extra_body"] = (given.get("extra_body") or {}) | plain
        return await super().create(messages=[], **given)


_REMEDIES = {
    400: "it refuses the request: check the model's name in GLOSSATOR_LLM",
    401: "it refuses the key: check {key}",
    403: "it refuses the key: check {key}",
    404: "there is no such model or address: check GLOSSATOR_LLM",
    429: "it is asked too often, or the account is empty: look there",
}


_NO_PARAMETERS: dict[str, object] = {"type": "object", "properties": {}}


async def ask_once(provider: Provider) -> str:
    """What is wrong with a provider, and how to mend it; nothing where it answers."""
    client = _client(provider, httpx2.Timeout(20.0))
    try:
        said = await client.chat.completions.create(
            model=provider.model,
            messages=[{"role": "user", "content": "Say yes."}],
            max_tokens=50,
            temperature=0.1,
            tools=[{"type": "function", "function": {"name": "search_book_content", "parameters": _NO_PARAMETERS}}],
        )
        return "" if getattr(said, "choices", None) else "what answers is no language model: check the address"
    except openai.APIStatusError as error:
        return _REMEDIES.get(error.status_code, f"it fails with HTTP {error.status_code}: try again later")
    except openai.APITimeoutError:
        return "it takes too long: try again later, or another model"
    except openai.APIConnectionError:
        return "it cannot be reached: check the address and that the server runs"
    except Exception:
        return "what answers is no language model: check the address"
    finally:
        await client.close()


class Chain(Model):
    """Asks the first provider that works; once words have come from one, no other is asked."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = tuple(links)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The same answer, whole."""
        async for event in self.stream_response(*args, **kwargs):
            if event.type == "response.completed":
                said = event.response
        spent = said.usage
        usage = Usage(requests=1)
        if spent:
            usage = replace(
                usage,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
                total_tokens=spent.total_tokens,
            )
        return ModelResponse(said.output, usage, said.id)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The events of the first answer that begins."""
        for link in self.links:
            begun = False
            try:
                async for event in _persistently(link, args, kwargs, last=link is self.links[-1]):
                    begun = True
                    yield event
                return
            except LanguageModelDown as error:
                _log.log(logging.WARNING if error.__cause__ else logging.DEBUG, "%s", error.message)
                if begun:
                    raise
        raise LanguageModelDown("No language model answers now.", "`glossator doctor --live` tells why.")

    async def close(self) -> None:
        """Let go of all connections."""
        for link in self.links:
            client = getattr(link.model, "_client", None)
            if isinstance(client, openai.AsyncOpenAI):
                with suppress(RuntimeError):  # a loop that has ended took its connections with it
                    await client.close()


async def _persistently(link: Link, args: Any, kwargs: Any, *, last: bool) -> AsyncIterator[Any]:
    """Up to three tries; none after the first word, for what was said cannot be unsaid.

    One that was silent for too long is not tried again while another waits: there is only so much time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        if not link.breaker.allows():
            raise LanguageModelDown(f"{link.label} failed too often and is left alone for a while.")
        begun, started = False, time.monotonic()
        link.calls += 1
        try:
            async for event in _once(link.model, args, kwargs):
                begun = True
                yield event
            link.breaker.succeeded()
            return
        except (asyncio.CancelledError, GeneratorExit):
            silent = not begun and time.monotonic() - started > PATIENCE
            link.breaker.failed() if silent else link.breaker.gave_up()
            raise
        except Exception as error:
            over = attempt == ATTEMPTS or (isinstance(error, TimeoutError) and not last)
            pause = _after(link, error, attempt, final=begun or over)
        await asyncio.sleep(pause)


def _after(link: Link, error: Exception, attempt: int, *, final: bool) -> float:
    """How long to wait before the next try, or that there is none."""
    link.failures += 1
    if getattr(error, "status_code", None) in _OUR_FAULT:
        link.breaker.gave_up()
    else:
        link.breaker.failed()
    pause = _pause(error, attempt)
    if final or not _is_passing(error) or pause is None:
        raise LanguageModelDown(f"{link.label} failed: {_why(error)}.") from error
    return pause


async def _once(model: Model, args: Any, kwargs: Any) -> AsyncIterator[Any]:
    """The events of one call, from the first that says something; every tool call gets an id that no other has."""
    waiting: list[Any] = []
    renamed: dict[int, str] = {}
    events = aiter(model.stream_response(*args, **kwargs))
    said = False
    try:
        while True:
            try:
                async with asyncio.timeout(STALL):
                    event = await anext(events)
            except StopAsyncIteration:
                break
            event = _with_own_ids(event, renamed)
            waiting.append(event)
            said = said or _says_something(event)
            if said:
                for each in waiting:
                    yield each
                waiting = []
    finally:
        with suppress(Exception):
            await events.aclose()  # type: ignore[attr-defined]
    if not said:
        raise LanguageModelDown("it said nothing")


def _says_something(event: Any) -> bool:
    """Words or a tool call; an empty answer is a failure that may pass."""
    if event.type == "response.completed":
        return any(item.type == "function_call" for item in event.response.output)
    if event.type == "response.output_text.delta":
        return bool(event.delta.strip())
    return bool(event.type.startswith("response.function_call"))


def _with_own_ids(event: Any, renamed: dict[int, str]) -> Any:
    """Some providers give empty or repeated ids to tool calls."""
    if (item := getattr(event, "item", None)) is not None and getattr(item, "type", "") == "function_call":
        name = renamed.setdefault(event.output_index, f"call_{uuid.uuid4().hex}")
        return event.model_copy(update={"item": item.model_copy(update={"call_id": name})})
    if event.type != "response.completed":
        return event
    output = [
        item.model_copy(update={"call_id": renamed.setdefault(at, f"call_{uuid.uuid4().hex}")})
        if item.type == "function_call"
        else item
        for at, item in enumerate(event.response.output)
    ]
    return event.model_copy(update={"response": event.response.model_copy(update={"output": output})})


def _is_passing(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if status is not None:
        return status in _PASSING
    return isinstance(error, openai.APIConnectionError | httpx2.TransportError | TimeoutError | LanguageModelDown)


def _pause(error: Exception, attempt: int) -> float | None:
    """What the provider asks for, within reason; else twice as long each time, jittered."""
    response = getattr(error, "response", None)
    asked = response.headers.get("retry-after") if response is not None else None
    if asked is not None:
        try:
            return float(asked) if 0 <= float(asked) <= LONGEST_PAUSE else None
        except ValueError:
            return None
    jitter = random.uniform(0.5, 1.5)  # noqa: S311 - nobody gains by guessing it
    return float(PAUSE * 2 ** (attempt - 1) * jitter)


def _why(error: Exception) -> str:
    """What happened, in words that hold no key and no text of anybody's."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"HTTP {status}"
    if isinstance(error, LanguageModelDown):
        return error.message
    if isinstance(error, TimeoutError | openai.APITimeoutError | httpx2.TimeoutException):
        return "it took too long"
    return "it cannot be reached" if isinstance(error, openai.APIConnectionError) else type(error).__name__
