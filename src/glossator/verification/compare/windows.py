"""Passages made ready once, so that each claim can be laid beside them quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Span
from glossator.verification.reading.lexicon import groups
from glossator.verification.reading.tokenizer import Reading, Token, language_of, read

LONGEST = 3
"""Sentences that one claim may draw on; more would let a claim be pieced together from anything."""

MOST_TEXT = 100_000
"""Characters of one passage that are read."""


@dataclass(frozen=True, slots=True)
class Source:
    """One passage: its tokens, and each sentence's place among characters and tokens."""

    reading: Reading
    sentences: tuple[Span, ...]
    tokens: tuple[Span, ...]
    stems: tuple[frozenset[str], ...]
    everything: frozenset[str]
    kinds: frozenset[int]


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring sentences of one passage; `span` counts characters of the passage."""

    source: int
    first: int
    last: int
    span: Span
    tokens: tuple[Token, ...]


def prepare(texts: Sequence[str]) -> tuple[Source, ...]:
    """Read every passage."""
    texts = [text[:MOST_TEXT] for text in texts]
    language = language_of(" ".join(text[:1000] for text in texts[:4]))
    return tuple(_source(text, language) for text in texts)


def _source(text: str, language: str) -> Source:
    reading = read(text, language)
    sentences = tuple(split_sentences(text))
    places: list[Span] = []
    at = 0
    for sentence in sentences:
        begin = at
        while at < len(reading.tokens) and reading.tokens[at].start < sentence.end:
            at += 1
        places.append(Span(begin, at))
    stems = tuple(frozenset(t.stem for t in reading.tokens[p.start : p.end] if t.weight) for p in places)
    everything = frozenset(token.stem for token in reading.tokens)
    known = groups()
    kinds = frozenset(number for stem in everything for number in known.get(stem, ()))
    return Source(reading, sentences, tuple(places), stems, everything, kinds)


def windows(claim: Sequence[Token], sources: Sequence[Source], most: int = 2) -> list[Window]:
    """The likeliest places of the evidence, best first."""
    weights = {token.stem: token.weight for token in claim if token.weight}
    pairs = {(a.stem, b.stem) for a, b in pairwise(claim)}
    ranked = sorted(
        (
            (_score(stems, weights) + 0.3 * _pairs(source, number, pairs), -place, -number)
            for place, source in enumerate(sources)
            for number, stems in enumerate(source.stems)
        ),
        reverse=True,
    )[: most + 2]
    found: dict[tuple[int, int, int], Window] = {}
    for score, place, number in ranked:
        if found and (score < 0.75 * ranked[0][0] or len(found) == most):
            break
        window = _grow(sources[-place], -place, -number, weights)
        if not any(
            w.source == window.source and w.first <= window.first and window.last <= w.last for w in found.values()
        ):
            found[window.source, window.first, window.last] = window
    return list(found.values())


def _score(stems: frozenset[str], weights: dict[str, float]) -> float:
    shared = stems & weights.keys()
    return sum(weights[stem] for stem in shared) - 0.01 * len(stems)


def _pairs(source: Source, number: int, wanted: set[tuple[str, str]]) -> int:
    place = source.tokens[number]
    tokens = source.reading.tokens[place.start : place.end]
    return len({(a.stem, b.stem) for a, b in pairwise(tokens)} & wanted)


def _grow(source: Source, place: int, seed: int, weights: dict[str, float]) -> Window:
    """Take in a neighbour as long as it says something of the claim that is not said yet."""
    first = last = seed
    said = source.stems[seed] & weights.keys()
    while last - first + 1 < LONGEST:
        gains = {
            n: sum(weights[s] for s in (source.stems[n] & weights.keys()) - said)
            for n in (first - 1, last + 1)
            if 0 <= n < len(source.stems)
        }
        best = max(gains, key=lambda n: gains[n], default=None)
        if best is None or gains[best] < 1.0:
            break
        said = said | (source.stems[best] & weights.keys())
        first, last = min(first, best), max(last, best)
    tokens = source.reading.tokens[source.tokens[first].start : source.tokens[last].end]
    return Window(place, first, last, Span(source.sentences[first].start, source.sentences[last].end), tokens)
