"""Answers made of quotes: sentences of the book, chosen, cited and checked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from glossator.answer.cite import CheckedQuote, cite, cite_selection
from glossator.answer.extractive import Quote, ScoredChunk, choose_sentences
from glossator.answer.followups import asks_about_now
from glossator.answer.lead_ins import QuoteLayout
from glossator.answer.question_kinds import expected_content, is_generic, points_at
from glossator.answer.summary import choose_summary
from glossator.core.answers import Answer, Evidence
from glossator.core.ports import Generation, no_progress
from glossator.core.question import Question
from glossator.core.thresholds import is_answerable
from glossator.core.types import Block, Chunk, Passage, QueryEmbedding, RetrievalResult, Vector
from glossator.ingest.chunk import SELECTION_CHUNKS, chunk_document
from glossator.ingest.selection import selection_document
from glossator.pipeline.reading import (
    NOTHING_READ,
    QuestionReading,
    read_if_possible,
    read_question,
    selection_relevance_with_reader,
    table_heads,
)
from glossator.pipeline.wiring import Engine
from glossator.retrieve import QuestionWords, embedding_seconds, nearest_chunks, selection_relevance, weigh_words
from glossator.verification.confidence import confidence

MAX_SELECTION_CHUNKS = 24
"""Chunks of a selection that are embedded per question; a longer selection is first narrowed by keywords."""

MAX_SELECTION_TOKENS = 3000
"""Of these chunks; ordinary text stays below it."""


def extract(
    engine: Engine,
    question: str,
    found: RetrievalResult,
    book: Generation,
    reading: QuestionReading = NOTHING_READ,
    replaced: int = 0,
) -> Answer | None:
    """An answer from the passages found, or None if none of their sentences answers the question.

    `reading` has the predictions of the reader model for their sentences. `replaced` counts the claims of a language
    model that the answer replaces: they lower its confidence.
    """
    vectors = book.index.sentence_vectors([item.chunk for item in found.chunks])
    material = [
        ScoredChunk(f.chunk, v, f.passage.score, _blocks(f.chunk, book), f.behind, table_heads(f.chunk, book))
        for f, v in zip(found.chunks, vectors, strict=True)
    ]
    query = found.query.sentence if found.query else None
    weights = weigh_words(question, book.documents).weights
    quotes = choose_sentences(weights, query, material, reading.sentences, expected=expected_content(question))
    if not quotes:
        return None
    scores = {passage.chunk_id: passage.score for passage in found.passages}
    checked = _check(engine, quotes, found.passages, [_evidence(quote, found.passages) for quote in quotes])
    return cite(checked, scores, _confidence(found.relevance, checked, replaced), book.page_text)


@dataclass(frozen=True, slots=True)
class SelectionReading:
    """The best chunks of a selection for a question, with the results of the search and the reader model."""

    query: QueryEmbedding
    words: QuestionWords
    material: list[ScoredChunk]
    relevance: float
    """By the search only."""
    reading: QuestionReading


def extract_selection(engine: Engine, question: Question, replaced: int = 0) -> Answer | None:
    """An answer from the selection, or None if it does not answer; nothing here can reach the rest of the book."""
    selection = question.selection or ""
    said = read_selection(engine, question.text, selection, question.deadline)
    if is_generic(question.text):
        relevance, quotes = 1.0, choose_summary(said.material)
    else:
        relevance = selection_relevance_with_reader(said.relevance, said.reading)
        threshold, pointed_at = engine.settings.similarity_threshold, points_at(question.text, selection)
        if asks_about_now(question.text) or not is_answerable(relevance, threshold, pointed_at=pointed_at):
            return None
        weights, shares = said.words.weights, said.reading.sentences
        quotes = choose_sentences(weights, said.query.sentence, said.material, shares, fragments=True)
    checked = _check(engine, quotes, [selection], [_evidence_in_selection(quote) for quote in quotes])
    return cite_selection(checked, _confidence(relevance, checked, replaced)) if checked else None


def read_selection(engine: Engine, question: str, selection: str, deadline: float | None = None) -> SelectionReading:
    """Search and read a selection; if the question is about all of it, its chunks are in order and not read."""
    # First, as only this call has a timeout: a remote model that hangs must not hold a thread.
    query = engine.embedder.embed_query(question, embedding_seconds(deadline))
    words = weigh_words(question, engine.word_counts())
    chunks = chunk_document(selection_document(selection), engine.embedder.count_tokens, SELECTION_CHUNKS)
    chunks = _within_budget(engine, nearest_chunks(chunks, words, MAX_SELECTION_CHUNKS))
    embedded = engine.embedder.embed_chunks(chunks, no_progress)
    scores = selection_relevance(chunks, embedded, query, words, engine.embedder.calibration.selection)
    material = [
        ScoredChunk(c, e.sentences.astype("float32"), s) for c, e, s in zip(chunks, embedded, scores, strict=True)
    ]
    reading = NOTHING_READ
    if not is_generic(question):
        material.sort(key=lambda item: -item.relevance)
        reading = _read(engine, question, material, query.sentence)
    return SelectionReading(query, words, material, max(scores, default=0.0), reading)


def _read(engine: Engine, question: str, material: Sequence[ScoredChunk], query: Vector) -> QuestionReading:
    """The prediction of the reader model for the selection's best chunks."""
    if engine.reader is None:
        return NOTHING_READ
    chunks, nearness = [item.chunk for item in material], [item.vectors @ query for item in material]
    return read_if_possible(partial(read_question, engine.reader, question, chunks, nearness))


def _blocks(chunk: Chunk, book: Generation) -> tuple[Block, ...]:
    """The blocks of a chunk, with offsets that count from its start."""
    document = book.documents.get(chunk.document_id)
    return tuple(
        replace(block, start=block.start - chunk.start, end=block.end - chunk.start)
        for block in (document.blocks if document else ())
        if chunk.start <= block.start and block.end <= chunk.end
    )


def _within_budget(engine: Engine, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The first chunks of a selection, as many as can be embedded in time."""
    totals = list(accumulate(engine.embedder.count_tokens([chunk.text for chunk in chunks])))
    return list(chunks[: max(1, bisect_right(totals, MAX_SELECTION_TOKENS))])


def _check(
    engine: Engine, quotes: Sequence[Quote], passages: Sequence[Passage | str], evidence: Sequence[Evidence]
) -> list[CheckedQuote]:
    """Each quote with its verdict; the evidence for a quote is the quote."""
    prepared = engine.verifier.prepare(passages)
    verdicts = (
        (engine.verifier.judge_code if quote.layout is QuoteLayout.CODE else engine.verifier.judge)(
            quote.text, prepared, [found.source]
        )
        for quote, found in zip(quotes, evidence, strict=True)
    )
    return [
        CheckedQuote(quote, replace(verdict, evidence=found) if verdict.supported else verdict)
        for quote, found, verdict in zip(quotes, evidence, verdicts, strict=True)
    ]


def _evidence(quote: Quote, passages: Sequence[Passage]) -> Evidence:
    chunk, span = quote.chunk, quote.span
    source = next(number for number, passage in enumerate(passages, 1) if passage.chunk_id == chunk.chunk_id)
    document_span = chunk.start + span.start, chunk.start + span.end
    return Evidence(source, span.start, span.end, quote.text, chunk.chunk_id, chunk.document_id, *document_span)


def _evidence_in_selection(quote: Quote) -> Evidence:
    start = quote.chunk.start + quote.span.start
    return Evidence(1, start, start + len(quote.text), quote.text)


def _confidence(relevance: float, checked: Sequence[CheckedQuote], replaced: int) -> float:
    scores = [each.verdict.score for each in checked if each.verdict.supported]
    return confidence(relevance, scores, len(checked) - len(scores) + replaced)
