"""Checks that every generation store makes before a rollback."""

from __future__ import annotations

from glossator.core.errors import IndexCorrupted, IndexNotFound
from glossator.core.ports import Generation


def no_earlier_generation() -> IndexNotFound:
    """The error where only one generation was ever built, or the other was deleted."""
    return IndexNotFound("There is no previous generation.", "Only the generation before the last ingest is kept.")


def check_intact(generation: Generation) -> None:
    """Refuse a generation that has lost chunks."""
    if generation.index.count() != generation.manifest.chunks:
        number = generation.manifest.generation
        raise IndexCorrupted(
            f"Generation {number} is incomplete; the current one stays in use.", "Run `glossator ingest`."
        )
