"""Citation marks: the `[n]` after a sentence of an answer that names its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CODE_BLOCK = r"(?P<code>```.*?```)"
_MARK = re.compile(rf"{_CODE_BLOCK}|(?<=[\s\]])\[(?P<number>\d+)\]", re.DOTALL)
"""A mark follows a space or another mark; `a[1]` is code."""
_WITH_SPACE = re.compile(rf"{_CODE_BLOCK}|(?:(?<=\])|\s+)\[\d+\]", re.DOTALL)
_IN_BOOK = re.compile(r"(?<!\S)\[((?:Source )?\d{1,3})\]")


def strip_marks(text: str) -> str:
    """The text without its citation marks."""
    return _WITH_SPACE.sub(lambda found: found["code"] or "", text)


def split_marks(text: str) -> Iterator[tuple[str, int | None]]:
    """The text in pieces: code blocks and what is between marks, with None, and each mark with its number."""
    end = 0
    for found in _MARK.finditer(text):
        yield text[end : found.start()], None
        yield found[0], int(found["number"]) if found["number"] else None
        end = found.end()
    yield text[end:], None


def as_source_marks(text: str, max_number: int) -> str:
    """The text with `[Source 1]` in place of `[1]`, without marks above the largest number allowed."""

    def source_mark(found: re.Match[str]) -> str:
        if found["code"]:
            return found["code"]
        return f"[Source {found['number']}]" if int(found["number"]) <= max_number else ""

    return _MARK.sub(source_mark, text)


def escape_marks(text: str) -> str:
    """A quote from the book with its own `[1]` written as `(1)`: square brackets are for the answer's citations."""
    return _IN_BOOK.sub(r"(\1)", text)
