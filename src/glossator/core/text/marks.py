"""Citation marks: the `[n]` after a sentence of an answer that names its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CODE_BLOCK = r"(?P<code>```.*?```)"
_NUMBER = r"\d{1,9}"
"""Python reads no number of thousands of digits; a book may contain one."""
_MARK = re.compile(rf"\[({_NUMBER})\]")
_MARKS = re.compile(rf"{_CODE_BLOCK}|(?<=\s)(?:\[{_NUMBER}\])+", re.DOTALL)
"""Marks follow a space or another mark; `a[1]` and `a[0][1]` are code, and `[a page][1]` is a link of the book's."""
_WITH_SPACE = re.compile(rf"{_CODE_BLOCK}|\s+(?:\[{_NUMBER}\])+", re.DOTALL)
_IN_BOOK = re.compile(r"(?<!\S)\[((?:Source )?\d{1,3})\]")


def strip_marks(text: str) -> str:
    """The text without its citation marks."""
    return _WITH_SPACE.sub(lambda found: found["code"] or "", text)


def split_marks(text: str) -> Iterator[tuple[str, int | None]]:
    """The text in pieces: code blocks and what is between marks, with None, and each mark with its number."""
    end = 0
    for found in _MARKS.finditer(text):
        yield text[end : found.start()], None
        if found["code"]:
            yield found["code"], None
        else:
            yield from ((mark[0], int(mark[1])) for mark in _MARK.finditer(found[0]))
        end = found.end()
    yield text[end:], None


def as_source_marks(text: str, max_number: int) -> str:
    """The text with `[Source 1]` in place of `[1]`, without marks above the largest number allowed."""

    def source_mark(found: re.Match[str]) -> str:
        return f"[Source {found[1]}]" if int(found[1]) <= max_number else ""

    return _MARKS.sub(lambda found: found["code"] or _MARK.sub(source_mark, found[0]), text)


def escape_marks(text: str) -> str:
    """A quote from the book with its own `[1]` written as `(1)`: square brackets are for the answer's citations."""
    return _IN_BOOK.sub(r"(\1)", text)
