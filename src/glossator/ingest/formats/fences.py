"""Fenced code in Markdown sources: where it begins and ends, so that what stands in it is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = r"(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+(?P<ticks>`{3,}+(?=[^`\n]*$)|~{3,}+))"
"""The start of a fence's first line, also in a quotation or a list item."""

_OPENING = re.compile(FENCE, re.MULTILINE)


def fence_end(text: str, ticks: str, start: int) -> int:
    """Where the fence that `ticks` opened ends; one that nothing closes goes on to the end, as in CommonMark."""
    found = _closing(ticks).search(text, start)
    return found.end() if found else len(text)


def fenced_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Every line, with the language line of the fence it stands in, or None outside of code."""
    closing: re.Pattern[str] | None = None
    info: str | None = None
    for line in text.split("\n"):
        if closing is not None and closing.match(line):
            closing, info = None, None
        yield line, info
        if info is None and (opening := _OPENING.match(line)):
            closing, info = _closing(opening["ticks"]), line[opening.end() :].strip()


def _closing(ticks: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t>]*+{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
