"""Superscripts and subscripts as plain text that keeps their meaning: 10⁶, H₂O, x^(k+1)."""

from __future__ import annotations

import re

_PLAIN = "0123456789+-−=()"
_SUPERSCRIPTS = str.maketrans(_PLAIN + "ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_SUBSCRIPTS = str.maketrans(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|ère|e|ème|eme|o|a|os|as|º|ª)", re.IGNORECASE)
_SIGNS = {"tm": "™", "sm": "℠", "®": "®", "™": "™", "℠": "℠", "©": "©", "°": "°", "′": "′", "″": "″", "*": "*"}
"""Superscripts that are signs of their own."""


def superscript(text: str, before: str) -> str:
    """Raised text; `before` is the character in front of it."""
    if before.isdigit() and _ORDINAL.fullmatch(text):
        return text
    return _SIGNS.get(text.lower()) or _script(text, _SUPERSCRIPTS, "^")


def subscript(text: str) -> str:
    """Lowered text."""
    return _script(text, _SUBSCRIPTS, "_")


def _script(text: str, signs: dict[int, int], mark: str) -> str:
    """The text in small characters where all of them exist, otherwise after a mark."""
    if all(ord(character) in signs for character in text):
        return text.translate(signs)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"
