"""The manifest of a generation: what the index contains and how it was made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from glossator.core.book.addresses import DEFAULT_MOUNT, Mount
from glossator.core.book.locations import is_url
from glossator.core.book.sources import SourceSummary
from glossator.core.book.versions import CURRENT, BookVersion, labels, version_at
from glossator.core.errors import UnknownVersion

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
    versions: tuple[BookVersion, ...] = ()
    """Its versions, the current one first; none if it has no versions."""
    chosen_versions: tuple[str, ...] | None = None
    language: str = ""
    """The code of the language of its text; empty if it is unknown."""

    @property
    def address(self) -> str:
        """What the URLs of its documents begin with."""
        return f"{self.mount.base_url}/" if self.mount.base_url else self.mount.path

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
            versions=tuple(dict.fromkeys(version.name for version in self.versions)),
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
    def versions(self) -> tuple[BookVersion, ...]:
        """The versions of all sources; those with the same name are one."""
        return tuple({version.name: version for source in self.sources for version in source.versions}.values())

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages of its sources."""
        return tuple(dict.fromkeys(source.language for source in self.sources if source.language))

    def version_of(self, url: str) -> str:
        """The name of the version that a page is of; empty if it is of no version."""
        version, _ = self._version_of(url)
        return version.name if version else ""

    def version_labels(self, url: str) -> tuple[str, ...]:
        """What a page is found by, if the book has versions."""
        if not self.versions:
            return ()
        names = dict.fromkeys(name for version in self.versions for name in version.names)
        return labels(*self._version_of(url), names)

    def _version_of(self, url: str) -> tuple[BookVersion | None, tuple[BookVersion, ...]]:
        for source in self.sources:
            if source.versions and url.startswith(source.address):
                return version_at(url.removeprefix(source.address), source.versions), source.versions
        return None, ()

    def searched_version(self, named: str | None) -> str | None:
        """The label of the version to search: the current one, unless another is named; None without versions."""
        if named is None:
            return CURRENT if self.versions else None
        if any(named in version.names for version in self.versions):
            return named
        known = ", ".join(version.name for version in self.versions)
        remedy = f"Its versions are {known}." if known else "It has no versions: omit the version."
        raise UnknownVersion(f"The book has no version {named[:40]!r}.", remedy)

    def is_current(self, url: str) -> bool:
        """Whether a page is of the current version, or of none."""
        return not self.versions or CURRENT in self.version_labels(url)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        return tuple(source.mount for source in self.sources)


def timestamp() -> str:
    """The current time in UTC, as stored in manifests and receipts."""
    return datetime.now(UTC).isoformat(timespec="seconds")
