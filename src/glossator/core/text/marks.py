"""Citation marks: the `[n]` after a sentence of an answer that names its sources."""

from __future__ import annotations

import re
from collections.abc import Callable

_MARK = r"\[(\d+)\]"
_WITH_SPACE = re.compile(rf"\s*{_MARK}")
_AFTER_SENTENCE = re.compile(rf"(?<=[\s\]]){_MARK}")
"""A mark follows a space or another mark; `a[1]` is code."""
_REPEATED = re.compile(rf"({_MARK})(?:\s*\1)+")
_IN_BOOK = re.compile(r"(?<!\S)\[((?:Source )?\d{1,3})\]")


def strip_marks(text: str) -> str:
    """The text without its citation marks."""
    return _WITH_SPACE.sub("", text)


def renumber_marks(text: str, renumber: Callable[[int], int]) -> str:
    """The text with every mark renumbered; adjacent marks that become equal are merged."""
    renumbered = _AFTER_SENTENCE.sub(lambda mark: f"[{renumber(int(mark[1]))}]", text)
    return _REPEATED.sub(r"\1", renumbered)


def as_source_marks(text: str) -> str:
    """The text with `[Source 1]` in place of `[1]`."""
    return _AFTER_SENTENCE.sub(r"[Source \1]", text)


def escape_marks(text: str) -> str:
    """A quote from the book with its own `[1]` written as `(1)`: square brackets are for the answer's citations."""
    return _IN_BOOK.sub(r"(\1)", text)
