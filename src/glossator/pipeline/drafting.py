"""Streams a draft through the gate: with a deadline, one revision, and a clean cut if the model fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TypeVar

from glossator.core.answers import CheckedDraft, Delta
from glossator.core.errors import LanguageModelUnavailable
from glossator.core.ports import Drafter
from glossator.core.question import DraftRequest
from glossator.core.types import Passage
from glossator.pipeline.wiring import Engine
from glossator.verification.gate import Gate

NOT_FOUND = "NOT FOUND"
"""What a model writes if it finds no answer in the passages."""
MAX_REVISED = 8
"""Failed sentences that the model may revise."""
MIN_DRAFT_SECONDS = 0.5
"""Time that a language model gets at least, even if the search has used up the question's deadline."""
_SENTENCE_ENDS = frozenset(".!?…。！？؟۔|\n")
_MAX_BUFFER = 400
"""Characters after which text is passed to the gate even if no sentence seems to have ended."""
_log = logging.getLogger(__name__)
T = TypeVar("T")


def _bare(text: str) -> str:
    """Text to compare with `NOT_FOUND`: without surrounding markup, in capitals."""
    return text.lstrip(" \n\t.*_`\"'#>-").rstrip().upper()


class DraftStream:
    """One draft. `degraded`: the model failed or timed out; `declined`: the model made no claim."""

    def __init__(self, engine: Engine, drafter: Drafter, request: DraftRequest) -> None:
        self._drafter, self._request = drafter, request
        now, deadline = time.monotonic(), request.question.deadline
        if deadline is None:
            self._deadline = now + engine.settings.answer_seconds
        else:
            self._deadline = max(deadline, now + MIN_DRAFT_SECONDS)
        self.passages: list[Passage] = list(request.passages)
        selection = request.question.selection
        sources = request.passages if selection is None else (selection,)
        prepared = engine.verifier.prepare(sources)
        self._gate = Gate(
            engine.verifier, prepared, seconds_left=self._seconds_left, second_opinion=engine.second_opinion
        )
        self.degraded = self.declined = self._received = False

    @property
    def checked(self) -> CheckedDraft:
        """The draft so far: what the gate passed, and what it withheld."""
        return self._gate.checked

    @property
    def rejected(self) -> bool:
        """Whether the model made claims and none is supported, although sources may be quoted in their place."""
        return bool(self._gate.withheld or self._gate.replaced) and not self._gate.supported

    async def deltas(self) -> AsyncIterator[Delta]:
        """Checked text, as soon as it is available; an unfinished sentence of a failed model is never shown."""
        try:
            async for text in self._checked(self._drafter.draft(self._request)):
                yield Delta(text)
            if not self._received:
                raise LanguageModelUnavailable("The language model returned an empty answer.")
        except (LanguageModelUnavailable, TimeoutError) as error:
            _log.warning("draft cut short: %s", str(error) or "deadline exceeded")
            self.degraded = True
            if shown := await asyncio.to_thread(self._gate.release):
                yield Delta(shown)
            return
        try:
            async for text in self._revised():
                yield Delta(text)
        except (LanguageModelUnavailable, TimeoutError) as error:
            _log.warning("revision failed: %s", str(error) or "deadline exceeded")
            self.degraded = not self._gate.sentences

    async def _revised(self) -> AsyncIterator[str]:
        """Revisions of the sentences that failed, once; those that fail again stay withheld."""
        failed = self._gate.withheld[:MAX_REVISED]
        if not failed or self.declined:
            return
        self._gate.resume()
        request = replace(self._request, passages=tuple(self.passages))
        async for text in self._checked(self._drafter.revise(request, failed)):
            yield text

    async def _checked(self, draft: AsyncIterator[str | tuple[Passage, ...]]) -> AsyncIterator[str]:
        buffer, fed = "", False
        async for piece in self._before_deadline(draft):
            if not isinstance(piece, str):
                self.passages += piece
                self._gate.add(piece)
                continue
            buffer += piece
            self._received = self._received or bool(piece.strip())
            if not fed and len(buffer) < _MAX_BUFFER and NOT_FOUND.startswith(_bare(buffer)[: len(NOT_FOUND)]):
                continue
            fed = True
            if len(buffer) > _MAX_BUFFER or not _SENTENCE_ENDS.isdisjoint(piece):
                shown, buffer = await asyncio.to_thread(self._gate.feed, buffer), ""
                if shown:
                    yield shown
        not_found = not fed and _bare(buffer).startswith(NOT_FOUND)
        if not not_found and (shown := await asyncio.to_thread(self._finish, buffer)):
            yield shown
        self.declined = self._received and not self._gate.sentences and not self._gate.withheld

    def _finish(self, buffer: str) -> str:
        return self._gate.feed(buffer) + self._gate.finish()

    async def _before_deadline(self, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
        """The pieces that arrive before the deadline; their generator is always closed."""
        try:
            while True:
                if self._is_over():
                    raise TimeoutError
                try:
                    async with asyncio.timeout(self._deadline - time.monotonic()):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                yield piece
        finally:
            await pieces.aclose()  # type: ignore[attr-defined]

    def _is_over(self) -> bool:
        return self._seconds_left() <= 0

    def _seconds_left(self) -> float:
        return self._deadline - time.monotonic()
