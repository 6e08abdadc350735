"""A drafter that writes a given text, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from glossator.core.answers import UnsupportedClaim
from glossator.core.question import DraftRequest
from glossator.core.types import Passage


class ScriptedDrafter:
    """Streams a text, or one made from the passages, in small pieces; then optionally fails or hangs."""

    name, prompt_hash, settings = "scripted", "0" * 8, {"temperature": "0"}

    def __init__(
        self,
        text: str | Callable[[Sequence[Passage]], str],
        *,
        size: int = 7,
        error: Exception | None = None,
        hang: bool = False,
    ) -> None:
        self.text, self.size, self.error, self.hang = text, size, error, hang
        self.text_sent, self.closed = asyncio.Event(), False

    async def draft(self, request: DraftRequest) -> AsyncIterator[str | tuple[Passage, ...]]:
        text = self.text if isinstance(self.text, str) else self.text(request.passages)
        try:
            for at in range(0, len(text), self.size):
                yield text[at : at + self.size]
            self.text_sent.set()
            if self.error:
                raise self.error
            if self.hang:
                await asyncio.sleep(60)
        finally:
            self.closed = True

    async def revise(self, _request: DraftRequest, _failed: Sequence[UnsupportedClaim]) -> AsyncIterator[str]:
        for nothing in ():
            yield nothing
