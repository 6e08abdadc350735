"""Invisible characters, defined once. The strings are for use inside a character class."""

from __future__ import annotations

import json
import re
from typing import Any

TAGS = "\U000e0000-\U000e007f"
"""Letters that are invisible to people but not to language models."""

INVISIBLE = f"\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff{TAGS}"
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

CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
"""Characters that command a terminal or end a line, except the tab and the line feed."""

_TAGS = re.compile(f"[{TAGS}]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_HIDDEN = re.compile(f"[{INVISIBLE}{VARIATION_SELECTORS}]")
_CONTROL = re.compile(f"[{CONTROL}]")
_ESCAPED = re.compile(f"[{INVISIBLE}{CONTROL}]")
_SPELLING_JOINER = re.compile(rf"(?<=[^\W\d_])[{JOINERS}](?=[^\W\d_])")


def strip_invisible(text: str) -> str:
    """The text without invisible characters."""
    return _INVISIBLE.sub("", text)


def strip_tags(text: str) -> str:
    """The text without tags: language models do not get text that is hidden from people."""
    return _TAGS.sub("", text)


def sanitize(text: str) -> str:
    """The text without invisible and control characters; joiners between letters stay, as part of the spelling."""
    text = _CONTROL.sub(" ", text)
    joiners = {found.start() for found in _SPELLING_JOINER.finditer(text)}
    return _HIDDEN.sub(lambda found: found[0] if found.start() in joiners else "", text)


def dump_json(value: Any, indent: int | None = None) -> str:
    """JSON in which invisible and control characters are escaped, so that it is safe to show and loses nothing."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return _ESCAPED.sub(lambda found: json.dumps(found[0])[1:-1], text)
