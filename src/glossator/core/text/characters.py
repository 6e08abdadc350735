"""Characters that a reader does not see, defined once. The strings are for use inside a character class."""

from __future__ import annotations

import re

INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f"
"""Soft hyphens, zero-width characters, bidirectional controls and tags."""

LINE_BREAK_HINTS = "\u00ad\u200b\u2060\ufeff"
"""The part of INVISIBLE that only says where a line may break.

A book's text loses these and keeps the rest: joiners shape Urdu words and emoji, and direction marks order mixed text.
"""

JOINERS = "\u200c\u200d"
"""The zero-width non-joiner and joiner, which are part of the spelling between two letters."""

VARIATION_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Not in INVISIBLE: they belong to the character before them, so they neither separate nor pad words."""

ARABIC_DIACRITICS = "\u0640\u064b-\u065f\u0670"
"""Vowel signs and the tatweel. They are visible, but do not distinguish words."""

_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def strip_invisible(text: str) -> str:
    """The text without invisible characters."""
    return _INVISIBLE.sub("", text)
