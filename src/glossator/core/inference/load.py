"""Counts concurrent questions: under load, optional work is skipped."""

from __future__ import annotations

from threading import Lock
from types import TracebackType

from glossator.core.inference.cores import available_cores

QUESTIONS_PER_CORE = 4
"""More concurrent questions per core than this count as load: each waits longer than it is processed."""


class Load:
    """Counts the concurrent questions of all books in this process, one of several `workers` that share the cores."""

    def __init__(self, limit: int | None = None, *, workers: int = 1) -> None:
        self._limit = max(1, QUESTIONS_PER_CORE * available_cores() // workers) if limit is None else limit
        self._count, self._lock = 0, Lock()

    @property
    def is_high(self) -> bool:
        return self._count > self._limit

    def __enter__(self) -> Load:
        with self._lock:
            self._count += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._count -= 1
