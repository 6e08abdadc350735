"""Versions of a book; a question is answered from one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VERSION_NAME = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,60}")
CURRENT = "*"
"""The label of what is searched if no version is named; no version can have this name."""


@dataclass(frozen=True, slots=True)
class BookVersion:
    """One version of a source: its name, the path of its pages below the address of the source, and other names."""

    name: str
    path: str
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


def version_at(path: str, versions: Iterable[BookVersion]) -> BookVersion | None:
    """The version of the page at a path of a source; the path of one version may be within that of another."""
    matches = [version for version in versions if f"{path}/".startswith(version.path)]
    return max(matches, key=lambda version: len(version.path), default=None)


def labels(version: BookVersion | None, own: Sequence[BookVersion], all_names: Iterable[str]) -> tuple[str, ...]:
    """What a page is found by: the names of its version, the first of its source being the current one.

    A page that is of no version belongs to all.
    """
    if version is None:
        return (CURRENT, *all_names)
    return (*version.names, CURRENT) if version.name == own[0].name else version.names
