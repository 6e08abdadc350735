"""Tokenizes passages once, and finds the windows of sentences that match a claim best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Span
from glossator.verification.reading.lexicon import synonym_groups
from glossator.verification.reading.numbers import Quantity
from glossator.verification.reading.tokenizer import TokenizedText, language_of, tokenize
from glossator.verification.reading.tokens import Token

MAX_WINDOW_SENTENCES = 3
"""With longer windows a claim could be pieced together from unrelated sentences."""

MAX_WINDOWS = 2
"""Windows that a claim is compared with."""

MAX_PASSAGE_LENGTH = 100_000
"""In characters. The rest of a longer passage is ignored."""


_MAX_RANKED = 24
"""Sentences with the most words of a claim, whose word pairs are compared as well."""


@dataclass(frozen=True, slots=True)
class TokenizedPassage:
    """A passage with the character span, token span and content stems of each sentence.

    `sentences_with` gives the numbers of the sentences that contain a stem.
    """

    content: TokenizedText
    sentences: tuple[Span, ...]
    token_spans: tuple[Span, ...]
    stems: tuple[frozenset[str], ...]
    sentences_with: dict[str, list[int]]
    all_stems: frozenset[str]
    synonym_groups: frozenset[int]
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Adjacent sentences of one passage, around the one that matches best; `span` is in characters."""

    passage: int
    seed: int
    first: int
    last: int
    span: Span
    tokens: tuple[Token, ...]


def tokenize_passages(texts: Sequence[str]) -> tuple[TokenizedPassage, ...]:
    """Tokenize passages, in the language of the first few."""
    texts = [text[:MAX_PASSAGE_LENGTH] for text in texts]
    language = language_of(" ".join(text[:1000] for text in texts[:4]))
    return tuple(_tokenize_passage(text, language) for text in texts)


def _tokenize_passage(text: str, language: str) -> TokenizedPassage:
    content = tokenize(text, language)
    sentences = tuple(split_sentences(text))
    token_spans: list[Span] = []
    at = 0
    for sentence in sentences:
        begin = at
        while at < len(content.tokens) and content.tokens[at].start < sentence.end:
            at += 1
        token_spans.append(Span(begin, at))
    stems = tuple(frozenset(t.stem for t in content.tokens[s.start : s.end] if t.weight) for s in token_spans)
    sentences_with: dict[str, list[int]] = {}
    for number, found in enumerate(stems):
        for stem in found:
            sentences_with.setdefault(stem, []).append(number)
    all_stems = frozenset(token.stem for token in content.tokens)
    known = synonym_groups()
    groups = frozenset(number for stem in all_stems for number in known.get(stem, ()))
    quantities = tuple(dict.fromkeys(token.quantity for token in content.tokens if token.quantity))
    return TokenizedPassage(
        content, sentences, tuple(token_spans), stems, sentences_with, all_stems, groups, quantities
    )


def best_windows(
    claim: Sequence[Token], passages: Sequence[TokenizedPassage], max_windows: int = MAX_WINDOWS
) -> list[Window]:
    """The windows most likely to support a claim, best first."""
    weights = {token.stem: token.weight for token in claim if token.weight}
    bigrams = {(a.stem, b.stem) for a, b in pairwise(claim)}
    nearest = nlargest(
        _MAX_RANKED, ((*found, -number) for number, p in enumerate(passages) for found in _overlaps(p, weights))
    )
    ranked = sorted(
        (
            (overlap + 0.3 * _shared_bigrams(passages[-number], -sentence, bigrams), number, sentence)
            for overlap, sentence, number in nearest
        ),
        reverse=True,
    )[: max_windows + 2]
    found: list[Window] = []
    for score, number, sentence in ranked:
        if found and (score < 0.75 * ranked[0][0] or len(found) == max_windows):
            break
        window = _extend(passages[-number], -number, -sentence, weights)
        if not any(_contains(other, window) for other in found):
            found.append(window)
    return found


def _contains(outer: Window, inner: Window) -> bool:
    return outer.passage == inner.passage and outer.first <= inner.first and inner.last <= outer.last


def _overlaps(passage: TokenizedPassage, weights: dict[str, float]) -> Iterator[tuple[float, int]]:
    """How much of a claim each sentence contains, with its negated number; a short sentence ranks before a long one."""
    shared: dict[int, float] = {}
    for stem, weight in weights.items():
        for sentence in passage.sentences_with.get(stem, ()):
            shared[sentence] = shared.get(sentence, 0.0) + weight
    if not shared and passage.stems:
        shared = {0: 0.0}
    return ((weight - 0.01 * len(passage.stems[sentence]), -sentence) for sentence, weight in shared.items())


def _shared_bigrams(passage: TokenizedPassage, sentence: int, wanted: set[tuple[str, str]]) -> int:
    span = passage.token_spans[sentence]
    tokens = passage.content.tokens[span.start : span.end]
    return len({(a.stem, b.stem) for a, b in pairwise(tokens)} & wanted)


def _extend(passage: TokenizedPassage, number: int, seed: int, weights: dict[str, float]) -> Window:
    """Grow a window from a sentence, as long as a neighbour covers more of the claim."""
    first = last = seed
    covered = passage.stems[seed] & weights.keys()
    while last - first + 1 < MAX_WINDOW_SENTENCES:
        gains = {
            n: sum(weights[s] for s in (passage.stems[n] & weights.keys()) - covered)
            for n in (first - 1, last + 1)
            if 0 <= n < len(passage.stems)
        }
        best = max(gains, key=lambda n: gains[n], default=None)
        if best is None or gains[best] < 1.0:
            break
        covered = covered | (passage.stems[best] & weights.keys())
        first, last = min(first, best), max(last, best)
    tokens = passage.content.tokens[passage.token_spans[first].start : passage.token_spans[last].end]
    return Window(number, seed, first, last, Span(passage.sentences[first].start, passage.sentences[last].end), tokens)
