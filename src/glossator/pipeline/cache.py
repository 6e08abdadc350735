"""The answer cache: returns the same answer to the same question about the same book."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Hashable
from dataclasses import replace
from threading import Lock

from glossator.core.receipts import AnswerWithReceipt


class AnswerCache:
    """An LRU cache of this process's answers; the key holds everything that determines an answer."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._answers: OrderedDict[Hashable, AnswerWithReceipt] = OrderedDict()
        self._added: dict[str, float] = {}
        self._lock = Lock()
        self.hits = self.misses = 0

    def get(self, key: Hashable) -> AnswerWithReceipt | None:
        """The cached answer, marked as cached."""
        with self._lock:
            result = self._answers.get(key)
            if result is None:
                self.misses += 1
                return None
            self._answers.move_to_end(key)
            self.hits += 1
        return result.with_answer(replace(result.answer, cached=True))

    def put(self, key: Hashable, result: AnswerWithReceipt) -> None:
        """Add an answer; the least recently used one is evicted if the cache is full."""
        with self._lock:
            if key in self._answers:
                self._forget(key)
            self._answers[key] = result
            self._added[result.receipt.receipt_id] = time.monotonic()
            while len(self._answers) > self._max_size:
                self._forget(next(iter(self._answers)))

    def receipt_ids(self, min_age_seconds: float = 0.0) -> frozenset[str]:
        """The receipts of the answers that were cached at least so many seconds ago."""
        latest = time.monotonic() - min_age_seconds
        with self._lock:
            return frozenset(receipt_id for receipt_id, added in self._added.items() if added <= latest)

    def evict(self, receipt_ids: Collection[str]) -> None:
        """Evict the answers with these receipts."""
        with self._lock:
            for key in [key for key, result in self._answers.items() if result.receipt.receipt_id in receipt_ids]:
                self._forget(key)

    def _forget(self, key: Hashable) -> None:
        self._added.pop(self._answers.pop(key).receipt.receipt_id, None)
