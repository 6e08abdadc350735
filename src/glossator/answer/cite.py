"""Turns sentences into an answer with numbered citations, each a deep link to the quoted words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.answer.extractive import Quote
from glossator.core.answers import (
    SNIPPET_LENGTH,
    Answer,
    CheckedDraft,
    Citation,
    Evidence,
    Mode,
    Sentence,
    Suggestion,
    UnsupportedClaim,
    Verdict,
)
from glossator.core.text.links import deep_link
from glossator.core.text.marks import escape_marks
from glossator.core.types import Passage

NOT_IN_BOOK = "The book does not answer this question."
NOT_IN_SELECTION = "This is not found in your selection."

PageText = Callable[[str], str]
"""The text of a document, by its id."""


def cite(quotes: Sequence[Quote], scores: dict[str, float], confidence: float, page_text: PageText) -> Answer:
    """An answer made of quotes from the book."""
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
            position=quote.chunk.position,
            snippet=quote.chunk.text[:SNIPPET_LENGTH],
        )
        for number, quote in enumerate(quotes, 1)
    )
    return _answer(citations, Mode.FULL, confidence)


def cite_selection(quotes: Sequence[Quote], confidence: float) -> Answer:
    """An answer made of quotes from a selection, in its order; offsets count from the start of the selection."""
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
    return _answer(citations, Mode.SELECTED_TEXT, confidence)


def cite_checked(checked: CheckedDraft, passages: Sequence[Passage], confidence: float, page_text: PageText) -> Answer:
    """An answer from a checked draft."""
    citations = tuple(
        _citation(number, evidence, passages[evidence.source - 1], page_text)
        for number, evidence in enumerate(checked.evidence, 1)
    )
    return _checked_answer(checked, citations, Mode.FULL, confidence)


def cite_checked_selection(checked: CheckedDraft, confidence: float) -> Answer:
    """An answer from a checked draft about a selection; offsets count from the start of the selection."""
    citations = tuple(
        Citation(number, "", "Your selection", "", e.quote, e.start, e.end, confidence)
        for number, e in enumerate(checked.evidence, 1)
    )
    return _checked_answer(checked, citations, Mode.SELECTED_TEXT, confidence)


def _checked_answer(checked: CheckedDraft, citations: tuple[Citation, ...], mode: Mode, confidence: float) -> Answer:
    return Answer(
        text=checked.text,
        sentences=checked.sentences,
        citations=citations,
        abstained=False,
        mode=mode,
        confidence=confidence,
        receipt_id="",
        unsupported_claims=checked.unsupported_claims,
    )


def _citation(number: int, evidence: Evidence, passage: Passage, page_text: PageText) -> Citation:
    start, end = passage.start + evidence.start, passage.start + evidence.end
    return Citation(
        number=number,
        url=deep_link(passage.url, passage.anchor, page_text(passage.document_id), start, end),
        title=passage.title,
        section=passage.section,
        quote=evidence.quote,
        start=start,
        end=end,
        score=passage.score,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        position=passage.position,
        snippet=passage.text[:SNIPPET_LENGTH],
    )


def with_verdicts(answer: Answer, verdicts: Sequence[Verdict]) -> Answer:
    """The answer with its verdicts; unsupported sentences are left out, and the rest renumbered."""
    pairs = list(zip(answer.citations, verdicts, strict=True))
    supported = [verdict for _, verdict in pairs if verdict.supported]
    citations = [citation for citation, verdict in pairs if verdict.supported]
    checked = _answer(tuple(replace(c, number=n) for n, c in enumerate(citations, 1)), answer.mode, answer.confidence)
    sentences = tuple(replace(s, verdict=v) for s, v in zip(checked.sentences, supported, strict=True))
    failed = tuple(UnsupportedClaim(c.quote, v) for c, v in pairs if not v.supported)
    return replace(checked, sentences=sentences, unsupported_claims=failed)


def abstain(nearest: Sequence[Passage], mode: Mode, confidence: float) -> Answer:
    """An abstention, with the nearest sections as suggestions."""
    text = NOT_IN_SELECTION if mode is Mode.SELECTED_TEXT else NOT_IN_BOOK
    sections = {(p.url, p.anchor): Suggestion(p.title, p.section, _section_link(p)) for p in nearest}
    return Answer(
        text=text,
        sentences=(),
        citations=(),
        abstained=True,
        mode=mode,
        confidence=round(confidence, 4),
        receipt_id="",
        suggestions=tuple(sections.values())[:3],
    )


def _answer(citations: tuple[Citation, ...], mode: Mode, confidence: float) -> Answer:
    sentences = tuple(Sentence(escape_marks(c.quote), (c.number,)) for c in citations)
    text = " ".join(f"{s.text} [{s.citations[0]}]" for s in sentences)
    return Answer(
        text=text,
        sentences=sentences,
        citations=citations,
        abstained=False,
        mode=mode,
        confidence=round(confidence, 4),
        receipt_id="",
    )


def _link(quote: Quote, page: str) -> str:
    chunk = quote.chunk
    return deep_link(chunk.url, chunk.anchor, page, chunk.start + quote.span.start, chunk.start + quote.span.end)


def _section_link(passage: Passage) -> str:
    return f"{passage.url}#{passage.anchor}" if passage.anchor else passage.url
