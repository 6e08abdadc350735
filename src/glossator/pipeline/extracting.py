"""Answers in the book's own sentences: chosen, cited and checked."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.answer.cite import cite, cite_selection, with_verdicts
from glossator.answer.extractive import Material, choose, is_generic, points_at_text, summarise
from glossator.core.answers import Answer
from glossator.core.ports import silent
from glossator.core.question import Question
from glossator.core.thresholds import is_answerable
from glossator.core.types import Passage, Retrieved
from glossator.ingest.chunk import SELECTION, chunk_document
from glossator.ingest.selection import selection_document
from glossator.pipeline.wiring import Engine
from glossator.retrieve import nearest_chunks, selection_relevance, weigh
from glossator.store.index.generations import Generation

MAX_SELECTION_CHUNKS = 24
"""Chunks of a selection that are embedded while the reader waits; a longer one is narrowed by its words first."""


def extract(engine: Engine, question: str, found: Retrieved, book: Generation) -> Answer | None:
    """Sentences of the passages found, or None where none of them answers the question."""
    vectors = book.index.sentence_vectors([item.chunk for item in found.found])
    material = [Material(f.chunk, v, f.passage.score) for f, v in zip(found.found, vectors, strict=True)]
    quotes = choose(weigh(question, book.documents).weights, found.query.sentence, material)
    if not quotes:
        return None
    scores = {passage.chunk_id: passage.score for passage in found.passages}
    return _checked(engine, cite(quotes, scores, found.relevance, book.page_text), found.passages)


def extract_selection(engine: Engine, question: Question) -> tuple[Answer | None, float]:
    """The same from a selection, with its relevance: nothing here can reach the rest of the book."""
    selection = question.selection or ""
    words = weigh(question.text, engine.word_counts())
    chunks = chunk_document(selection_document(selection), engine.embedder.count_tokens, SELECTION)
    chunks = nearest_chunks(chunks, words, MAX_SELECTION_CHUNKS)
    embedded = engine.embedder.embed_chunks(chunks, silent)
    vectors = [embedding.sentences.astype("float32") for embedding in embedded]
    if is_generic(question.text):
        quotes = summarise([Material(c, v, 1.0) for c, v in zip(chunks, vectors, strict=True)])
        return _checked(engine, cite_selection(quotes, 1.0), [selection]), 1.0
    query = engine.embedder.embed_query(question.text)
    scores, relevance = selection_relevance(chunks, embedded, query, words, engine.embedder.calibration.selection)
    if not is_answerable(relevance, pointed_at=points_at_text(question.text)):
        return None, relevance
    material = [Material(c, v, s) for c, v, s in zip(chunks, vectors, scores, strict=True)]
    material.sort(key=lambda item: -item.relevance)
    quotes = choose(words.weights, query.sentence, material)
    if not quotes:
        return None, 0.0
    return _checked(engine, cite_selection(quotes, relevance), [selection]), relevance


def _checked(engine: Engine, answer: Answer, passages: Sequence[Passage | str]) -> Answer:
    """The answer without the sentences that the passages it was made from do not support."""
    prepared = engine.verifier.prepare(passages)
    return with_verdicts(answer, [engine.verifier.judge(cited.quote, prepared) for cited in answer.citations])
