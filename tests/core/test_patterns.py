"""Every regular expression of the package takes a bounded time, whatever the text."""

from __future__ import annotations

import re

import pytest

from patterns import Found, patterns, slow_text

pytestmark = pytest.mark.slow

MAX_GROWTH = 6.0
"""For twice the text: 2 is linear, 4 quadratic, 8 cubic. Quadratic ones see texts of a limited length only."""


def test_no_pattern_takes_exponential_or_cubic_time() -> None:
    found = patterns()
    assert len(found) > 400
    slow = [(each.name, text[:50]) for each in found if (text := slow_text(each, MAX_GROWTH)) is not None]
    assert slow == []


@pytest.mark.parametrize(
    "pattern", [r"(a+)+b", r"title: (['\"])((?:\\.|(?!\1).)+)\1", r"(x|xx)*y", r"\s*\s*\s*\s*;", r"=(\w+\d*)*!"]
)
def test_slow_patterns_are_found(pattern: str) -> None:
    assert slow_text(Found("slow", re.compile(pattern), anchored=False), MAX_GROWTH)
