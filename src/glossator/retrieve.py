"""A question becomes ranked passages: found by meaning, by sentence and by words, fused, calibrated to 0-1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glossator.core.ports import Calibration, Embedder, VectorIndex, WordCounts
from glossator.core.question import Question
from glossator.core.text.words import WordFinder, content_words, neighbours
from glossator.core.timing import stage
from glossator.core.types import Chunk, Embedding, Hit, Passage, QueryEmbedding, Retrieved, RetrievedChunk

CANDIDATES = 100
"""How many each search gives to the fusion, at least."""

RESCORED = 40
"""How many of the fused are compared sentence by sentence, at least."""

LONGEST_QUESTION = 2000
"""Characters of a question that retrieval looks at: its beginning and its end."""

SHORTEST = 4
"""A question of fewer words counts as one of so many: few of the calibration sets are shorter, and "What is SLAM?"
is no less likely to be answered than a longer question."""

JUDGED = 5
"""How many of the best passages tell whether the book speaks of a question."""

NEAR = 30
"""Two words stand together if they begin within so many characters of each other."""

FEATURES = ("dense", "sentence", "coverage", "unknown", "window", "length", "coverage*length", "phrases", "together")
"""What relevance is judged by; `features` says what each one is."""


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The question's words with their weight in this book (rare words weigh more)."""

    weights: dict[str, float]
    heaviest: float
    unknown: float
    phrases: tuple[tuple[str, str], ...]
    finder: WordFinder

    @property
    def total(self) -> float:
        return sum(self.weights.values()) or 1.0

    def present(self, text: str) -> set[str]:
        """Which of the question's words stand in a text."""
        return {stem for _, stem in self.finder.find(text)}


def retrieve(
    embedder: Embedder,
    index: VectorIndex,
    counts: WordCounts,
    question: Question,
    generation: int,
) -> Retrieved:
    """The best passages for a question."""
    text, top_k = shorten(question.text), question.top_k
    with stage("embedding"):
        query = embedder.embed_query(text)
    with stage("retrieval"):
        words = weigh(text, counts)
        hits = index.search(query, text, max(CANDIDATES, 2 * top_k), question.filters)
        ranked = rank(index, query, words, hits, embedder.calibration, max(RESCORED, 2 * top_k))
        best = _distinct(index, ranked, max(top_k, JUDGED))
        evidence = [features(chunk, r.dense, r.sentence, words) for chunk, r in best]
        found = [
            RetrievedChunk(_passage(chunk, relevance(values, embedder.calibration.book)), chunk)
            for (chunk, _), values in zip(best, evidence, strict=True)
        ]
        return Retrieved(tuple(found[:top_k]), together(evidence, embedder.calibration.book), query, generation)


def shorten(question: str) -> str:
    """A very long question by its two ends, where people ask."""
    half = LONGEST_QUESTION // 2
    return question if len(question) <= LONGEST_QUESTION else f"{question[:half]} {question[-half:]}"


def weigh(question: str, counts: WordCounts) -> QuestionWords:
    """The question's stems and how much each one tells in this book."""
    stems = list(dict.fromkeys(content_words(question)))
    total = counts.chunk_count()
    found = counts.chunks_with(stems)
    weights = {word: _idf(found[word], total) for word in stems}
    unknown = sum(weights[word] for word in stems if not found[word])
    return QuestionWords(weights, _idf(0, total), unknown, tuple(neighbours(question)), WordFinder(stems))


def _idf(chunks: int, total: int) -> float:
    return math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk's number, its fused score, and the parts it came from."""

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
    rescored: int = RESCORED,
) -> list[Ranked]:
    """Fuse the searches; ties go to the earlier chunk, so that the order never varies."""
    dense_floor = min((hit.dense for hit in hits if hit.dense is not None), default=0.0)
    trust = calibration.sparse * _best_coverage(index, words, hits)

    def first(hit: Hit) -> float:
        dense = dense_floor if hit.dense is None else hit.dense
        return calibration.dense * dense + trust * (hit.sparse or 0.0)

    best = sorted(hits, key=lambda hit: (-first(hit), hit.id))[:rescored]
    sentences = index.sentence_scores([hit.id for hit in best], query)
    ranked = [
        Ranked(hit.id, first(hit) + calibration.sentence * near, dense_floor if hit.dense is None else hit.dense, near)
        for hit, near in zip(best, sentences, strict=True)
    ]
    return sorted(ranked, key=lambda r: (-r.score, r.id))


def _best_coverage(index: VectorIndex, words: QuestionWords, hits: Sequence[Hit]) -> float:
    """The share of the question's words in the best match by words: how far that search is to be trusted."""
    best = max((hit for hit in hits if hit.sparse is not None), key=lambda hit: hit.sparse or 0.0, default=None)
    if best is None or not words.weights:
        return 0.0
    chunk = index.chunks([best.id])[0]
    return len(words.present(f"{chunk.context}\n{chunk.text}")) / len(words.weights)


def _distinct(index: VectorIndex, ranked: Sequence[Ranked], wanted: int) -> list[tuple[Chunk, Ranked]]:
    """The best chunks, each text once."""
    chosen: dict[str, tuple[Chunk, Ranked]] = {}
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
    )


def features(chunk: Chunk, dense: float, sentence: float, words: QuestionWords) -> tuple[float, ...]:
    """What tells whether a chunk answers a question.

    dense      likeness of the question to the chunk
    sentence   likeness to its nearest sentence
    coverage   share of the question's words, by weight, in the chunk or its headings
    unknown    share of the question's words that stand nowhere in the book
    window     the most weight of question words within two neighbouring sentences and the headings
    length     logarithm of the number of question words: a long question is rarely covered whole
    phrases    share of the question's neighbouring words that also stand together here
    together   how many of them do
    """
    headings = words.finder.find(chunk.context)
    above = {stem for _, stem in headings}
    places = words.finder.find(chunk.text)
    coverage = _weight(words, above | {stem for _, stem in places}) / words.total
    length = math.log(max(SHORTEST, len(words.weights)))
    whole = sum(_stand_together(pair, places, headings) for pair in words.phrases)
    return (
        dense,
        sentence,
        coverage,
        words.unknown / words.total,
        _window(chunk, above, places, words) / words.heaviest,
        length,
        coverage * length,
        whole / len(words.phrases) if words.phrases else 0.5,
        min(whole, 3.0),
    )


def _stand_together(pair: tuple[str, str], *texts: list[tuple[int, str]]) -> bool:
    first, second = pair
    return any(
        abs(here - there) <= NEAR
        for places in texts
        for here, word in places
        if word == first
        for there, other in places
        if other == second
    )


def _window(chunk: Chunk, above: set[str], places: list[tuple[int, str]], words: QuestionWords) -> float:
    best = _weight(words, above)
    for first, last in zip(chunk.sentences, (*chunk.sentences[1:], *chunk.sentences[-1:]), strict=False):
        inside = {stem for offset, stem in places if first.start <= offset < last.end}
        best = max(best, _weight(words, inside | above))
    return best


def _weight(words: QuestionWords, present: set[str]) -> float:
    return sum(words.weights[stem] for stem in present)


def relevance(values: Sequence[float], model: Sequence[float]) -> float:
    """A probability from the features."""
    logit = sum(weight * value for weight, value in zip(model, (1.0, *values), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


def together(evidence: Sequence[Sequence[float]], model: Sequence[float]) -> float:
    """How sure the best passages together make it that the book speaks of a question: the best of each feature."""
    if not evidence:
        return 0.0
    return relevance([max(values) for values in zip(*evidence[:JUDGED], strict=True)], model)


def nearest_chunks(chunks: Sequence[Chunk], words: QuestionWords, most: int) -> list[Chunk]:
    """At most so many chunks: those with the most weight of question words, in reading order."""
    if len(chunks) <= most:
        return list(chunks)

    def weight(chunk: Chunk) -> float:
        return _weight(words, words.present(chunk.text))

    best = sorted(chunks, key=lambda chunk: (-weight(chunk), chunk.position))[:most]
    return sorted(best, key=lambda chunk: chunk.position)


def selection_relevance(
    chunks: Sequence[Chunk],
    embedded: Sequence[Embedding],
    query: QueryEmbedding,
    words: QuestionWords,
    model: Sequence[float],
) -> tuple[list[float], float]:
    """How relevant each chunk of a selection is, and all together."""
    evidence = []
    for chunk, embedding in zip(chunks, embedded, strict=True):
        near = (
            float((embedding.sentences.astype("float32") @ query.sentence).max()) if len(embedding.sentences) else 0.0
        )
        evidence.append(features(chunk, float(embedding.vector @ query.vector), near, words))
    best_first = sorted(evidence, key=lambda values: -relevance(values, model))
    return [relevance(values, model) for values in evidence], together(best_first, model)
