"""Answering for the doors: whole or streamed, with sources numbered as the text cites them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from glossator import pipeline
from glossator.core.answers import UNAVAILABLE_NOTICE, Answer, Citation, Delta, Mode
from glossator.core.conversations import SessionKey, session_key
from glossator.core.errors import LanguageModelUnavailable
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.text.marks import escape_marks, strip_marks
from glossator.pipeline.answering import AnswerIterator
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.base import SESSION_SCOPE_KEY, Door, with_request
from glossator.serve.doors.streams import StreamFormat, StreamPosition, Streams, stream_response
from glossator.serve.middleware.context import RequestContext, context_of
from glossator.serve.ops.metrics import Metrics


@dataclass(frozen=True, slots=True)
class AnswerService:
    """Answers questions for the doors, and counts them."""

    engine: Engine
    streams: Streams
    metrics: Metrics

    async def answer(self, request: Request, question: Question, *, or_error: bool = False) -> AnswerWithReceipt:
        """A whole answer; with `or_error`, passages with nothing to quote are none."""
        result = await pipeline.answer(self.engine, question)
        if or_error:
            _require_text(Delta.of(result.answer))
        self.metrics.record_answer(result)
        return ServerAddress.of(request).result(result)

    async def stream(
        self,
        request: Request,
        door: Door,
        question: Callable[[str], Question],
        sources: Callable[[AnswerWithReceipt], dict[str, Any]],
        *,
        text: Callable[[Delta], str] = str,
        tail: Callable[[AnswerWithReceipt], str] = lambda result: suggestion_list(result.answer),
        max_characters: int | None = None,
        or_error: bool = False,
    ) -> Response:
        """An answer as server-sent events; `question` receives the id under which the stream can be resumed."""
        context, address = context_of(request), ServerAddress.of(request)
        stream_format = StreamFormat(
            text,
            lambda result: tail(address.result(result)),
            lambda result: sources(address.result(result)),
            lambda error: self._render_error(error, door, context),
            max_characters,
        )
        position = StreamPosition.parse(request.headers.get("last-event-id"))
        caller = context.caller
        identity = (caller.name, caller.user_id, request.url.path, await request.body())
        owner = hashlib.sha256(repr(identity).encode()).hexdigest()

        def start(stream_id: str) -> AnswerIterator:
            pieces = pipeline.stream(self.engine, question(stream_id))
            return self.with_metrics(_or_error(pieces) if or_error else pieces)

        return await stream_response(self.streams, owner, position, start, stream_format)

    async def with_metrics(self, pieces: AnswerIterator) -> AnswerIterator:
        """The same pieces; the answer is counted once, however many clients read it."""
        async with aclosing(pieces) as closing:  # type: ignore[type-var]
            async for piece in closing:
                if isinstance(piece, AnswerWithReceipt):
                    self.metrics.record_answer(piece)
                yield piece

    def _render_error(self, error: Exception, door: Door, context: RequestContext) -> dict[str, Any]:
        problem = door.problem_from(error)
        context.error_code = problem.code
        problem = with_request(problem, context.request_id, dev=self.engine.settings.dev_mode)
        return door.render_error(problem).model_dump(mode="json")


async def _or_error(pieces: AnswerIterator) -> AnswerIterator:
    async with aclosing(pieces) as closing:  # type: ignore[type-var]
        async for piece in closing:
            if isinstance(piece, Delta):
                _require_text(piece)
            yield piece


def _require_text(delta: Delta) -> None:
    """An error if the language model failed and the passages found have nothing to quote instead."""
    if delta.mode is Mode.RETRIEVAL_ONLY and delta.abstained:
        raise LanguageModelUnavailable("The language model failed, and no passage has a sentence to quote instead.")


def session_for(request: Request, name: str | None, idempotency_key: str | None = None) -> SessionKey:
    """The session that a request names, among those of its user; a new one if it names none."""
    key = session_key(name, context_of(request).caller.user_id, idempotency_key)
    if name is not None:
        request.scope[SESSION_SCOPE_KEY] = key.name
    return key


def idempotency_key(request: Request) -> str | None:
    """The key under which a client may safely repeat a request."""
    return request.headers.get("idempotency-key") or None


def with_notice(delta: Delta) -> str:
    """The text; quotes shown because no language model is available begin with a notice that says so."""
    return f"{UNAVAILABLE_NOTICE} {delta}" if delta.mode is Mode.RETRIEVAL_ONLY else delta


def without_marks(delta: Delta) -> str:
    """The text without citation marks, for a response that lists no sources."""
    return strip_marks(with_notice(delta))


def suggestion_list(answer: Answer) -> str:
    """The sections that a refusal suggests, to append to its text; empty if the question is answered."""
    if not answer.suggestions:
        return ""
    lines = (f"- {' › '.join(dict.fromkeys(filter(None, (s.title, s.section))))}: {s.url}" for s in answer.suggestions)
    return "\n\n".join(["", "Sections that may help:\n" + "\n".join(escape_marks(line) for line in lines)])


def milliseconds(context: RequestContext, *stages: str) -> float:
    """The time that the given stages took together, or the whole request if none is given."""
    seconds = sum(context.times.get(name, 0.0) for name in stages) if stages else context.seconds
    return round(1000 * seconds, 3)


def has_low_confidence(result: AnswerWithReceipt) -> bool:
    """Whether the best passage found is only a weak match."""
    return result.low_confidence


def cited_sources(answer: Answer) -> list[Citation]:
    """The passages of the book that an answer cites: `[n]` in its text is the n-th of them."""
    return [] if answer.mode is Mode.SELECTED_TEXT else list(answer.citations)


def passage_texts(result: AnswerWithReceipt) -> dict[str, str]:
    """The text of each passage, by chunk id."""
    return {passage.chunk_id: passage.text for passage in result.passages}


def passage_ranks(result: AnswerWithReceipt) -> dict[str, int]:
    """The rank of each passage in the search results, from 1, by chunk id."""
    return {passage.chunk_id: rank for rank, passage in enumerate(result.passages, 1)}


def dump_models(models: Sequence[BaseModel]) -> list[dict[str, Any]]:
    """Models as JSON values."""
    return [model.model_dump(mode="json") for model in models]
