"""How doors ask: the pipeline behind them, and what every answer is told with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from glossator import pipeline
from glossator.answer.extractive import PASSAGES
from glossator.core.conversations import SessionKey, session_key
from glossator.core.receipts import Told
from glossator.core.types import SNIPPET, UNAVAILABLE, Citation, Filters, Mode, Passage, Words
from glossator.core.validation import checked_question, checked_selection
from glossator.pipeline import conversations
from glossator.pipeline.wiring import Parts
from glossator.serve.doors.base import SESSION, Door, with_request
from glossator.serve.doors.streams import LOST, Place, Streams, Voice, respond
from glossator.serve.middleware.context import Context, context_of
from glossator.serve.middleware.requests import as_problem
from glossator.serve.ops.metrics import Metrics
from glossator.serve.problems import Problem

Pieces = AsyncIterator[str | Told]
LOW = (0.3, 0.5)
"""Scores of the best passage between which an answer is of low confidence."""
_TWICE = re.compile(r"(\[\d+\])(?:\s*\1)+")
_MARK = re.compile(r"(?<=[\s\]])\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Desk:
    """What the doors share."""

    parts: Parts
    streams: Streams
    metrics: Metrics

    def alone(
        self,
        question: str,
        selected_text: str | None = None,
        top_k: int = PASSAGES,
        filters: Filters = pipeline.EVERYTHING,
        past: pipeline.Past = (),
        seconds: float | None = None,
    ) -> Pieces:
        """An answer that belongs to no conversation."""
        checked_question(question)
        if selected_text is not None:
            checked_selection(selected_text)
        return self._kept(
            pipeline.answering(self.parts, question, selected_text, top_k, filters, past, seconds=seconds)
        )

    async def _kept(self, pieces: Pieces) -> Pieces:
        async with aclosing(pieces) as closing:  # type: ignore[type-var]
            async for piece in closing:
                yield piece if isinstance(piece, str) else await pipeline.kept(self.parts, piece)

    def turn(
        self,
        question: str,
        key: SessionKey,
        selected_text: str | None = None,
        filters: Filters = pipeline.EVERYTHING,
        request_key: str | None = None,
    ) -> Pieces:
        """One turn of a conversation."""
        return conversations.conversing(
            self.parts, question, key, selected_text, filters=filters, request_key=request_key
        )

    async def whole(self, pieces: Pieces) -> Told:
        """An answer when it is complete."""
        told = pipeline.told_in([piece async for piece in pieces])
        self.metrics.answered(told)
        return told

    async def stream(
        self,
        request: Request,
        door: Door,
        begin: Callable[[str], Pieces],
        sources: Callable[[Told], dict[str, Any]],
        *,
        words: Callable[[Words], str] = str,
        tail: Callable[[Told], str] = lambda _: "",
    ) -> Response:
        """An answer as it is written; `begin` gets the id under which it can be asked for again."""

        context = context_of(request)
        voice = Voice(words, tail, sources, lambda error: self._problem(error, door, context))
        place = Place.read(request.headers.get("last-event-id"))
        caller = context.caller
        asked = (caller.name, caller.user_id, request.url.path, await request.body())
        owner = hashlib.sha256(repr(asked).encode()).hexdigest()
        return await respond(self.streams, owner, place, lambda name: self._counted(begin(name)), voice)

    async def _counted(self, pieces: Pieces) -> Pieces:
        """Every answer counts once, however many hear it, and be it nobody."""
        async with aclosing(pieces) as closing:  # type: ignore[type-var]
            async for piece in closing:
                if isinstance(piece, Told):
                    self.metrics.answered(piece)
                yield piece

    def _problem(self, error: Exception, door: Door, context: Context) -> dict[str, Any]:
        lost = isinstance(error, ValueError) and str(error) == LOST
        problem = Problem(409, "STREAM_LOST", f"{LOST} Ask again.") if lost else as_problem(error, door)
        context.problem = problem.code
        told = with_request(problem, context.request_id, dev=self.parts.settings.dev_mode)
        return door.tell(told).model_dump(mode="json")


def key_for(request: Request, name: str | None, request_key: str | None = None) -> SessionKey:
    """The session that a request means, among those of its user."""
    key = session_key(name, context_of(request).caller.user_id, request_key)
    request.scope[SESSION] = key.name
    return key


def request_key(request: Request) -> str | None:
    """The key under which a client may safely repeat a request."""
    return request.headers.get("idempotency-key") or None


def as_told(words: str) -> str:
    """The words of an answer; quotes in the place of one that no language model could write say so first."""
    return f"{UNAVAILABLE} {words}" if getattr(words, "mode", None) is Mode.RETRIEVAL_ONLY else words


def milliseconds(context: Context, *stages: str) -> float:
    """The time that stages took together; all of the request's, if none is named."""
    spent = sum(context.times.get(name, 0.0) for name in stages) if stages else context.seconds
    return round(1000 * spent, 3)


def is_low(told: Told) -> bool:
    """Whether the best that was found is hardly good enough."""
    best = max((passage.score for passage in told.passages), default=1.0)
    return LOW[0] <= best < LOW[1]


def shown(told: Told) -> list[Citation]:
    """What an answer rests on: its citations by number; the passages, where no language model could write one."""
    answer = told.answer
    if answer.mode is not Mode.RETRIEVAL_ONLY:
        return [citation for citation in answer.citations if citation.url]
    return [_cited(number, passage) for number, passage in enumerate(told.passages, 1)] or list(answer.citations)


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


def texts(told: Told) -> dict[str, str]:
    """The whole text of each passage, by its chunk."""
    return {passage.chunk_id: passage.text for passage in told.passages}


def ranks(told: Told) -> dict[str, int]:
    """The place of each passage in what was found, from 1."""
    return {passage.chunk_id: rank for rank, passage in enumerate(told.passages, 1)}


def by_chunk(words: Words) -> str:
    """The words as told, with marks that number chunks, in place of quotes: those of one chunk get one number."""
    numbers = {chunk: number for number, chunk in enumerate(dict.fromkeys(words.chunks), 1)}

    def renumbered(mark: re.Match[str]) -> str:
        place = int(mark[1]) - 1
        return f"[{numbers[words.chunks[place]]}]" if place < len(words.chunks) else mark[0]

    return _TWICE.sub(r"\1", _MARK.sub(renumbered, as_told(words)))


def chunks_shown(told: Told) -> list[Citation]:
    """The chunks that an answer rests on, as `by_chunk` numbers them."""
    return list({citation.chunk_id: citation for citation in reversed(shown(told))}.values())[::-1]


def as_source_marks(words: Words) -> str:
    """The words as told, with `[1]` as `[Source 1]`."""
    return _MARK.sub(r"[Source \1]", as_told(words))


def dumped(models: list[BaseModel]) -> list[dict[str, Any]]:
    """Models as plain values."""
    return [model.model_dump(mode="json") for model in models]
