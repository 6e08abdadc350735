"""Notation for the word lists: words separated by white space, `_` for a space inside a phrase."""

from __future__ import annotations


def word_pairs(text: str) -> list[tuple[str, str]]:
    """Pairs written as `one/other`."""
    return [tuple(part.replace("_", " ") for part in pair.split("/"))[:2] for pair in text.split()]  # type: ignore[misc]


def word_set(text: str) -> frozenset[str]:
    return frozenset(part.replace("_", " ") for part in text.split())


def phrase_pattern(text: str) -> str:
    """A pattern that matches any of the phrases."""
    return "|".join(text.split()).replace("_", " ")


def not_after(text: str) -> str:
    """A pattern that requires that none of these words comes before."""
    return "".join(f"(?<!{word} )" for word in text.split())
