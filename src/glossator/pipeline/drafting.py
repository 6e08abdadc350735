"""A draft on its way through the gate: within its time, mended once, and cut off cleanly where its model fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TypeVar

from glossator.core.errors import LanguageModelDown
from glossator.core.ports import Drafter
from glossator.core.types import Brief, Passage, Policy
from glossator.verify.gate import Gate
from glossator.verify.judge import Verifier

NOT_FOUND = "NOT FOUND"
"""The whole draft of a model that finds no answer in what it was given."""
MOST_MENDED = 8
"""Failed sentences that are written again."""
_ENDS = frozenset(".!?…。！？؟۔|\n")
_ROOM = 400
"""Characters after which the gate is fed although no sentence seems to have ended."""
_log = logging.getLogger(__name__)
T = TypeVar("T")


def _bare(text: str) -> str:
    """Words as they are compared: without marks around them, in capitals."""
    return text.lstrip(" \n\t.*_`\"'#>-").rstrip().upper()


def _after(seconds: float) -> Callable[[], bool]:
    """Whether a time is over."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


class Drafting:
    """One draft. `degraded`: the model failed or ran out of time; `declined`: it says that there is no answer."""

    def __init__(self, verifier: Verifier, drafter: Drafter, brief: Brief, policy: Policy, seconds: float) -> None:
        self._drafter, self._brief, self._policy = drafter, brief, policy
        self._deadline = asyncio.get_running_loop().time() + seconds
        self.passages: list[Passage] = list(brief.passages)
        sources = brief.passages if brief.selection is None else (brief.selection,)
        self._is_over = _after(seconds)
        self.gate = Gate(verifier, verifier.prepare(sources), policy, self._is_over)
        self.degraded = self.declined = self._heard = False

    @property
    def cited(self) -> tuple[str, ...]:
        """The chunks that the marks stand for that were shown so far."""
        return tuple(self.passages[evidence.source - 1].chunk_id for evidence in self.gate.checked.evidence)

    async def words(self) -> AsyncIterator[str]:
        """What may be shown, as soon as it may; half a sentence of a model that failed is not."""
        try:
            async for shown in self._checked(self._drafter.draft(self._brief)):
                yield shown
            if not self._heard:
                raise LanguageModelDown("The language model said nothing.")
        except (LanguageModelDown, TimeoutError) as error:
            _log.warning("the draft ends early: %s", str(error) or "it took too long")
            self.degraded = True
            return
        try:
            async for shown in self._mended():
                yield shown
        except (LanguageModelDown, TimeoutError) as error:
            _log.warning("nothing is mended: %s", str(error) or "it took too long")
            self.degraded = not self.gate.sentences

    async def _mended(self) -> AsyncIterator[str]:
        """The sentences that failed, written again, once; what fails again stays out."""
        failed = self.gate.withheld[:MOST_MENDED]
        if not failed or self.declined or self._policy is not Policy.STRICT:
            return
        self.gate.resume()
        brief = replace(self._brief, passages=tuple(self.passages))
        async for shown in self._checked(self._drafter.mend(brief, failed)):
            yield shown

    async def _checked(self, draft: AsyncIterator[str | tuple[Passage, ...]]) -> AsyncIterator[str]:
        held, said = "", False
        async for piece in self._in_time(draft):
            if not isinstance(piece, str):
                self.passages += piece
                self.gate.add(piece)
                continue
            held += piece
            self._heard = self._heard or bool(piece.strip())
            if not said and len(held) < _ROOM and NOT_FOUND.startswith(_bare(held)[: len(NOT_FOUND)]):
                continue
            said = True
            if len(held) > _ROOM or not _ENDS.isdisjoint(piece):
                shown, held = await asyncio.to_thread(self.gate.feed, held), ""
                if shown:
                    yield shown
        if not said and _bare(held).startswith(NOT_FOUND):
            self.declined = not self.gate.sentences and not self.gate.withheld
        elif shown := await asyncio.to_thread(self._finish, held):
            yield shown

    def _finish(self, held: str) -> str:
        return self.gate.feed(held) + self.gate.finish()

    async def _in_time(self, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
        """The pieces that come before the deadline; whoever makes them is stopped in any case."""
        try:
            while True:
                if self._is_over():
                    raise TimeoutError
                try:
                    async with asyncio.timeout_at(self._deadline):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                yield piece
        finally:
            await pieces.aclose()  # type: ignore[attr-defined]
