"""A text of anybody's, checked against passages or against the book."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.core.answers import CheckedDraft, Policy
from glossator.core.question import Question
from glossator.core.types import Passage
from glossator.core.validation import MAX_QUESTION
from glossator.pipeline.answering import search_book
from glossator.pipeline.wiring import Engine
from glossator.verification.claims.split import Kind, split_claims
from glossator.verification.gate import MAX_CLAIMS, check

PASSAGES_PER_CLAIM = 5
"""Passages of the book that a claim is checked against when no passages are given."""


def check_draft(engine: Engine, draft: str, passages: Sequence[Passage | str] | None) -> CheckedDraft:
    """Every claim with its verdict; nothing is withheld."""
    if passages is None:
        book = engine.generation()
        claims = [piece.text for piece in split_claims(draft) if piece.kind is Kind.CLAIM][:MAX_CLAIMS]
        questions = [Question(text[:MAX_QUESTION], top_k=PASSAGES_PER_CLAIM) for text in claims]
        found = [passage for question in questions for passage in search_book(engine, book, question).passages]
        passages = list({passage.chunk_id: passage for passage in found}.values())
    return check(engine.verifier, draft, engine.verifier.prepare(passages), Policy.FLAG)
