"""Answers that were given before: the same question to the same book, answered in the same way."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from threading import Lock

from glossator.core.receipts import AnswerWithReceipt

STORED_SECONDS = 3600.0
"""After which a receipt is stored anew, should it have been cleaned away."""


class AnswerCache:
    """The latest answers of this process; the key names everything that shaped them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, AnswerWithReceipt] = OrderedDict()
        self._stored: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()
        self.hits = self.misses = 0

    def get(self, key: Hashable) -> AnswerWithReceipt | None:
        """The answer, marked as one that was kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                self.misses += 1
                return None
            self._kept.move_to_end(key)
            self.hits += 1
        return found.with_answer(replace(found.answer, cached=True))

    def put(self, key: Hashable, told: AnswerWithReceipt) -> None:
        """Keep an answer; the one that was asked for longest ago makes room."""
        with self._lock:
            self._kept[key] = told
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def is_stored(self, receipt_id: str) -> bool:
        """Whether the receipt of an answer that is kept here was stored a short while ago."""
        return time.monotonic() - self._stored.get(receipt_id, -STORED_SECONDS) < STORED_SECONDS

    def stored(self, receipt_id: str) -> None:
        """The receipt of an answer is in the records."""
        with self._lock:
            self._stored[receipt_id] = time.monotonic()
            while len(self._stored) > self._size:
                self._stored.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._stored.clear()
