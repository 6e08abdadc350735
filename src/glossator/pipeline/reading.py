"""Runs the reader model on the best passages for a question: which of them answer it, and with which sentence."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ReaderUnavailable
from glossator.core.inference.reading import Reading, SourceText, extended_sentences, read_out_rows, split_source
from glossator.core.ports import Generation, Reader
from glossator.core.question import Question
from glossator.core.text.words import content_words
from glossator.core.timing import stage
from glossator.core.types import (
    CELL_SEPARATOR,
    QUOTABLE_ROW,
    TABLE_HEAD,
    BlockKind,
    Chunk,
    RetrievalResult,
    RetrievedChunk,
)
from glossator.pipeline.wiring import Engine
from glossator.retrieve import isotonic, logit_of, probability, retrieve
from glossator.verification.judge import is_in_model_language

_log = logging.getLogger(__name__)

MAX_PASSAGES = 5
"""Passages that are considered."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much the reader model reads for a question: parts of passages, those nearest to the question first."""

    first_parts: int
    max_parts: int
    """Parts read in the first stage, and in total if none of the first answers."""
    open_levels: tuple[float, float]
    """The levels of the best passage in the search between which reading may change the decision."""
    hopeless: float = -math.inf
    """If the logits of the first parts are below this, no more are read."""


FULL_EFFORT = Effort(2, 5, (-20.0, math.inf))
"""27 % of the answerable questions need the second stage; the decisions are as good as if all parts were read."""
EFFORT_UNDER_LOAD = Effort(1, 3, (-20.0, 3.0), -3.0)
"""Half of the usual work: 10.8 % of the answerable questions are refused instead of 12.2 %, and
36.1 % of those near the topic instead of 59.0 % (the books of bench/fit/fit_answers.py)."""

MAX_PART_TOKENS, MAX_QUESTION_TOKENS = 160, 90
"""A longer passage is read in parts; for a longer question only the search is used."""

ROW_TOKENS = 2.7
"""How often a token of a table row counts, so that few are read at once: among many similar rows, the model overlooks
the one that answers."""

MAX_ANSWERED_BY_OTHER_ROWS = -4.0
"""The logit of a part with table rows if the passages found lack a word of the question: every row of a table of
options looks like an answer to "What is the default of …?", for any name."""

RANK_PENALTY = 0.02
"""Subtracted from the similarity of a part for each passage that ranks higher."""

RELEVANCE = (0.58, 0.065, 0.65)
"""The logit of the relevance of a passage: a bias, and weights of its levels in the search and by the reader model.

Chosen on six books (bench/fit/fit_answers.py), with a bias that refuses 12 % of
the answerable questions: with a lower one, more of them are refused, and fewer near the topic are answered wrongly.
"""

SEARCH_LEVELS, READER_LEVELS = (-30.0, 0.0), (-6.0, 6.0)
"""Limits of both levels. A low one in the search means that the book is about something else; a higher one says little
about whether a passage answers, as questions near the topic share more words with it than reworded answerable ones."""

SELECTION_SEARCH_LEVELS = (-30.0, 4.0)
SELECTION_RELEVANCE = (-0.51, 0.51, 0.47)
"""The same for a selection (bench/fit/fit_selections.py)."""

SentenceKey = tuple[str, int]
"""A sentence: the id of its chunk, and its number there."""


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """The prediction for a question: a logit for each passage that was read, and a share for each sentence."""

    passages: Mapping[str, float]
    sentences: Mapping[SentenceKey, float]


@dataclass(frozen=True, slots=True)
class _NearPart:
    chunk: Chunk
    first: int
    source: SourceText
    nearness: float
    has_rows: bool = False
    is_best: bool = False
    """Whether no part of its chunk is nearer."""


NOTHING_READ = QuestionReading({}, {})


def search_book(engine: Engine, book: Generation, question: Question) -> RetrievalResult:
    """The best passages of one generation, scored by the search only."""
    asked = _in_one_version(book, question)
    return retrieve(engine.embedder, book.index, book.documents, asked, book.manifest.generation)


def search_keywords(engine: Engine, book: Generation, question: Question) -> RetrievalResult:
    """The best passages of one generation by keyword search only, which is cheap."""
    asked = _in_one_version(book, question)
    return retrieve(None, book.index, book.documents, asked, book.manifest.generation)


def _in_one_version(book: Generation, question: Question) -> Question:
    """The question to one version of the book: the one that it names, or else the current one."""
    version = book.manifest.searched_version(question.filters.version)
    return replace(question, filters=replace(question.filters, version=version))


async def search_in_thread(
    engine: Engine, book: Generation, question: Question
) -> tuple[RetrievalResult, QuestionReading]:
    """Search and read in a separate thread; questions that wait for one count as load."""
    with engine.load:
        return await asyncio.to_thread(search_and_read, engine, book, question)


def search_and_read(engine: Engine, book: Generation, question: Question) -> tuple[RetrievalResult, QuestionReading]:
    """The best passages, scored by the search and the reader model, with its predictions for their sentences."""
    found = search_book(engine, book, question)
    chunks = [item.chunk for item in found.chunks[:MAX_PASSAGES]]
    effort = EFFORT_UNDER_LOAD if engine.load.is_high else FULL_EFFORT
    if found.query is None or engine.reader is None or not _is_open(found, question, effort):
        return found, NOTHING_READ
    nearness = [vectors @ found.query.sentence for vectors in book.index.sentence_vectors(chunks)]
    heads = [table_heads(chunk, book) for chunk in chunks]
    reading = read_if_possible(
        partial(read_question, engine.reader, question.text, chunks, nearness, effort, heads=heads, keep=True)
    )
    return rescore(found, reading), reading


def _is_open(found: RetrievalResult, question: Question, effort: Effort) -> bool:
    """Whether the reader model may change the decision of the search."""
    # Any passage answers "What does it do?" for the reader, so the search alone decides about such a question.
    if not found.chunks or not content_words(question.text):
        return False
    lowest, highest = effort.open_levels
    return lowest <= found.chunks[0].level < highest


def read_if_possible(read: Callable[[], QuestionReading]) -> QuestionReading:
    """What the reader model predicts; if it fails, only the search decides."""
    try:
        return read()
    except ReaderUnavailable as error:
        _log.warning("reader model not used, ranking by search only: %s", error)
        return NOTHING_READ


def read_question(
    reader: Reader,
    question: str,
    chunks: Sequence[Chunk],
    nearness: Sequence[NDArray[np.float32]],
    effort: Effort = FULL_EFFORT,
    *,
    heads: Sequence[Mapping[int, str]] = (),
    keep: bool = False,
) -> QuestionReading:
    """Read the parts of chunks that are nearest to a question, given the nearness of their sentences.

    `heads` are those of the tables in each chunk. `keep` caches what was read; a user's own selection must not be
    cached.
    """
    texts = [chunk.text for chunk in chunks]
    if not is_in_model_language(texts) or reader.count_tokens([question])[0] > MAX_QUESTION_TOKENS:
        return NOTHING_READ
    near = [
        part
        for rank, (chunk, near, of_rows) in enumerate(
            zip(chunks[:MAX_PASSAGES], nearness, heads or repeat({}), strict=False)
        )
        for part in _parts(reader, chunk, near, rank, of_rows)
    ]
    near.sort(key=lambda part: (not part.is_best, -part.nearness))
    rows_can_answer = not any(heads) or _has_all_words(question, chunks, heads)
    with stage("reading"):
        read = _judge(reader, question, near[: effort.first_parts], rows_can_answer=rows_can_answer, keep=keep)
        best = max((reading.answered for _, reading in read), default=0.0)
        if effort.hopeless < best < 0:
            others = near[effort.first_parts : effort.max_parts]
            read += _judge(reader, question, others, rows_can_answer=rows_can_answer, keep=keep)
    return _combined(read)


def _has_all_words(question: str, chunks: Sequence[Chunk], heads: Sequence[Mapping[int, str]]) -> bool:
    """Whether the passages found and the heads of their tables have all words of the question."""
    texts = [f"{chunk.context}\n{chunk.text}" for chunk in chunks]
    texts += {head for of_chunk in heads for head in of_chunk.values()}
    return set(content_words(question)) <= set(content_words("\n".join(texts)))


def _judge(
    reader: Reader, question: str, parts: Sequence[_NearPart], *, rows_can_answer: bool, keep: bool
) -> list[tuple[_NearPart, Reading]]:
    readings = reader.judge(question, reader.read([part.source for part in parts], keep=keep))
    return [
        (part, reading if rows_can_answer or not part.has_rows else _without_answer(reading))
        for part, reading in zip(parts, readings, strict=False)
    ]


def _without_answer(reading: Reading) -> Reading:
    return replace(reading, answered=min(reading.answered, MAX_ANSWERED_BY_OTHER_ROWS))


def rescore(found: RetrievalResult, reading: QuestionReading) -> RetrievalResult:
    """Search results in the same order, scored with the reader model as well; scores still fall with rank."""
    if not reading.passages:
        return found
    levels = _levels_with_reader(found.chunks, reading)
    chunks = [
        replace(item, level=level, passage=replace(item.passage, score=round(probability(level), 4)))
        for item, level in zip(found.chunks, levels, strict=True)
    ]
    return replace(found, chunks=tuple(chunks))


def _levels_with_reader(items: Sequence[RetrievedChunk], reading: QuestionReading) -> list[float]:
    """The levels of passages, falling with rank; one that was not read has the level of one that was, or a lower one.

    Its own is that of the search alone, which must not count in the mean with others.
    """
    answered = [reading.passages.get(item.chunk.chunk_id) for item in items]
    joint = [joint_level(i.level, logit) for i, logit in zip(items, answered, strict=True) if logit is not None]
    fallen = isotonic(joint)
    levels, level, left = [], fallen[0], iter(fallen)
    for rank, (item, logit) in enumerate(zip(items, answered, strict=True)):
        if logit is not None:
            level = next(left)
        elif rank >= MAX_PASSAGES:
            level = min(level, item.level)
        levels.append(level)
    return levels


def joint_level(searched: float, answered: float, weights: tuple[float, float, float] = RELEVANCE) -> float:
    """The logit of a passage's relevance by its level in the search and the logit of the reader model."""
    bias, search, read = weights
    return bias + search * clamp(searched, SEARCH_LEVELS) + read * clamp(answered, READER_LEVELS)


def selection_relevance_with_reader(relevance: float, reading: QuestionReading) -> float:
    """The relevance of a selection, by the search and, if it was read, by the reader model."""
    if not reading.passages:
        return relevance
    bias, search, read = SELECTION_RELEVANCE
    level = search * clamp(logit_of(relevance), SELECTION_SEARCH_LEVELS)
    return probability(bias + level + read * clamp(max(reading.passages.values()), READER_LEVELS))


def clamp(value: float, limits: tuple[float, float]) -> float:
    """A value within limits."""
    return max(limits[0], min(limits[1], value))


def table_heads(chunk: Chunk, book: Generation) -> dict[int, str]:
    """The head of the table of each row of a chunk that can be quoted, by the start of the row."""
    if CELL_SEPARATOR not in chunk.text or (document := book.documents.get(chunk.document_id)) is None:
        return {}
    heads, head = dict[int, str](), ""
    for block in document.blocks:
        if block.kind is BlockKind.ROW and block.level == TABLE_HEAD:
            head = document.text[block.start : block.end]
        elif block.kind is BlockKind.ROW and block.level == QUOTABLE_ROW and chunk.start <= block.start < chunk.end:
            heads[block.start - chunk.start] = head
    return heads


def _parts(
    reader: Reader, chunk: Chunk, similarities: NDArray[np.float32], rank: int, heads: Mapping[int, str]
) -> list[_NearPart]:
    """The parts of a chunk, nearest first."""
    whole = read_out_rows(SourceText(chunk.heading_path, chunk.text, chunk.sentences), heads)
    counts = reader.count_tokens(extended_sentences(whole))
    starts = [span.start for span in chunk.sentences]
    lengths = [round(n * ROW_TOKENS) if start in heads else n for start, n in zip(starts, counts, strict=True)]
    parts = []
    for first, part in split_source(whole, lengths, MAX_PART_TOKENS):
        own = slice(first, first + len(part.sentences))
        nearness = float(similarities[own].max()) - RANK_PENALTY * rank
        parts.append(_NearPart(chunk, first, part, nearness, has_rows=not heads.keys().isdisjoint(starts[own])))
    parts.sort(key=lambda part: -part.nearness)
    return [replace(part, is_best=place == 0) for place, part in enumerate(parts)]


def _combined(read: Sequence[tuple[_NearPart, Reading]]) -> QuestionReading:
    """The prediction for whole passages: of each, the best part counts.

    The share of a sentence is the probability that its part answers, times the share of the sentence within the part.
    """
    passages: dict[str, float] = {}
    sentences: dict[SentenceKey, float] = {}
    for part, reading in read:
        chunk_id = part.chunk.chunk_id
        passages[chunk_id] = max(reading.answered, passages.get(chunk_id, -math.inf))
        answers = 1 / (1 + math.exp(-reading.answered))
        for n, share in enumerate(reading.sentences, part.first):
            sentences[chunk_id, n] = max(answers * share, sentences.get((chunk_id, n), 0.0))
    return QuestionReading(passages, sentences)
