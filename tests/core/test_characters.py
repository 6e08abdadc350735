"""Invisible characters are defined once, and the narrower sets are parts of that definition."""

from __future__ import annotations

import re

import pytest

from glossator.core.text.characters import INVISIBLE, JOINERS, LINE_BREAK_HINTS, VARIATION_SELECTORS, strip_invisible
from glossator.verification.reading.lexicon import fold


@pytest.mark.parametrize(
    "character", [*LINE_BREAK_HINTS, *JOINERS, "\u061c", "\u202e", "\u2069", "\U000e0041"], ids=ascii
)
def test_invisible_character_is_removed(character: str) -> None:
    assert strip_invisible(f"a{character}b") == "ab"
    assert fold(f"a{character}b") == "ab"


@pytest.mark.parametrize("character", ["\ufe0f", "\u064b", "é", " ", "\n"], ids=ascii)
def test_other_character_is_kept(character: str) -> None:
    assert strip_invisible(f"a{character}b") == f"a{character}b"


def test_variation_selectors_are_not_invisible_characters() -> None:
    assert not re.search(f"[{INVISIBLE}]", "\ufe00\ufe0f\U000e0100\U000e01ef")
    assert re.fullmatch(f"[{VARIATION_SELECTORS}]+", "\ufe00\ufe0f\U000e0100\U000e01ef")
