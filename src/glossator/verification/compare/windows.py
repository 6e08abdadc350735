"""Tokenizes passages once, and finds the windows of sentences, or of their clauses, that match a claim best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Span
from glossator.verification.compare.similarity import MIN_SIMILARITY, similarity
from glossator.verification.reading.lexicon import lexicon_for, synonym_groups
from glossator.verification.reading.numbers import Quantity
from glossator.verification.reading.tokenizer import TokenizedText, language_of, tokenize
from glossator.verification.reading.tokens import Token

MAX_WINDOW_SENTENCES = 3
"""With longer windows a claim could be pieced together from unrelated sentences."""

MAX_WINDOWS = 2
"""Windows that a claim is compared with, and parts of each."""

MAX_PASSAGE_LENGTH = 100_000
"""In characters. The rest of a longer passage is ignored."""

_MIN_WORDS = 2
"""Content words of a clause that says something on its own: "never, at any time" does not."""

_MAX_PIECES = 8
"""Clauses of a window that is narrowed; of a longer one, all are compared."""

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


def narrower_windows(claim: TokenizedText, window: Window) -> list[Window]:
    """The shortest runs of clauses with all words that the claim shares with a window."""
    pieces = _pieces(window.tokens, claim.language)
    if not 1 < len(pieces) <= _MAX_PIECES:
        return []
    places = (
        {n for n, other in enumerate(window.tokens) if other.weight and similarity(token, other) >= MIN_SIMILARITY}
        for token in claim.tokens
        if token.weight
    )
    shared = [at for at in places if at]
    if not shared:
        return []
    runs = [
        range(pieces[first].start, pieces[last].stop)
        for first in range(len(pieces))
        for last in range(first, len(pieces))
        if all(any(pieces[first].start <= n < pieces[last].stop for n in at) for at in shared)
    ]
    shortest = [run for run in runs if not any(_is_inside(other, run) for other in runs)]
    return [replace(window, tokens=window.tokens[run.start : run.stop]) for run in shortest[:MAX_WINDOWS]]


def _is_inside(one: range, other: range) -> bool:
    return one != other and other.start <= one.start and one.stop <= other.stop


def _pieces(tokens: Sequence[Token], language: str) -> list[range]:
    """Clauses that say something on their own; a shorter one belongs to the one before it, or else to the next."""
    found: list[range] = []
    for piece in _clauses(tokens, language):
        is_whole = sum(tokens[n].weight > 0 for n in piece) >= _MIN_WORDS
        is_first_whole = not found or sum(tokens[n].weight > 0 for n in found[-1]) >= _MIN_WORDS
        if found and not (is_whole and is_first_whole):
            found[-1] = range(found[-1].start, piece.stop)
        else:
            found.append(piece)
    return found


def _clauses(tokens: Sequence[Token], language: str) -> Iterator[range]:
    contrast = lexicon_for(language).cues["contrast"]
    start = 0
    for at in range(1, len(tokens) + 1):
        if at == len(tokens) or tokens[at].clause != tokens[at - 1].clause or tokens[at].form in contrast:
            yield range(start, at)
            start = at
