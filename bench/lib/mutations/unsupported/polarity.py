"""Claims with another negation, modality, quantifier or antonym."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from lib.mutations.corpus import Corpus, SourceSentence
from lib.mutations.english import capitalize_first, occurs, replace_span, shuffled, tokens
from lib.mutations.inflection import ASYMMETRIC_THIRD, find_pairs, inflect_pairs, third_person, with_degrees
from lib.mutations.wordlists.antonyms import ANTONYM_BLOCKED, ANTONYM_GRADED, ANTONYM_PLAIN, ANTONYM_VERBS
from lib.mutations.wordlists.grammar import BEFORE_AN_OBJECT
from lib.mutations.wordlists.polarity import (
    EMBEDDED_CONDITION,
    INSERTIONS,
    MODALITY,
    NEGATIVE,
    OPENING_CONDITION,
    PARTIAL,
    QUANTIFIERS,
    REMOVALS,
)

ANTONYMS = inflect_pairs(ANTONYM_VERBS, with_degrees(ANTONYM_GRADED) + ANTONYM_PLAIN, both_ways=True)


def negation(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = [*rewrites(sentence, REMOVALS), *affirmed(sentence)]
    if not re.search(NEGATIVE, sentence) and not re.match(PARTIAL, sentence):
        options += [*rewrites(sentence, INSERTIONS), *denied(sentence, corpus)]
    yield from (claim for place, claim in shuffled(options, random) if is_asserted(sentence, place))


def rewrites(sentence: str, rules: Iterable[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    for pattern, new in rules:
        for match in re.finditer(pattern, sentence):
            claim = sentence[: match.start()] + match.expand(new) + sentence[match.end() :]
            yield match.start(), capitalize_first(claim) if sentence[0].isupper() else claim


def affirmed(sentence: str) -> Iterator[tuple[int, str]]:
    """Change `does not run` to `runs`."""
    hedged = "always|only|just|necessarily|even|matter|yet|really|mean|seem|care|actually|any"
    for match in re.finditer(rf"\bdoes(?:n['’]t| not) (?!(?:{hedged})\b)([a-z]+)(?! any)(?![\w-])", sentence):
        yield match.start(), replace_span(sentence, *match.span(), third_person(match[1]))


def denied(sentence: str, corpus: Corpus) -> Iterator[tuple[int, str]]:
    """Change `runs` to `does not run`, where it is certainly a verb."""
    words = tokens(sentence)
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.text not in ASYMMETRIC_THIRD or word.tail or before.tail or after.lower not in BEFORE_AN_OBJECT:
            continue
        if corpus.is_noun(before.text) or before.lower in ("it", "which", "that") or corpus.is_name(before.text):
            yield word.start, replace_span(sentence, word.start, word.end, f"does not {ASYMMETRIC_THIRD[word.text]}")


def is_asserted(sentence: str, place: int) -> bool:
    """Whether a position is outside of conditions and wishes, and not before a contrast that would no longer fit."""
    opening = re.match(OPENING_CONDITION, sentence)
    embedded = re.search(EMBEDDED_CONDITION, sentence[:place])
    return not (opening and place < opening.end()) and not embedded and not re.search(r"\bbut\b", sentence[place:])


def modality(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    yield from change_strength(source.sentence, MODALITY, random)


def quantifier(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    yield from change_strength(source.sentence, QUANTIFIERS, random)


def change_strength(sentence: str, rules: Sequence[tuple[str, list[str]]], random: Random) -> Iterator[str]:
    options = [claim for pattern, news in rules for _, claim in rewrites(sentence, [(pattern, random.choice(news))])]
    yield from shuffled(options, random)


def antonym(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    for start, end, news in shuffled(list(find_pairs(sentence, ANTONYMS, ANTONYM_BLOCKED)), random):
        new = random.choice(news)
        times = len(re.findall(rf"\b{re.escape(sentence[start:end])}\b", sentence, re.IGNORECASE))
        if times == 1 and not occurs(new, sentence):
            yield replace_span(sentence, start, end, new)
