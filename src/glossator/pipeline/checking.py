"""Checks any text against passages or against the book."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.core.answers import CheckedDraft, Policy
from glossator.core.errors import QuestionError
from glossator.core.question import Question
from glossator.core.types import Passage
from glossator.pipeline.reading import search_book
from glossator.pipeline.wiring import Engine
from glossator.verification.claims.split import SegmentKind, split_draft
from glossator.verification.gate import check
from glossator.verification.reading.tokenizer import has_content

PASSAGES_PER_CLAIM = 5
"""Passages of the book that each claim is checked against if no passages are given."""

MAX_DRAFT_LENGTH = 32_000
"""In characters."""

MAX_SEARCHES = 50
"""Different claims of a text that are looked up in the book."""

MAX_QUERY_LENGTH = 500
"""Characters of a claim that are searched for."""


def check_draft(engine: Engine, draft: str, passages: Sequence[Passage | str] | None) -> CheckedDraft:
    """Every claim with its verdict; unsupported ones are flagged, not withheld."""
    if len(draft) > MAX_DRAFT_LENGTH:
        raise QuestionError(
            f"The text is {len(draft):,} characters long.", f"Check it in parts of at most {MAX_DRAFT_LENGTH:,}."
        )
    if passages is None:
        found = [passage for claim in _queries(draft) for passage in _nearest_passages(engine, claim)]
        passages = list({passage.chunk_id: passage for passage in found}.values())
    return check(engine.verifier, draft, engine.verifier.prepare(passages), Policy.FLAG)


def _queries(draft: str) -> list[str]:
    """What to search the book for: the beginning of each claim, once."""
    claims = [segment.text for segment in split_draft(draft) if segment.kind is SegmentKind.CLAIM]
    queries = dict.fromkeys(claim[:MAX_QUERY_LENGTH] for claim in claims if has_content(claim))
    if len(queries) > MAX_SEARCHES:
        raise QuestionError(
            f"The text makes {len(queries)} different claims.",
            f"Check at most {MAX_SEARCHES} at a time against the book, or name its sources.",
        )
    return list(queries)


def _nearest_passages(engine: Engine, claim: str) -> Sequence[Passage]:
    """The passages that are nearest to a claim; characters that no question may contain are replaced for the search."""
    text = claim.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    question = Question(text, top_k=PASSAGES_PER_CLAIM)
    return search_book(engine, engine.generation(), question).passages
