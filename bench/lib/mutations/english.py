"""Tokens, articles and numbers of English sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeVar

from lib.mutations.wordlists.grammar import FUNCTION_WORDS
from lib.mutations.wordlists.quantities import NUMBER_WORDS

T = TypeVar("T")
REFERENCE = "Listings?|Chapters?|Figures?|Fig\\.|Tables?|Sections?|Appendix|Steps?|Equations?|Exercises?|RFC|ISO|page"
NUMBER = r"(?<![\w.,$^+\-−–/=#:(])\d+(?:,\d{3})*(?:\.\d+)*(?![\w\-–^$/=:]|\.\w)"


@dataclass(frozen=True)
class Word:
    """A word, its span and the punctuation after it."""

    text: str
    start: int
    end: int
    tail: str

    @property
    def lower(self) -> str:
        return self.text.lower()


def shuffled(items: Sequence[T], random: Random) -> list[T]:
    return random.sample(list(items), len(items))


def plain(text: str) -> str:
    """The words only, in lower case, for comparison."""
    return " ".join(re.findall(r"\w+", text.lower()))


def capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def tokens(text: str) -> tuple[Word, ...]:
    found = []
    for match in re.finditer(r"\S+", text):
        opening = len(match[0]) - len(match[0].lstrip("([“\"'‘"))
        word = re.sub(r"(?<=.)(?:[.,;:?)\]”\"’']|(?<![a-z_])!)+$", "", match[0][opening:])
        word += "()" if match[0][opening:].startswith(word + "()") else ""
        start = match.start() + opening
        found.append(Word(word, start, start + len(word), text[start + len(word) : match.end()]))
    return tuple(found)


def stem(word: str) -> str:
    return re.sub(r"(?:ations?|ing|ed|es|ly|er|s|e)$", "", word) if len(word) > 4 else word


def content(text: str) -> set[str]:
    """The stems of the content words."""
    return {stem(word) for word in re.findall(r"[^\W\d_]{3,}", text.lower()) if word not in FUNCTION_WORDS}


def occurs(text: str, sentence: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(text)}(?:s|es)?(?![\w-])", sentence, re.IGNORECASE))


def takes_an(word: str) -> bool:
    """Whether the article of a word is `an`."""
    if re.match(r"[A-Z]{2,}", word):
        return word[0] in "AEFHILMNORSX"
    return bool(re.match(r"(?:8|11\b|18\b|hour|honest|heir|[aeiou](?!ni[^n]|s[eu]|ti|ne\b|u))", word.lower()))


def replace_span(sentence: str, start: int, end: int, new: str) -> str:
    """The sentence with a span replaced; an article before it is adjusted."""
    head = re.sub(r"(?<!\S)([Aa])n? $", lambda found: found[1] + ("n " if takes_an(new) else " "), sentence[:start])
    return head + (capitalize_first(new) if start == 0 and sentence[0].isupper() else new) + sentence[end:]


def number_spans(sentence: str) -> list[tuple[int, int]]:
    """The spans of quantities, without names and references such as `ROS 2` and `Listing 3-2`."""
    names = "|".join(word for word, value in NUMBER_WORDS.items() if 2 <= value <= 60)
    found = [match.span() for match in re.finditer(rf"{NUMBER}|\b(?:{names})\b(?!-)", sentence)]
    named = rf"(?:(?:{REFERENCE})(?: [\d-]+(?:,| and| to| through))*|\b[A-Z]\S*[A-Za-z]) $"
    return [(start, end) for start, end in found if start and not re.search(named, sentence[:start])]
