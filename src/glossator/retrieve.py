"""Retrieval: dense, sentence and keyword search, fused into ranked passages with scores calibrated to 0-1.

While the embedding model is unavailable, only keywords are searched.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import fmean

from glossator.core.errors import EmbeddingModelUnavailable, EmbeddingRequestRejected
from glossator.core.ports import Calibration, Embedder, VectorIndex, WordCounts
from glossator.core.question import Question
from glossator.core.resilience.deadline import call_within
from glossator.core.text.words import WordFinder, adjacent_pairs, content_words
from glossator.core.timing import stage
from glossator.core.types import Chunk, Embedding, Hit, Passage, QueryEmbedding, RetrievalResult, RetrievedChunk

_log = logging.getLogger(__name__)

MIN_CANDIDATES = 100
"""Minimum number of candidates from each search."""

MIN_RESCORED = 40
"""Minimum number of fused candidates that are rescored by their sentences."""

MAX_QUERY_LENGTH = 2000
"""Characters of a question that are searched for: its beginning and its end."""

MAX_EMBEDDING_SECONDS = 10.0
"""For a remote model to embed a question; a hanging model must not block every request."""

MIN_QUESTION_WORDS = 4
"""Shorter questions count as this long: the calibration sets contain few of them, and "What is SLAM?" is no less
likely to be answered than a longer question."""

RELEVANCE_PASSAGES = 5
"""Best passages that determine the relevance of the book to a question."""

MAX_PHRASE_DISTANCE = 30
"""Two words form a phrase if they begin within this many characters of each other."""

FEATURES = ("dense", "sentence", "coverage", "unknown", "window", "length", "coverage*length", "phrases", "together")
"""Inputs of the relevance model; `features` defines them."""

VECTOR_FEATURES = 2
"""How many of them, the first, come from vectors."""

KEYWORD_MODEL = (-6.6224, 4.2509, -1.0799, 0.0603, 2.3011, -0.2779, 0.6899, -0.3052)
"""The relevance model without them (bias first), as bench/fit/keywords.py prints it."""


RELEASE_NOTES, MAX_RELEASE_NOTES = 2.0, 20
"""Subtracted from the fused score of release notes unless the question asks about them, among so many best hits."""

_VERSION = re.compile(r"(?:[A-Za-z]+ ){0,2}v?\d+(?:\.\d+)+(?:\W.*)?$")
_RELEASE_NOTES_PAGE = re.compile(
    r"(?:^|[/_-])(?:changes|change-?logs?|history|release[s_-]?(?:notes?)?|whats?[-_]?new|news)(?:[/_.-]|$)",
    re.IGNORECASE,
)
_ASKS_ABOUT_RELEASES = re.compile(
    r"\b(?:change-?log|chang(?:es?|ed) (?:in|between|since|from)|what(?:'s| is| was| has)? (?:new|changed)"
    r"|new (?:in|features?)|releases?|released|deprecated|removed|introduced|breaking|upgrad\w+|migrat\w+|history"
    r"|when was|v?\d+\.\d+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The question's words with their weight in this book: rare words weigh more."""

    weights: dict[str, float]
    max_weight: float
    unknown: float
    phrases: tuple[tuple[str, str], ...]
    finder: WordFinder

    @property
    def total(self) -> float:
        return sum(self.weights.values()) or 1.0

    def present(self, text: str) -> set[str]:
        """The words of the question that occur in a text."""
        return {stem for _, stem in self.finder.find(text)}


def retrieve(
    embedder: Embedder | None,
    index: VectorIndex,
    counts: WordCounts,
    question: Question,
    generation: int,
) -> RetrievalResult:
    """The best passages for a question; without an embedder, by keyword search only."""
    text, top_k = shorten(question.text), question.top_k
    with stage("embedding"):
        embedded = _embed(embedder, text, embedding_seconds(question.deadline)) if embedder else None
    with stage("retrieval"):
        words = weigh_words(text, counts)
        query = embedded.query if embedded else None
        hits = index.search(query, text, max(MIN_CANDIDATES, 2 * top_k), question.filters)
        if embedded:
            limit = max(MIN_RESCORED, 2 * top_k)
            ranked = rank(index, embedded.query, words, hits, embedded.calibration, limit)
        else:
            ranked = rank_by_keywords(hits)
        if not asks_about_releases(text):
            ranked = _release_notes_lower(index, ranked)
        best = _distinct(index, ranked, max(top_k, RELEVANCE_PASSAGES))
        levels = isotonic([_level(features(chunk, r.dense, r.sentence, words), embedded) for chunk, r in best])
        found = [
            RetrievedChunk(_passage(chunk, probability(level)), chunk, level, best[0][1].score - r.score)
            for (chunk, r), level in zip(best, levels, strict=True)
        ]
        return RetrievalResult(tuple(found[:top_k]), query, generation)


@dataclass(frozen=True, slots=True)
class _EmbeddedQuestion:
    query: QueryEmbedding
    calibration: Calibration


def _embed(embedder: Embedder, text: str, seconds: float) -> _EmbeddedQuestion | None:
    """The question's vectors and what their scores mean; None while the model is unavailable."""
    try:
        query = embedder.embed_query(text, seconds)
        return _EmbeddedQuestion(query, call_within(seconds, lambda: embedder.calibration))
    except EmbeddingRequestRejected:
        raise
    except (EmbeddingModelUnavailable, TimeoutError) as error:
        _log.warning("only keywords are searched: %s", str(error) or "the calibration of the embedding model timed out")
        return None


def _level(values: Sequence[float], embedded: _EmbeddedQuestion | None) -> float:
    if embedded is None:
        return relevance_logit(values[VECTOR_FEATURES:], KEYWORD_MODEL)
    return relevance_logit(values, embedded.calibration.book)


def embedding_seconds(deadline: float | None) -> float:
    """How long a question may take to embed: half of the time that is left for its answer, if that is limited."""
    if deadline is None:
        return MAX_EMBEDDING_SECONDS
    return min(MAX_EMBEDDING_SECONDS, max(0.0, deadline - time.monotonic()) / 2)


def shorten(question: str) -> str:
    """The two ends of a very long question, where the actual question usually is."""
    half = MAX_QUERY_LENGTH // 2
    return question if len(question) <= MAX_QUERY_LENGTH else f"{question[:half]} {question[-half:]}"


def weigh_words(question: str, counts: WordCounts) -> QuestionWords:
    """The question's stems with their inverse document frequency in this book."""
    stems = list(dict.fromkeys(content_words(question)))
    total = counts.chunk_count()
    found = counts.chunks_with(stems)
    weights = {word: _idf(found[word], total) for word in stems}
    unknown = sum(weights[word] for word in stems if not found[word])
    return QuestionWords(weights, _idf(0, total), unknown, tuple(adjacent_pairs(question)), WordFinder(stems))


def _idf(chunks: int, total: int) -> float:
    return math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A chunk's number and fused score, with the dense and sentence scores it includes."""

    id: int
    score: float
    dense: float
    sentence: float


def rank(
    index: VectorIndex,
    query: QueryEmbedding,
    words: QuestionWords,
    hits: Sequence[Hit],
    calibration: Calibration,
    rescored: int = MIN_RESCORED,
) -> list[RankedHit]:
    """Fuse the searches; ties go to the earlier chunk, so that the order is deterministic."""
    dense_floor = min((hit.dense for hit in hits if hit.dense is not None), default=0.0)
    sparse_weight = calibration.sparse * _best_coverage(index, words, hits)

    def first_score(hit: Hit) -> float:
        dense = dense_floor if hit.dense is None else hit.dense
        return calibration.dense * dense + sparse_weight * (hit.sparse or 0.0)

    best = sorted(hits, key=lambda hit: (-first_score(hit), hit.id))[:rescored]
    sentences = index.sentence_scores([hit.id for hit in best], query)
    ranked = [
        RankedHit(
            id=hit.id,
            score=first_score(hit) + calibration.sentence * sentence,
            dense=dense_floor if hit.dense is None else hit.dense,
            sentence=sentence,
        )
        for hit, sentence in zip(best, sentences, strict=True)
    ]
    return sorted(ranked, key=lambda r: (-r.score, r.id))


def rank_by_keywords(hits: Sequence[Hit]) -> list[RankedHit]:
    """The hits of the keyword search; ties go to the earlier chunk."""
    ranked = [RankedHit(hit.id, hit.sparse, 0.0, 0.0) for hit in hits if hit.sparse is not None]
    return sorted(ranked, key=lambda r: (-r.score, r.id))


def asks_about_releases(question: str) -> bool:
    """Whether a question asks what changed, or about a certain version."""
    return bool(_ASKS_ABOUT_RELEASES.search(question))


def _release_notes_lower(index: VectorIndex, ranked: Sequence[RankedHit]) -> list[RankedHit]:
    """The best hits in a new order: release notes mention everything, and explain little."""
    best = ranked[:MAX_RELEASE_NOTES]
    chunks = index.chunks([r.id for r in best])
    lowered = [
        replace(r, score=r.score - RELEASE_NOTES * _is_release_note(chunk))
        for r, chunk in zip(best, chunks, strict=True)
    ]
    return [*sorted(lowered, key=lambda r: (-r.score, r.id)), *ranked[MAX_RELEASE_NOTES:]]


def _is_release_note(chunk: Chunk) -> bool:
    """Whether a page is named as a list of changes, or a heading is a version ("1.2.0 - 2022-05-22")."""
    is_version = any(_VERSION.match(heading) for heading in chunk.heading_path)
    return is_version or bool(_RELEASE_NOTES_PAGE.search(chunk.document_id))


def _best_coverage(index: VectorIndex, words: QuestionWords, hits: Sequence[Hit]) -> float:
    """The share of the question's words in the best keyword match: how far to trust the keyword search."""
    best = max((hit for hit in hits if hit.sparse is not None), key=lambda hit: hit.sparse or 0.0, default=None)
    if best is None or not words.weights:
        return 0.0
    chunk = index.chunks([best.id])[0]
    return len(words.present(f"{chunk.context}\n{chunk.text}")) / len(words.weights)


def _distinct(index: VectorIndex, ranked: Sequence[RankedHit], wanted: int) -> list[tuple[Chunk, RankedHit]]:
    """The best chunks, without duplicate texts."""
    chosen: dict[str, tuple[Chunk, RankedHit]] = {}
    for start in range(0, len(ranked), wanted):
        group = ranked[start : start + wanted]
        for chunk, r in zip(index.chunks([r.id for r in group]), group, strict=True):
            chosen.setdefault(chunk.text, (chunk, r))
        if len(chosen) >= wanted:
            break
    return list(chosen.values())[:wanted]


def _passage(chunk: Chunk, score: float) -> Passage:
    return Passage(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        url=chunk.url,
        title=chunk.title,
        section=chunk.section,
        heading_path=chunk.heading_path,
        anchor=chunk.anchor,
        position=chunk.position,
        start=chunk.start,
        end=chunk.end,
        text=chunk.text,
        score=round(score, 4),
        version=chunk.version,
    )


def features(
    chunk: Chunk, dense: float, sentence: float, words: QuestionWords, min_words: int = MIN_QUESTION_WORDS
) -> tuple[float, ...]:
    """The inputs of the relevance model for one chunk.

    dense      similarity of the question to the chunk
    sentence   similarity to its most similar sentence
    coverage   weighted share of the question's words in the chunk or its headings
    unknown    weighted share of the question's words that occur nowhere in the book
    window     maximum weight of question words within two adjacent sentences and the headings
    length     logarithm of the number of question words: a long question is rarely covered completely
    phrases    share of the question's adjacent word pairs that are also close together here
    together   number of those pairs
    """
    headings = words.finder.find(chunk.context)
    above = {stem for _, stem in headings}
    matches = words.finder.find(chunk.text)
    coverage = _weight(words, above | {stem for _, stem in matches}) / words.total
    length = math.log(max(min_words, len(words.weights)))
    phrases = sum(_is_phrase(pair, matches, headings) for pair in words.phrases)
    return (
        dense,
        sentence,
        coverage,
        words.unknown / words.total,
        _window(chunk, above, matches, words) / words.max_weight,
        length,
        coverage * length,
        phrases / len(words.phrases) if words.phrases else 0.5,
        min(phrases, 3.0),
    )


def _is_phrase(pair: tuple[str, str], *texts: list[tuple[int, str]]) -> bool:
    first, second = pair
    return any(
        abs(first_at - second_at) <= MAX_PHRASE_DISTANCE
        for matches in texts
        for first_at, word in matches
        if word == first
        for second_at, other in matches
        if other == second
    )


def _window(chunk: Chunk, above: set[str], matches: list[tuple[int, str]], words: QuestionWords) -> float:
    best = _weight(words, above)
    for first, last in zip(chunk.sentences, (*chunk.sentences[1:], *chunk.sentences[-1:]), strict=False):
        inside = {stem for offset, stem in matches if first.start <= offset < last.end}
        best = max(best, _weight(words, inside | above))
    return best


def _weight(words: QuestionWords, present: set[str]) -> float:
    return sum(words.weights[stem] for stem in present)


def relevance_logit(values: Sequence[float], model: Sequence[float]) -> float:
    """The relevance model: the logit of a probability, from the features."""
    return sum(weight * value for weight, value in zip(model, (1.0, *values), strict=True))


def probability(level: float) -> float:
    """The probability of a logit."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, level))))


def logit_of(score: float) -> float:
    """The logit of a probability."""
    clipped = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(clipped / (1 - clipped))


def isotonic(levels: Sequence[float]) -> list[float]:
    """The levels made to fall with rank, by isotonic regression: passages in the wrong order share their mean.

    The ranking knows better which passage comes first, the relevance model how relevant they are. Only the best few
    are averaged, the others lowered, so that a score does not depend on how many passages are asked for.
    """
    pools: list[list[float]] = []
    for level in levels[:RELEVANCE_PASSAGES]:
        pools.append([level])
        while len(pools) > 1 and fmean(pools[-2]) < fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    best = [fmean(pool) for pool in pools for _ in pool]
    return list(accumulate([*best, *levels[RELEVANCE_PASSAGES:]], min))


def nearest_chunks(chunks: Sequence[Chunk], words: QuestionWords, limit: int) -> list[Chunk]:
    """The `limit` chunks with the highest weight of question words, in reading order."""
    if len(chunks) <= limit:
        return list(chunks)

    def weight(chunk: Chunk) -> float:
        return _weight(words, words.present(chunk.text))

    best = sorted(chunks, key=lambda chunk: (-weight(chunk), chunk.position))[:limit]
    return sorted(best, key=lambda chunk: chunk.position)


def selection_relevance(
    chunks: Sequence[Chunk],
    embedded: Sequence[Embedding],
    query: QueryEmbedding,
    words: QuestionWords,
    model: Sequence[float],
) -> list[float]:
    """The relevance of each chunk of a selection."""
    scores = []
    for chunk, embedding in zip(chunks, embedded, strict=True):
        sentence = (
            float((embedding.sentences.astype("float32") @ query.sentence).max()) if len(embedding.sentences) else 0.0
        )
        values = features(chunk, float(embedding.vector @ query.vector), sentence, words)
        scores.append(probability(relevance_logit(values, model)))
    return scores
