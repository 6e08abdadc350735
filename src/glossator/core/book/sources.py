"""Sources of a book: how each is read, and what an ingest reports about it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from glossator.core.errors import BadInput

MAX_NAME_LENGTH = 200


class Layout(StrEnum):
    """How the files of a folder become pages; `AUTO` is decided by the files."""

    AUTO = "auto"
    ANTORA = "antora"
    DOCUSAURUS = "docusaurus"
    MDBOOK = "mdbook"
    MKDOCS = "mkdocs"
    SPHINX = "sphinx"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a user may say about a source; None leaves it as it was, or as the source's own files say.

    An empty base URL means that the pages are published nowhere else: citations open them on this server.
    `snippets` is a folder outside the source whose files its pages may include. `ref` is the branch or tag of a git
    repository, `include` and `exclude` are patterns of file names, and `allow_private` lets a source be fetched from
    addresses that are not on the public internet. `versions` names versions of the book, the current one first.
    """

    base_url: str | None = None
    layout: Layout | None = None
    name: str | None = None
    snippets: str | None = None
    ref: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    allow_private: bool | None = None
    versions: tuple[str, ...] | None = None


DEFAULT_OPTIONS = SourceOptions()


@dataclass(frozen=True, slots=True)
class FetchCounts:
    """Pages of live sites: fetched, and unchanged since they were fetched before."""

    fetched: int = 0
    unchanged: int = 0

    def __add__(self, other: FetchCounts) -> FetchCounts:
        return FetchCounts(self.fetched + other.fetched, self.unchanged + other.unchanged)


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """A source of the index, as reports and lists show it.

    `address` is where citations lead: a base URL, or a path of this server. `exists` tells whether its folder is there.
    `versions` are those of a source that has several, the current one first.
    """

    name: str
    path: str
    layout: str
    address: str
    documents: int
    exists: bool = True
    reason: str = ""
    versions: tuple[str, ...] = ()


def parse_layout(name: str) -> Layout:
    """The layout with this name."""
    try:
        return Layout(name)
    except ValueError:
        raise BadInput(f"Unknown layout {name!r}.", f"Use {', '.join(Layout)}.") from None


def patterns(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Patterns as options have them: none given leaves them as they were, and an empty one means none at all."""
    return tuple(pattern for pattern in given if pattern) if given else None


def clean_name(name: str) -> str:
    """A name on one line, without invisible characters."""
    visible = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in name)
    return " ".join(visible.split())[:MAX_NAME_LENGTH].rstrip()
