"""Words and stems: which words of a text carry meaning, with inflected forms folded together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from glossator.core.text.folding import (
    ENDING,
    MARKS,
    PROCLITIC,
    fold,
    fold_with_offsets,
    is_unspaced,
    terms,
    unspaced_characters,
)

_WORD = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*(?:['’][^\W_]+)?")
_PUNCTUATION = re.compile(rf"[^\w\s'’{MARKS}-]+")
_STOP_WORDS = frozenset(
    """
    a about above after again against all almost also although always am among an and another any anyone
    anything are aren't as at be because been before being below between both but by can can't cannot
    could couldn't did didn't do does doesn't doing don't down during each either else ever every few
    for from further get gets give given go goes got had has hasn't have haven't having he her here hers
    him his how however i i'm if in into is isn't it it's its itself just know let let's like many may
    me mean means might more most much must my need needs no nor not now of off on once one only or
    other our out over own please quite rather really same say says shall she should so some someone
    something such tell than that that's the their them then there these they thing things this those
    through to too under until up upon us use used uses using very want was wasn't way we well were what
    what's when where whether which while who whom whose why will with within without won't would versus
    vs yet you your yours explain describe happen happens difference work works
    """.split()
) | frozenset(
    term
    for word in """
    کیا کون کونسا کب کہاں کیوں کیسے ہے ہیں تھا تھے تھی کا کی کے کو سے میں پر اور یہ وہ نے
    ما ماذا من متى أين لماذا كيف هل هو هي في على إلى عن هذا هذه التي الذي
    क्या कौन कब कहाँ क्यों कैसे कितना कितने है हैं था थे थी का की के को से में पर और यह वह ने
    什么 是什 么是 怎么 如何 为什 哪里 多少 何で です すか ます とは どの のよ よう うに どこ なぜ いつ ですか
    """.split()
    for term in terms(fold(word))
)
"""Questions and particles of other scripts are among them; those of other languages in Latin script are not, as "die"
and "war" are words of English too."""
_MAX_CACHED_LENGTH = 1000
"""Texts up to this length have their words cached."""
_PLURALS = ("", "s", "es")
_SUFFIXES = tuple(
    (ending, stem)
    for ending, _, stem in (
        pair.partition(":")
        for pair in """
    ational:ate ization:ize isation:ize fulness:ful ousness:ous iveness:ive ically:ic ements:e ement:e
    ments: ment: ingly: edly: ising:ize ised:ize ises:ize ise:ize ities:ity ness: ations:ate ation:ate
    ators:ate ator:ate ings: ing: ies:y ied:y eds: ed: ers:er sses:ss ches:ch shes:sh xes:x zes:ze
    ally:al ly: s:
    """.split()
    )
)


def all_words(text: str) -> list[str]:
    """Every word, folded; in scripts without spaces between words, every pair of characters."""
    folded = fold(text)
    if folded.isascii():
        return _WORD.findall(folded)
    return [term for word in _WORD.findall(folded) for term in terms(word.replace("’", "'"))]


def content_words(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order."""
    find = _content_words if len(text) <= _MAX_CACHED_LENGTH else _content_words.__wrapped__
    return list(find(text))


@lru_cache(8192)
def _content_words(text: str) -> tuple[str, ...]:
    """Cached, as the same sentences of a book are read many times."""
    return tuple(stem(word) for word in all_words(text) if word not in _STOP_WORDS)


def adjacent_pairs(text: str) -> list[tuple[str, str]]:
    """Stems of adjacent words that carry meaning, with no punctuation between them."""
    pairs = []
    for part in _PUNCTUATION.split(text):
        words = all_words(part)
        pairs += [(stem(a), stem(b)) for a, b in pairwise(words) if a not in _STOP_WORDS and b not in _STOP_WORDS]
    return pairs


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """A light English stemmer for plurals, tenses and common endings; other scripts are left as they are."""
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for suffix, replacement in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) + len(replacement) >= 3:
            if suffix == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word[: -len(suffix)] + replacement
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


class WordFinder:
    """Finds stems in texts: a stem matches every word that begins with it."""

    def __init__(self, stems: Sequence[str]) -> None:
        self.stems = tuple(dict.fromkeys(stems))

    def find(self, text: str) -> list[tuple[int, str]]:
        """Every match, as (offset, stem)."""
        folded, offsets = fold_with_offsets(text)
        found = [(offset, stem) for stem in self.stems for offset in _matches(folded, stem)]
        return [(offsets[offset], stem) for offset, stem in found] if offsets else found


def _matches(text: str, stem: str) -> Iterator[int]:
    """Offsets of words that begin with a stem; a short stem must be the whole word, or it would match too many."""
    is_pair = is_unspaced(stem[0])
    offset = text.find(stem)
    while offset >= 0:
        if is_pair or (_begins_word(text, offset) and (len(stem) > 3 or _ends_word(text, offset + len(stem)))):
            yield offset
        offset = text.find(stem, offset + 1)


def _begins_word(text: str, offset: int) -> bool:
    """Whether a word begins here; the Arabic article is written onto it."""
    if not _is_letter(text[offset - 1 : offset]):
        return True
    start = max(0, offset - 3)
    return any(
        PROCLITIC.fullmatch(text, begin, offset) and not _is_letter(text[begin - 1 : begin] if begin else "")
        for begin in range(start, offset - 1)
    )


def _is_letter(character: str) -> bool:
    return character.isalnum() or (character != "" and character in MARKS)


def _ends_word(text: str, end: int) -> bool:
    """Whether a word ends here, apart from an ending."""
    if not text[end - 1].isascii():
        following = ENDING.match(text, end)
        return following is not None and not _is_letter(text[following.end() : following.end() + 1])
    return any(
        text.startswith(ending, end) and not text[end + len(ending) : end + len(ending) + 1].isalnum()
        for ending in _PLURALS
    )


def is_statement(text: str) -> bool:
    """Whether a text can stand in an answer: headings, labels, questions and lead-ins to a list cannot."""
    length = len(text) + 2 * unspaced_characters(text)
    return length >= 20 and len(content_words(text)) >= 3 and not text.endswith((":", "?", "：", "？", "؟"))
