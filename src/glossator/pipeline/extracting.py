"""Answers made of quotes: sentences of the book, chosen, cited and checked."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.answer.cite import cite, cite_selection, with_verdicts
from glossator.answer.extractive import ScoredChunk, choose_sentences, choose_summary, is_generic, refers_to_text
from glossator.core.answers import Answer
from glossator.core.ports import no_progress
from glossator.core.question import Question
from glossator.core.thresholds import is_answerable
from glossator.core.types import Passage, RetrievalResult
from glossator.ingest.chunk import SELECTION_CHUNKS, chunk_document
from glossator.ingest.selection import selection_document
from glossator.pipeline.wiring import Engine
from glossator.retrieve import embedding_seconds, nearest_chunks, selection_relevance, weigh_words
from glossator.store.index.generations import Generation

MAX_SELECTION_CHUNKS = 24
"""Chunks of a selection that are embedded per question; a longer selection is first narrowed by keywords."""


def extract(engine: Engine, question: str, found: RetrievalResult, book: Generation) -> Answer | None:
    """An answer from the passages found, or None if none of their sentences answers the question."""
    vectors = book.index.sentence_vectors([item.chunk for item in found.chunks])
    material = [ScoredChunk(f.chunk, v, f.passage.score) for f, v in zip(found.chunks, vectors, strict=True)]
    quotes = choose_sentences(weigh_words(question, book.documents).weights, found.query.sentence, material)
    if not quotes:
        return None
    scores = {passage.chunk_id: passage.score for passage in found.passages}
    return _checked(engine, cite(quotes, scores, found.relevance, book.page_text), found.passages)


def extract_selection(engine: Engine, question: Question) -> tuple[Answer | None, float]:
    """An answer from the selection, with its relevance; nothing here can reach the rest of the book."""
    selection = question.selection or ""
    # First, as only this call has a timeout: a remote model that hangs must not hold a thread.
    query = engine.embedder.embed_query(question.text, embedding_seconds(question.deadline))
    words = weigh_words(question.text, engine.word_counts())
    chunks = chunk_document(selection_document(selection), engine.embedder.count_tokens, SELECTION_CHUNKS)
    chunks = nearest_chunks(chunks, words, MAX_SELECTION_CHUNKS)
    embedded = engine.embedder.embed_chunks(chunks, no_progress)
    vectors = [embedding.sentences.astype("float32") for embedding in embedded]
    if is_generic(question.text):
        quotes = choose_summary([ScoredChunk(c, v, 1.0) for c, v in zip(chunks, vectors, strict=True)])
        return _checked(engine, cite_selection(quotes, 1.0), [selection]), 1.0
    scores, relevance = selection_relevance(chunks, embedded, query, words, engine.embedder.calibration.selection)
    if not is_answerable(relevance, pointed_at=refers_to_text(question.text)):
        return None, relevance
    material = [ScoredChunk(c, v, s) for c, v, s in zip(chunks, vectors, scores, strict=True)]
    material.sort(key=lambda item: -item.relevance)
    quotes = choose_sentences(words.weights, query.sentence, material)
    if not quotes:
        return None, 0.0
    return _checked(engine, cite_selection(quotes, relevance), [selection]), relevance


def _checked(engine: Engine, answer: Answer, passages: Sequence[Passage | str]) -> Answer:
    """The answer, without sentences that its passages do not support."""
    prepared = engine.verifier.prepare(passages)
    return with_verdicts(answer, [engine.verifier.judge(cited.quote, prepared) for cited in answer.citations])
