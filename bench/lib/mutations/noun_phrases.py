"""Finds noun phrases in a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lib.mutations.corpus import SHAPE, Corpus
from lib.mutations.english import Word
from lib.mutations.inflection import THIRD, VERBS, is_plural
from lib.mutations.wordlists.grammar import EXTENDING, FUNCTION_WORDS
from lib.mutations.wordlists.nouns import VAGUE_NOUNS


def noun_phrase(words: Sequence[Word], start: int, corpus: Corpus) -> int:
    """The end of the noun phrase that begins here, with its prepositional phrases; `start` if there is none."""
    end = simple_phrase(words, start, corpus)
    while start < end < len(words) - 1 and words[end].text in EXTENDING and not words[end - 1].tail:
        further = simple_phrase(words, end + 1, corpus)
        if further == end + 1:
            return start if words[end].text == "of" else end
        end = further
    return end


def simple_phrase(words: Sequence[Word], start: int, corpus: Corpus) -> int:
    determined = start < len(words) and words[start].lower in ("the", "a", "an", "each", "every")
    end = start + determined
    while end < len(words) and end - start < 5 and is_nominal(words[end], corpus):
        end += 1
        if words[end - 1].tail:
            break
    head = words[end - 1].text
    first = words[start].text if start < len(words) else ""
    if end == start + determined or head.lower() in VAGUE_NOUNS or first in VERBS or first.endswith("ing"):
        return start
    return end if corpus.is_head(head) or corpus.is_name(head) or is_code(head) else start


def is_code(word: str) -> bool:
    return bool(SHAPE.fullmatch(word)) and not word.isalpha()


def is_nominal(word: Word, corpus: Corpus) -> bool:
    if word.lower in FUNCTION_WORDS or word.text[:1].isdigit() or word.text.endswith("ly"):
        return False
    return bool(re.fullmatch(r"[\w-]+", word.text)) and (word.text not in THIRD or corpus.is_noun(word.text))


def is_plural_phrase(words: Sequence[Word], start: int, end: int) -> bool:
    """Whether the head of a noun phrase, the word before any preposition, is plural."""
    inner = [place for place in range(start, end) if words[place].text in EXTENDING]
    return is_plural(words[(inner[0] if inner else end) - 1].text)
