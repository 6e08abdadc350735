"""What the doors share to answer a question: whole or streamed, with its sources numbered as its text cites them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from glossator import pipeline
from glossator.core.answers import SNIPPET, UNAVAILABLE, Citation, Delta, Mode
from glossator.core.conversations import SessionKey, session_key
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.thresholds import is_low_confidence
from glossator.core.types import Passage
from glossator.pipeline.answering import Pieces
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.base import SESSION, Door, with_request
from glossator.serve.doors.streams import LOST, StreamFormat, StreamPosition, Streams, respond
from glossator.serve.middleware.context import Context, context_of
from glossator.serve.middleware.request import as_problem
from glossator.serve.ops.metrics import Metrics
from glossator.serve.problems import Problem

_REPEATED_MARK = re.compile(r"(\[\d+\])(?:\s*\1)+")
_MARK = re.compile(r"(?<=[\s\]])\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class AnswerService:
    """Answers questions for the doors, and counts them."""

    engine: Engine
    streams: Streams
    metrics: Metrics

    async def answer(self, question: Question) -> AnswerWithReceipt:
        """A whole answer."""
        result = await pipeline.answer(self.engine, question)
        self.metrics.answered(result)
        return result

    async def stream(
        self,
        request: Request,
        door: Door,
        question: Callable[[str], Question],
        sources: Callable[[AnswerWithReceipt], dict[str, Any]],
        *,
        text: Callable[[Delta], str] = str,
        tail: Callable[[AnswerWithReceipt], str] = lambda _: "",
    ) -> Response:
        """An answer as server-sent events; `question` gets the id under which the stream can be resumed."""
        context = context_of(request)
        form = StreamFormat(text, tail, sources, lambda error: self._problem(error, door, context))
        position = StreamPosition.read(request.headers.get("last-event-id"))
        caller = context.caller
        asked = (caller.name, caller.user_id, request.url.path, await request.body())
        owner = hashlib.sha256(repr(asked).encode()).hexdigest()

        def begin(stream_id: str) -> Pieces:
            return self.counted(pipeline.stream(self.engine, question(stream_id)))

        return await respond(self.streams, owner, position, begin, form)

    async def counted(self, pieces: Pieces) -> Pieces:
        """The same pieces; the answer is counted once, however many clients read it."""
        async with aclosing(pieces) as closing:  # type: ignore[type-var]
            async for piece in closing:
                if isinstance(piece, AnswerWithReceipt):
                    self.metrics.answered(piece)
                yield piece

    def _problem(self, error: Exception, door: Door, context: Context) -> dict[str, Any]:
        lost = isinstance(error, ValueError) and str(error) == LOST
        problem = Problem(409, "STREAM_LOST", f"{LOST} Ask again.") if lost else as_problem(error, door)
        context.problem = problem.code
        answered = with_request(problem, context.request_id, dev=self.engine.settings.dev_mode)
        return door.tell(answered).model_dump(mode="json")


def key_for(request: Request, name: str | None, idempotency_key: str | None = None) -> SessionKey:
    """The session that a request means, among those of its user."""
    key = session_key(name, context_of(request).caller.user_id, idempotency_key)
    request.scope[SESSION] = key.name
    return key


def idempotency_key(request: Request) -> str | None:
    """The key under which a client may safely repeat a request."""
    return request.headers.get("idempotency-key") or None


def with_notice(delta: Delta) -> str:
    """The text of an answer; quotes that stand in for an unavailable language model say so first."""
    return f"{UNAVAILABLE} {delta}" if delta.mode is Mode.RETRIEVAL_ONLY else delta


def milliseconds(context: Context, *stages: str) -> float:
    """The time that stages took together; all of the request's, if none is named."""
    spent = sum(context.times.get(name, 0.0) for name in stages) if stages else context.seconds
    return round(1000 * spent, 3)


def is_low(result: AnswerWithReceipt) -> bool:
    """Whether the best passage found is only a weak match."""
    return is_low_confidence(max((passage.score for passage in result.passages), default=1.0))


def shown(result: AnswerWithReceipt) -> list[Citation]:
    """What an answer rests on: its citations by number; the passages, where no language model could write one."""
    answer = result.answer
    if answer.mode is not Mode.RETRIEVAL_ONLY:
        return [citation for citation in answer.citations if citation.url]
    return [_cited(number, passage) for number, passage in enumerate(result.passages, 1)] or list(answer.citations)


def _cited(number: int, passage: Passage) -> Citation:
    url = f"{passage.url}#{passage.anchor}" if passage.anchor else passage.url
    return Citation(
        number=number,
        url=url,
        title=passage.title,
        section=passage.section,
        quote=passage.text,
        start=passage.start,
        end=passage.end,
        score=passage.score,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        position=passage.position,
        snippet=passage.text[:SNIPPET],
    )


def texts(result: AnswerWithReceipt) -> dict[str, str]:
    """The whole text of each passage, by its chunk."""
    return {passage.chunk_id: passage.text for passage in result.passages}


def ranks(result: AnswerWithReceipt) -> dict[str, int]:
    """The place of each passage in what was found, from 1."""
    return {passage.chunk_id: rank for rank, passage in enumerate(result.passages, 1)}


def by_chunk(delta: Delta) -> str:
    """The text with marks that number chunks in place of quotes: quotes of one chunk share its number."""
    numbers = {chunk: number for number, chunk in enumerate(dict.fromkeys(delta.chunks), 1)}

    def renumbered(mark: re.Match[str]) -> str:
        place = int(mark[1]) - 1
        return f"[{numbers[delta.chunks[place]]}]" if place < len(delta.chunks) else mark[0]

    return _REPEATED_MARK.sub(r"\1", _MARK.sub(renumbered, with_notice(delta)))


def chunks_shown(result: AnswerWithReceipt) -> list[Citation]:
    """The chunks that an answer rests on, as `by_chunk` numbers them."""
    return list({citation.chunk_id: citation for citation in reversed(shown(result))}.values())[::-1]


def as_source_marks(delta: Delta) -> str:
    """The text with `[Source 1]` in place of `[1]`."""
    return _MARK.sub(r"[Source \1]", with_notice(delta))


def dumped(models: list[BaseModel]) -> list[dict[str, Any]]:
    """Models as plain values."""
    return [model.model_dump(mode="json") for model in models]
