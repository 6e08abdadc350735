"""The answer cache: returns the same answer to the same question about the same book."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from threading import Lock

from glossator.core.receipts import AnswerWithReceipt

RECEIPT_TTL_SECONDS = 3600.0
"""After this time a receipt is stored again, as a clean-up may have deleted it."""


class AnswerCache:
    """An LRU cache of this process's answers; the key holds everything that determines an answer.

    It also knows which receipts were stored recently, so that a cached answer need not store its receipt each time.
    """

    def __init__(self, max_size: int, receipt_ttl_seconds: float = RECEIPT_TTL_SECONDS) -> None:
        self._max_size, self._receipt_ttl = max_size, receipt_ttl_seconds
        self._answers: OrderedDict[Hashable, AnswerWithReceipt] = OrderedDict()
        self._stored_receipts: OrderedDict[str, float] = OrderedDict()
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
            self._answers[key] = result
            while len(self._answers) > self._max_size:
                self._answers.popitem(last=False)

    def has_stored_receipt(self, receipt_id: str) -> bool:
        """Whether a receipt was stored recently."""
        stored_at = self._stored_receipts.get(receipt_id)
        return stored_at is not None and time.monotonic() - stored_at < self._receipt_ttl

    def add_stored_receipt(self, receipt_id: str) -> None:
        """Remember that a receipt is stored in the database."""
        with self._lock:
            self._stored_receipts[receipt_id] = time.monotonic()
            while len(self._stored_receipts) > self._max_size:
                self._stored_receipts.popitem(last=False)

    def clear(self) -> None:
        """Evict everything."""
        with self._lock:
            self._answers.clear()
            self._stored_receipts.clear()
