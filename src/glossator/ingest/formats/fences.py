"""Fenced code blocks in Markdown: where they begin and end, so that their content is left unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = r"(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+(?P<ticks>`{3,}+(?=[^`\n]*$)|~{3,}+))"
"""The start of a fence's first line, also within a block quote or list item."""

_OPENING = re.compile(FENCE, re.MULTILINE)


def fence_end(text: str, ticks: str, start: int) -> int:
    """The end of the fence that `ticks` opened; as in CommonMark, an unclosed fence extends to the end of the text."""
    match = _closing(ticks).search(text, start)
    return match.end() if match else len(text)


def fenced_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Each line with the info string of the fence that contains it, or None outside code."""
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
