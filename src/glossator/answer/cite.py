"""Turns sentences into an answer with numbered citations, each a deep link to the quoted words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glossator.answer.extractive import Quote
from glossator.answer.lead_ins import QuoteLayout
from glossator.core.answers import (
    MAX_SNIPPET_CHARACTERS,
    SELECTION_TITLE,
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
from glossator.core.types import CELL_SEPARATOR, Passage

_BACKTICKS = re.compile("`+")
NOT_IN_BOOK = "The book does not answer this question."
NOT_IN_SELECTION = "This is not found in your selection."
NOTHING_TO_QUOTE = "The passages found have no sentence that can be quoted as an answer."
_ABSTENTIONS = {Mode.SELECTED_TEXT: NOT_IN_SELECTION, Mode.RETRIEVAL_ONLY: NOTHING_TO_QUOTE}

PageText = Callable[[str], str]
"""The text of a document, by its id."""


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    """A quote with the verdict on it."""

    quote: Quote
    verdict: Verdict


def cite(quotes: Sequence[CheckedQuote], scores: dict[str, float], confidence: float, page_text: PageText) -> Answer:
    """An answer made of quotes from the book; each passage is listed once, at its first quote."""
    first: dict[str, Quote] = {}
    for checked in quotes:
        if checked.verdict.supported:
            first.setdefault(checked.quote.chunk.chunk_id, checked.quote)
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
            snippet=quote.chunk.text[:MAX_SNIPPET_CHARACTERS],
            version=quote.chunk.version,
        )
        for number, quote in enumerate(first.values(), 1)
    )
    numbers = {citation.chunk_id: citation.number for citation in citations}
    return _quoted_answer(quotes, lambda quote: numbers[quote.chunk.chunk_id], citations, Mode.FULL, confidence)


def cite_selection(quotes: Sequence[CheckedQuote], confidence: float) -> Answer:
    """An answer made of quotes from a selection, in its order; the selection is the only source."""
    ordered = sorted(quotes, key=lambda checked: checked.quote.chunk.start + checked.quote.span.start)
    shown = [checked.quote for checked in ordered if checked.verdict.supported]
    citations = tuple(
        _selection_citation(quote.text, quote.chunk.start + quote.span.start, confidence) for quote in shown[:1]
    )
    return _quoted_answer(ordered, lambda _: 1, citations, Mode.SELECTED_TEXT, confidence)


def _selection_citation(quote: str, start: int, confidence: float) -> Citation:
    """The selection as a source; offsets count from its start."""
    return Citation(1, "", SELECTION_TITLE, "", quote, start, start + len(quote), confidence)


def cite_checked(checked: CheckedDraft, passages: Sequence[Passage], confidence: float, page_text: PageText) -> Answer:
    """An answer from a checked draft."""
    citations = tuple(
        _citation(number, evidence, passages[evidence.source - 1], page_text)
        for number, evidence in enumerate(checked.evidence, 1)
    )
    return _checked_answer(checked, citations, Mode.FULL, confidence)


def cite_checked_selection(checked: CheckedDraft, confidence: float) -> Answer:
    """An answer from a checked draft about a selection, which is its only source."""
    citations = tuple(_selection_citation(e.quote, e.start, confidence) for e in checked.evidence)
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
        snippet=passage.text[:MAX_SNIPPET_CHARACTERS],
        version=passage.version,
    )


def _quoted_answer(
    quotes: Sequence[CheckedQuote],
    number_of: Callable[[Quote], int],
    citations: tuple[Citation, ...],
    mode: Mode,
    confidence: float,
) -> Answer:
    """The quotes that passed their check; the others are listed as unsupported."""
    shown = [checked for checked in quotes if checked.verdict.supported]
    sentences = tuple(
        Sentence(_as_shown(checked.quote), (number_of(checked.quote),), checked.verdict) for checked in shown
    )
    return Answer(
        text=_laid_out([checked.quote for checked in shown], sentences),
        sentences=sentences,
        citations=citations,
        abstained=False,
        mode=mode,
        confidence=confidence,
        receipt_id="",
        unsupported_claims=tuple(
            UnsupportedClaim(checked.quote.text, checked.verdict) for checked in quotes if not checked.verdict.supported
        ),
    )


def _as_shown(quote: Quote) -> str:
    return quote.text if quote.layout is QuoteLayout.CODE else escape_marks(quote.text)


def _laid_out(quotes: Sequence[Quote], sentences: Sequence[Sentence]) -> str:
    """The text of an answer: sentences in a paragraph, items and rows on lines of their own, code in fences."""
    parts: list[str] = []
    before: Quote | None = None
    for quote, sentence in zip(quotes, sentences, strict=True):
        mark = f"[{sentence.citations[0]}]"
        starts_table = quote.layout is QuoteLayout.ROW and not _is_same_block(before, quote)
        parts += [_separator(before, quote), _table_head(quote) if starts_table else "", _set(quote, sentence, mark)]
        before = quote
    return "".join(parts)


def _set(quote: Quote, sentence: Sentence, mark: str) -> str:
    """A quote with its citation mark, as Markdown."""
    if quote.layout is QuoteLayout.CODE:
        fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(sentence.text)), default=0))
        return f"{fence}{quote.marker}\n{sentence.text}\n{fence}\n{mark}"
    if quote.layout is QuoteLayout.ROW:
        return f"| {sentence.text} {mark} |"
    return f"{quote.marker} {sentence.text} {mark}" if quote.marker else f"{sentence.text} {mark}"


def _table_head(row: Quote) -> str:
    """The head of a row's table."""
    columns = row.marker.count(CELL_SEPARATOR) + 1
    return f"| {escape_marks(row.marker)} |\n|{' --- |' * columns}\n"


def _separator(before: Quote | None, quote: Quote) -> str:
    if before is None:
        return ""
    if not _is_same_block(before, quote):
        return "\n\n"
    return " " if quote.layout is QuoteLayout.PROSE else "\n"


def _is_same_block(before: Quote | None, quote: Quote) -> bool:
    """Whether a quote continues the paragraph, list or table of the one before it."""
    if before is None or before.layout is not quote.layout:
        return False
    return quote.layout is not QuoteLayout.ROW or before.marker == quote.marker


def abstain(nearest: Sequence[Passage], mode: Mode) -> Answer:
    """An abstention, with the nearest sections as suggestions; no sentence is shown, so its confidence is 0."""
    sections = {(p.url, p.anchor): Suggestion(p.title, p.section, p.section_link) for p in nearest}
    return Answer(
        text=_ABSTENTIONS.get(mode, NOT_IN_BOOK),
        sentences=(),
        citations=(),
        abstained=True,
        mode=mode,
        confidence=0.0,
        receipt_id="",
        suggestions=tuple(sections.values())[:3],
    )


def _link(quote: Quote, page: str) -> str:
    chunk = quote.chunk
    return deep_link(chunk.url, chunk.anchor, page, chunk.start + quote.span.start, chunk.start + quote.span.end)
