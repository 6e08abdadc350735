"""Answers of the book's own sentences: chosen, cited, checked; or an abstention."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.answer.cite import abstain, cite, cite_selection, with_verdicts
from glossator.answer.extractive import Material, choose, is_generic, points_at_text, summarise
from glossator.core.ports import silent
from glossator.core.types import Answer, Mode, Passage, Retrieved
from glossator.ingest.chunk import SELECTION, chunk_document
from glossator.ingest.selection import selection_document
from glossator.pipeline.wiring import Parts
from glossator.retrieve import nearest_chunks, selection_relevance, weigh
from glossator.store.index.generations import Generation

ABSTAIN_BELOW = 0.3
"""Relevance under which the book is taken not to speak of a question; 0.3 to 0.5 is low confidence."""

ABSTAIN_BELOW_POINTING = 0.1
"""The same for a selection when the question points at it."""

SELECTION_CHUNKS = 24
"""Chunks of a selection that are embedded while the reader waits; a longer one is narrowed by its words first."""


def extract(parts: Parts, question: str, found: Retrieved, book: Generation) -> Answer:
    """The book's own sentences, or an abstention."""
    if found.relevance < ABSTAIN_BELOW:
        return abstain(found.passages, Mode.NO_RESULTS, found.relevance)
    vectors = book.index.sentence_vectors([item.chunk for item in found.found])
    material = [Material(f.chunk, v, f.passage.score) for f, v in zip(found.found, vectors, strict=True)]
    quotes = choose(weigh(question, book.documents).weights, found.query.sentence, material)
    if not quotes:
        return abstain(found.passages, Mode.NO_RESULTS, found.relevance)
    scores = {passage.chunk_id: passage.score for passage in found.passages}
    return _checked(parts, cite(quotes, scores, found.relevance, book.page_text), found.passages)


def extract_selection(parts: Parts, question: str, selection: str) -> Answer:
    """The same from a selection: nothing here can reach the rest of the book."""
    return _checked(parts, _choose_from(parts, question, selection), [selection])


def _choose_from(parts: Parts, question: str, selection: str) -> Answer:
    words = weigh(question, parts.word_counts())
    document = selection_document(selection)
    chunks = nearest_chunks(chunk_document(document, parts.embedder.count_tokens, SELECTION), words, SELECTION_CHUNKS)
    embedded = parts.embedder.embed_chunks(chunks, silent)
    if is_generic(question):
        quotes = summarise(
            [Material(c, e.sentences.astype("float32"), 1.0) for c, e in zip(chunks, embedded, strict=True)]
        )
        return cite_selection(quotes, 1.0)
    query = parts.embedder.embed_query(question)
    scores, overall = selection_relevance(chunks, embedded, query, words, parts.embedder.calibration.selection)
    if overall < (ABSTAIN_BELOW_POINTING if points_at_text(question) else ABSTAIN_BELOW):
        return abstain((), Mode.SELECTED_TEXT, overall)
    material = [Material(c, e.sentences.astype("float32"), s) for c, e, s in zip(chunks, embedded, scores, strict=True)]
    material.sort(key=lambda item: -item.relevance)
    quotes = choose(words.weights, query.sentence, material)
    return cite_selection(quotes, overall) if quotes else abstain((), Mode.SELECTED_TEXT, 0.0)


def _checked(parts: Parts, answer: Answer, passages: Sequence[Passage | str]) -> Answer:
    """Every sentence of an answer against the passages that it was made from; what they do not say is left out."""
    if answer.abstained:
        return answer
    prepared = parts.verifier.prepare(passages)
    checked = with_verdicts(answer, [parts.verifier.judge(cited.quote, prepared) for cited in answer.citations])
    return checked if checked.sentences else abstain((), answer.mode, 0.0)
