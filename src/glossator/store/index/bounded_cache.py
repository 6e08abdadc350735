"""Values of a generation that are asked for again and again; a generation never changes."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(kept: dict[K, V], key: K, value: V, most: int) -> V:
    """Keep a value; when there are too many, all make room, which any number of threads may do at once."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
