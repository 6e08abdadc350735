"""A chain of language models: calls are retried, and fall back to the next model while no output has been sent."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai
from agents import Model, ModelResponse, Usage

from glossator.answer.llm.policy import DEFAULT_RETRY_POLICY, RetryPolicy
from glossator.core.errors import LanguageModelUnavailable
from glossator.core.resilience.breaker import CircuitBreaker
from glossator.core.resilience.retry import is_transient_status, parse_retry_after

_ALSO_TRANSIENT = frozenset({409, 425})
_REQUEST_ERRORS = frozenset({400, 413, 422})
"""Statuses that reject one request: they do not count against the provider."""
_log = logging.getLogger(__name__)


@dataclass
class ChainedModel:
    """One model of a chain, with its circuit breaker."""

    label: str
    model: Model
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)


class ModelChain(Model):
    """Calls the first model that works; once a model has begun to answer, no other is called."""

    def __init__(self, models: Sequence[ChainedModel], policy: RetryPolicy = DEFAULT_RETRY_POLICY) -> None:
        self.models = tuple(models)
        self._policy = policy

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The complete response."""
        response: Any = None
        async for event in self.stream_response(*args, **kwargs):
            if event.type == "response.completed":
                response = event.response
        if response is None:
            raise LanguageModelUnavailable("The language model did not complete its response.")
        usage = Usage(requests=1)
        if response.usage:
            usage = replace(
                usage,
                input_tokens=response.usage.input_tokens,
                output_tokens=response.usage.output_tokens,
                total_tokens=response.usage.total_tokens,
            )
        return ModelResponse(response.output, usage, response.id)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The events of the first response that begins."""
        for model in self.models:
            started = False
            try:
                async for event in self._stream_with_retries(model, args, kwargs, last=model is self.models[-1]):
                    started = True
                    yield event
                return
            except LanguageModelUnavailable as error:
                _log.log(logging.WARNING if error.__cause__ else logging.DEBUG, "%s", error.message)
                if started:
                    raise
        raise LanguageModelUnavailable(
            "No language model is available.", "Run `glossator doctor --live` to find out why."
        )

    async def _stream_with_retries(
        self, model: ChainedModel, args: Any, kwargs: Any, *, last: bool
    ) -> AsyncIterator[Any]:
        """The events of one model. Nothing is retried after the first event: it has been sent to the client.

        A model that timed out is not retried while another one is left: the time of an answer is limited.
        """
        attempts = self._policy.backoff.attempts
        for attempt in range(1, attempts + 1):
            if not model.breaker.allow_call():
                raise LanguageModelUnavailable(f"{model.label}: circuit breaker open.")
            started, begin = False, time.monotonic()
            try:
                async for event in _stream_once(model.model, args, kwargs, self._policy.stall_timeout_seconds):
                    started = True
                    yield event
                model.breaker.record_success()
                return
            except (asyncio.CancelledError, GeneratorExit):
                silent = not started and time.monotonic() - begin > self._policy.silence_timeout_seconds
                model.breaker.record_failure() if silent else model.breaker.record_cancelled()
                raise
            except Exception as error:
                final = started or attempt == attempts or (isinstance(error, TimeoutError) and not last)
                delay = self._handle_failure(model, error, attempt, final=final)
            await asyncio.sleep(delay)

    def _handle_failure(self, model: ChainedModel, error: Exception, attempt: int, *, final: bool) -> float:
        """Record a failure; the seconds to wait before the next attempt, or an error if there is none."""
        if getattr(error, "status_code", None) in _REQUEST_ERRORS:
            model.breaker.record_cancelled()
        else:
            model.breaker.record_failure()
        delay = self._delay(error, attempt)
        if final or delay is None or not _is_transient(error):
            raise LanguageModelUnavailable(f"{model.label} failed: {_reason(error)}.") from error
        return delay

    def _delay(self, error: Exception, attempt: int) -> float | None:
        """What Retry-After asks for, else exponential backoff; None if it asks for too much or is malformed."""
        response = getattr(error, "response", None)
        header = response.headers.get("retry-after") if response is not None else None
        if header is None:
            return self._policy.backoff.delay(attempt)
        seconds = parse_retry_after(header)
        return seconds if seconds is not None and seconds <= self._policy.backoff.max_seconds else None

    async def close(self) -> None:
        """Close all connections."""
        for model in self.models:
            client = getattr(model.model, "_client", None)
            if isinstance(client, openai.AsyncOpenAI):
                with suppress(RuntimeError):  # an event loop that has ended took its connections with it
                    await client.close()


async def _stream_once(model: Model, args: Any, kwargs: Any, stall_timeout_seconds: float) -> AsyncIterator[Any]:
    """The events of one call, held back until one carries output; every tool call gets a unique id."""
    held_back: list[Any] = []
    call_ids: dict[int, str] = {}
    events = aiter(model.stream_response(*args, **kwargs))
    has_output = False
    try:
        while True:
            try:
                async with asyncio.timeout(stall_timeout_seconds):
                    event = await anext(events)
            except StopAsyncIteration:
                break
            event = _with_unique_call_ids(event, call_ids)
            held_back.append(event)
            has_output = has_output or _has_output(event)
            if has_output:
                for each in held_back:
                    yield each
                held_back = []
    finally:
        with suppress(Exception):
            await events.aclose()  # type: ignore[attr-defined]
    if not has_output:
        raise LanguageModelUnavailable("empty response")


def _has_output(event: Any) -> bool:
    """Whether an event carries text or a tool call; a response without either is a transient failure."""
    if event.type == "response.completed":
        return any(item.type == "function_call" for item in event.response.output)
    if event.type == "response.output_text.delta":
        return bool(event.delta.strip())
    return bool(event.type.startswith("response.function_call"))


def _with_unique_call_ids(event: Any, call_ids: dict[int, str]) -> Any:
    """Replaces the ids of tool calls: some providers leave them empty or repeat them."""
    if (item := getattr(event, "item", None)) is not None and getattr(item, "type", "") == "function_call":
        call_id = call_ids.setdefault(event.output_index, f"call_{uuid.uuid4().hex}")
        return event.model_copy(update={"item": item.model_copy(update={"call_id": call_id})})
    if event.type != "response.completed":
        return event
    output = [
        item.model_copy(update={"call_id": call_ids.setdefault(index, f"call_{uuid.uuid4().hex}")})
        if item.type == "function_call"
        else item
        for index, item in enumerate(event.response.output)
    ]
    return event.model_copy(update={"response": event.response.model_copy(update={"output": output})})


def _is_transient(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if status is not None:
        return is_transient_status(status, also=_ALSO_TRANSIENT)
    return isinstance(
        error, openai.APIConnectionError | httpx2.TransportError | TimeoutError | LanguageModelUnavailable
    )


def _reason(error: Exception) -> str:
    """What happened, without a key or any text of the request or response."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"HTTP {status}"
    if isinstance(error, LanguageModelUnavailable):
        return error.message
    if isinstance(error, TimeoutError | openai.APITimeoutError | httpx2.TimeoutException):
        return "timed out"
    return "connection failed" if isinstance(error, openai.APIConnectionError) else type(error).__name__
