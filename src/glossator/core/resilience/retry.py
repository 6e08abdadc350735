"""Retries: which HTTP statuses are transient, what Retry-After asks for, and how long to back off."""

from __future__ import annotations

import random
import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed; 529 is "overloaded" at some providers."""
MAX_RETRY_AFTER_SECONDS = 31_536_000.0
"""A longer Retry-After is read as one year, so that the result is always finite."""
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_jitter = random.Random()  # noqa: S311 - nobody gains by guessing it


def is_transient_status(status: int, also: Container[int] = ()) -> bool:
    """Whether a request that got this status is worth repeating; `also` adds a caller's own statuses."""
    return status in TRANSIENT_STATUSES or status in also


def parse_retry_after(value: str | None) -> float | None:
    """The seconds that a Retry-After header asks for, given as a number or as an HTTP date; None if malformed."""
    value = (value or "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    try:
        seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, seconds), MAX_RETRY_AFTER_SECONDS)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: up to `first_seconds`, then up to twice as long each time."""

    first_seconds: float
    max_seconds: float
    attempts: int
    """How often to try at most, the first time included."""

    def delay(self, attempt: int) -> float:
        """Seconds to wait after the attempt with this number, counted from 1."""
        ceiling = min(self.max_seconds, self.first_seconds * 2 ** min(attempt - 1, 64))
        return _jitter.uniform(0.0, ceiling)
