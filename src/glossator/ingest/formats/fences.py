"""Fenced code blocks in MDX: where they begin and end, so that their content is left unchanged."""

from __future__ import annotations

import re

FENCE = r"(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+(?P<ticks>`{3,}+(?=[^`\n]*$)|~{3,}+))"
"""The start of a fence's first line, also within a block quote or list item."""


def fence_end(text: str, ticks: str, start: int) -> int:
    """The end of the fence that `ticks` opened; as in CommonMark, an unclosed fence extends to the end of the text."""
    match = _closing(ticks).search(text, start)
    return match.end() if match else len(text)


def _closing(ticks: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t>]*+{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
