"""The page that docutils is reading: directives and roles are called without it, so they ask here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from glossator.ingest.formats.includes import IncludeReader


@dataclass(slots=True)
class PageScope:
    """The page that is being read: where it is, what it may refer to and include, and what it leaves to code."""

    path: Path
    root: Path
    references: Mapping[str, tuple[str, str]]
    includes: IncludeReader
    generated: list[str] = field(default_factory=list)
    included: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The name of the page within its source, without its ending."""
        return self.path.relative_to(self.root).with_suffix("").as_posix()


_current: list[PageScope] = []


def current_page() -> PageScope:
    """The page that is being read."""
    return _current[-1]


@contextmanager
def reading(scope: PageScope) -> Iterator[None]:
    """Make a page the current one."""
    _current.append(scope)
    try:
        yield
    finally:
        _current.pop()
