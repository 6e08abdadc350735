"""Every regular expression of the package takes a bounded time, whatever the text."""

from __future__ import annotations

import pytest

from patterns import MAX_SECONDS, NOTICEABLE_SECONDS, growth, is_anchored, patterns, units

pytestmark = pytest.mark.slow

MAX_GROWTH = 6.0
"""For twice the text: 2 is linear, 4 quadratic, 8 cubic. Quadratic ones see texts of a limited length only."""


def test_no_pattern_takes_exponential_or_cubic_time() -> None:
    found = patterns()
    assert len(found) > 250
    slow = []
    for name, pattern in found.items():
        anchored = is_anchored(name)
        for unit in units(pattern):
            before, after = growth(pattern, unit, anchored=anchored)
            if after > MAX_SECONDS or (before > NOTICEABLE_SECONDS and after > MAX_GROWTH * before):
                slow.append((name, unit, before, after))
                break
    assert slow == []
