"""Chosen sentences become an answer: numbered, cited, each citation a link to the very words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from glossator.answer.extractive import Quote
from glossator.core.links import deep_link
from glossator.core.types import Answer, Citation, Mode, Passage, Sentence, Suggestion

NOT_IN_BOOK = "The book does not answer this question."
NOT_IN_SELECTION = "This is not found in your selection."

PageText = Callable[[str], str]
"""Gives a document's text by its id."""


def cite(
    question: str, quotes: Sequence[Quote], scores: dict[str, float], confidence: float, page_text: PageText
) -> Answer:
    """An answer from the book."""
    citations = tuple(
        Citation(
            number=number,
            url=_link(quote, page_text(quote.chunk.document_id)),
            title=quote.chunk.title,
            section=quote.chunk.section,
            quote=quote.text,
            start=quote.chunk.start + quote.span.start,
            end=quote.chunk.start + quote.span.end,
            score=scores.get(quote.chunk.chunk_id, 0.0),
            chunk_id=quote.chunk.chunk_id,
            document_id=quote.chunk.document_id,
        )
        for number, quote in enumerate(quotes, 1)
    )
    return _answer(question, citations, Mode.FULL, confidence)


def cite_selection(question: str, quotes: Sequence[Quote], confidence: float) -> Answer:
    """An answer from a selection, in its order; offsets are the selection's."""
    quotes = sorted(quotes, key=lambda quote: quote.chunk.start + quote.span.start)
    citations = tuple(
        Citation(
            number=number,
            url="",
            title=quote.chunk.title,
            section="",
            quote=quote.text,
            start=quote.chunk.start + quote.span.start,
            end=quote.chunk.start + quote.span.end,
            score=round(confidence, 4),
        )
        for number, quote in enumerate(quotes, 1)
    )
    return _answer(question, citations, Mode.SELECTED_TEXT, confidence)


def abstain(question: str, nearest: Sequence[Passage], mode: Mode, confidence: float) -> Answer:
    """No answer, as a value; the nearest sections may be what the reader wants."""
    text = NOT_IN_SELECTION if mode is Mode.SELECTED_TEXT else NOT_IN_BOOK
    sections = {(p.url, p.anchor): Suggestion(p.title, p.section, _section_link(p)) for p in nearest}
    return Answer(
        text=text,
        sentences=(),
        citations=(),
        abstained=True,
        mode=mode,
        confidence=round(confidence, 4),
        receipt_id=_receipt_id(question, mode, text),
        suggestions=tuple(sections.values())[:3],
    )


def _answer(question: str, citations: tuple[Citation, ...], mode: Mode, confidence: float) -> Answer:
    sentences = tuple(Sentence(c.quote, (c.number,)) for c in citations)
    text = " ".join(f"{s.text} [{s.citations[0]}]" for s in sentences)
    return Answer(
        text=text,
        sentences=sentences,
        citations=citations,
        abstained=False,
        mode=mode,
        confidence=round(confidence, 4),
        receipt_id=_receipt_id(question, mode, text, *(f"{c.document_id}:{c.start}-{c.end}" for c in citations)),
    )


def _link(quote: Quote, page: str) -> str:
    chunk = quote.chunk
    return deep_link(chunk.url, chunk.anchor, page, chunk.start + quote.span.start, chunk.start + quote.span.end)


def _section_link(passage: Passage) -> str:
    return f"{passage.url}#{passage.anchor}" if passage.anchor else passage.url


def _receipt_id(*parts: str) -> str:
    """The same question answered by the same words has the same id."""
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
