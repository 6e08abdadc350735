"""A cache for values of a generation, which never change."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values up to a total size; a full cache is cleared as a whole, so that threads need no lock to share it."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._size = 0
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The cached value, or None."""
        return self._values.get(key)

    def put(self, key: K, value: V, size: int = 1) -> V:
        """Cache a value and return it."""
        if self._size + size > self._max_size:
            self._values.clear()
            self._size = 0
        self._values[key] = value
        self._size += size
        return value
