"""The manifest of a generation: what the index contains and how it was made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from glossator.core.book.addresses import DEFAULT_MOUNT, Mount
from glossator.core.book.locations import is_url
from glossator.core.book.sources import SourceSummary

FORMAT = 3
"""Increased when an index that was built before would be searched wrongly: its files have changed, or the terms that
`core/text/folding.py` makes of a text."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One ingested source: its path or URL, how it was read, and its documents' hashes.

    `base_url`, `chosen_layout`, `chosen_name`, and all from `snippets` to `allow_private` are as the user gave them,
    for the next ingest; None: not given. `revision` identifies what was read of a git repository.
    """

    root: str
    layout: str
    base_url: str | None
    documents: dict[str, str]
    name: str = ""
    mount: Mount = DEFAULT_MOUNT
    chosen_layout: str | None = None
    chosen_name: str | None = None
    questions: tuple[str, ...] = ()
    """Questions that it answers, from its own golden file."""
    snippets: str | None = None
    ref: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    allow_private: bool | None = None
    revision: str = ""

    @property
    def summary(self) -> SourceSummary:
        """The source as lists show it."""
        return SourceSummary(
            self.name or Path(self.root).name,
            self.root,
            self.layout,
            self.mount.base_url or self.base_url or self.mount.path,
            len(self.documents),
            is_url(self.root) or os.path.exists(self.root),  # noqa: PTH110 - false also where nothing may be looked up
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation contains and how it was made."""

    generation: int
    format: int
    fingerprint: str
    chunker: int
    corpus_hash: str
    dimension: int
    chunks: int
    created_at: str
    sources: tuple[SourceRecord, ...]

    @property
    def documents(self) -> int:
        return sum(len(source.documents) for source in self.sources)

    @property
    def inputs(self) -> tuple[int, str, int, str]:
        """What the index was made from; an ingest with the same inputs has nothing to do."""
        return (self.format, self.fingerprint, self.chunker, self.corpus_hash)

    @property
    def name(self) -> str:
        """The name of the book: those of its sources."""
        return ", ".join(dict.fromkeys(source.name for source in self.sources if source.name))

    @property
    def mounts(self) -> tuple[Mount, ...]:
        return tuple(source.mount for source in self.sources)


def timestamp() -> str:
    """The current time in UTC, as stored in manifests and receipts."""
    return datetime.now(UTC).isoformat(timespec="seconds")
