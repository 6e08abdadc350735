"""Tokenizes passages once, and finds the windows of sentences that match a claim best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Span
from glossator.verification.reading.lexicon import synonym_groups
from glossator.verification.reading.tokenizer import Token, TokenizedText, language_of, tokenize

MAX_WINDOW_SENTENCES = 3
"""With longer windows a claim could be pieced together from unrelated sentences."""

MAX_WINDOWS = 2
"""Windows that a claim is compared with."""

MAX_PASSAGE_LENGTH = 100_000
"""In characters. The rest of a longer passage is ignored."""


@dataclass(frozen=True, slots=True)
class TokenizedPassage:
    """A passage with the character span, token span and content stems of each sentence."""

    content: TokenizedText
    sentences: tuple[Span, ...]
    token_spans: tuple[Span, ...]
    stems: tuple[frozenset[str], ...]
    all_stems: frozenset[str]
    synonym_groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class Window:
    """Adjacent sentences of one passage; `span` is in characters."""

    passage: int
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
    all_stems = frozenset(token.stem for token in content.tokens)
    known = synonym_groups()
    groups = frozenset(number for stem in all_stems for number in known.get(stem, ()))
    return TokenizedPassage(content, sentences, tuple(token_spans), stems, all_stems, groups)


def best_windows(
    claim: Sequence[Token], passages: Sequence[TokenizedPassage], max_windows: int = MAX_WINDOWS
) -> list[Window]:
    """The windows most likely to support a claim, best first."""
    weights = {token.stem: token.weight for token in claim if token.weight}
    bigrams = {(a.stem, b.stem) for a, b in pairwise(claim)}
    ranked = sorted(
        (
            (_overlap(stems, weights) + 0.3 * _shared_bigrams(passage, sentence, bigrams), -number, -sentence)
            for number, passage in enumerate(passages)
            for sentence, stems in enumerate(passage.stems)
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


def _overlap(stems: frozenset[str], weights: dict[str, float]) -> float:
    shared = stems & weights.keys()
    return sum(weights[stem] for stem in shared) - 0.01 * len(stems)


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
    return Window(number, first, last, Span(passage.sentences[first].start, passage.sentences[last].end), tokens)
