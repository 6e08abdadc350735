"""Checks any text against passages or against the book."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.core.answers import CheckedDraft, Policy
from glossator.core.question import Question
from glossator.core.types import Passage
from glossator.core.validation import MAX_QUESTION_LENGTH
from glossator.pipeline.answering import search_book
from glossator.pipeline.wiring import Engine
from glossator.verification.claims.split import SegmentKind, split_draft
from glossator.verification.gate import MAX_CLAIMS, check

PASSAGES_PER_CLAIM = 5
"""Passages of the book that each claim is checked against if no passages are given."""


def check_draft(engine: Engine, draft: str, passages: Sequence[Passage | str] | None) -> CheckedDraft:
    """Every claim with its verdict; unsupported ones are flagged, not withheld."""
    if passages is None:
        book = engine.generation()
        claims = [segment.text for segment in split_draft(draft) if segment.kind is SegmentKind.CLAIM][:MAX_CLAIMS]
        questions = [Question(text[:MAX_QUESTION_LENGTH], top_k=PASSAGES_PER_CLAIM) for text in claims]
        found = [passage for question in questions for passage in search_book(engine, book, question).passages]
        passages = list({passage.chunk_id: passage for passage in found}.values())
    return check(engine.verifier, draft, engine.verifier.prepare(passages), Policy.FLAG)
