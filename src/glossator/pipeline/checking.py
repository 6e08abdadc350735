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
        claims = [segment.text for segment in split_draft(draft) if segment.kind is SegmentKind.CLAIM][:MAX_CLAIMS]
        found = [passage for claim in claims for passage in _nearest_passages(engine, claim)]
        passages = list({passage.chunk_id: passage for passage in found}.values())
    return check(engine.verifier, draft, engine.verifier.prepare(passages), Policy.FLAG)


def _nearest_passages(engine: Engine, claim: str) -> Sequence[Passage]:
    """The passages that are nearest to a claim; characters that no question may contain are replaced for the search."""
    text = claim[:MAX_QUESTION_LENGTH].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    question = Question(text, top_k=PASSAGES_PER_CLAIM)
    return search_book(engine, engine.generation(), question).passages
