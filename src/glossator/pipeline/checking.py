"""Checks any text against passages or against the book."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from glossator.core.answers import CheckedDraft, Policy
from glossator.core.errors import QuestionError
from glossator.core.question import Question
from glossator.core.types import Filters, Passage
from glossator.pipeline.reading import search_book, search_keywords
from glossator.pipeline.wiring import Engine
from glossator.verification.budget import budget_for
from glossator.verification.claims.split import SegmentKind, split_draft
from glossator.verification.gate import check
from glossator.verification.reading.tokenizer import has_content

PASSAGES_PER_CLAIM = 5
"""Passages of the book that each claim is checked against if no passages are given."""

MAX_DRAFT_LENGTH, MAX_SOURCE_LENGTH = 32_000, 200_000
"""In characters; of all sources together."""

MAX_SEARCHES = 50
"""Different claims of a text that are looked up in the book."""

MAX_PASSAGES = 60
"""Of the book, for a text; if its claims find more, the best of each count."""

MAX_QUERY_LENGTH = 500
"""Characters of a claim that are searched for."""

MAX_EMBEDDED_LENGTH, _EMBEDDING = 9_600, 300
"""Characters of claims that are searched for by embedding: a dozen of the longest queries. Each embedding counts as so
many characters more. Later claims are searched for by keywords only."""

_SEARCH_COST, _COST_PER_EMBEDDED_CHARACTER, _COST_PER_SOURCE_CHARACTER = 3_000, 35, 3
"""In microseconds, as `verification/budget.py` counts."""


def check_draft(engine: Engine, draft: str, passages: Sequence[Passage | str] | None, filters: Filters) -> CheckedDraft:
    """Every claim with its verdict; unsupported ones are flagged, not withheld. `filters` restrict the book."""
    if len(draft) > MAX_DRAFT_LENGTH:
        raise QuestionError(
            f"The text is {len(draft):,} characters long.", f"Check it in parts of at most {MAX_DRAFT_LENGTH:,}."
        )
    claims = [segment.text for segment in split_draft(draft) if segment.kind is SegmentKind.CLAIM]
    spent = 0
    if passages is None:
        passages, spent = _find_passages(engine, _queries(claims), filters)
    length = sum(len(passage if isinstance(passage, str) else passage.text) for passage in passages)
    if length > MAX_SOURCE_LENGTH:
        raise QuestionError(
            f"The sources are {length:,} characters long together.",
            f"Check against at most {MAX_SOURCE_LENGTH:,} at a time, or ingest them and check against the book.",
        )
    budget = budget_for(len(draft), len(claims), spent + _COST_PER_SOURCE_CHARACTER * length)
    return check(engine.verifier, draft, engine.verifier.prepare(passages, budget), Policy.FLAG)


def _queries(claims: Sequence[str]) -> list[str]:
    """What to search the book for: the beginning of each claim, once."""
    queries = dict.fromkeys(claim[:MAX_QUERY_LENGTH] for claim in claims if has_content(claim))
    if len(queries) > MAX_SEARCHES:
        raise QuestionError(
            f"The text makes {len(queries)} different claims.",
            f"Check at most {MAX_SEARCHES} at a time against the book, or name its sources.",
        )
    return list(queries)


def _find_passages(engine: Engine, queries: Sequence[str], filters: Filters) -> tuple[list[Passage], int]:
    """The passages nearest to each query, and what finding them cost."""
    found: list[Sequence[Passage]] = []
    embedded = 0
    for query in queries:
        length = len(query) + _EMBEDDING
        by_meaning = embedded + length <= MAX_EMBEDDED_LENGTH
        embedded += length if by_meaning else 0
        found.append(_nearest_passages(engine, query, filters, by_meaning))
    cost = _SEARCH_COST * len(queries) + _COST_PER_EMBEDDED_CHARACTER * embedded
    return _best_passages(found), cost


def _best_passages(found: Sequence[Sequence[Passage]]) -> list[Passage]:
    """The passages that queries found, each once, in their order; of too many, the best for each query."""
    everything = {passage.chunk_id: passage for passages in found for passage in passages}
    ranked = (passages[rank] for rank in range(PASSAGES_PER_CLAIM) for passages in found if rank < len(passages))
    chosen = set(islice(dict.fromkeys(passage.chunk_id for passage in ranked), MAX_PASSAGES))
    return [passage for chunk_id, passage in everything.items() if chunk_id in chosen]


def _nearest_passages(engine: Engine, claim: str, filters: Filters, by_meaning: bool) -> Sequence[Passage]:
    """The passages that are nearest to a claim; characters that no question may contain are replaced for the search."""
    text = claim.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    question = Question(text, filters=filters, top_k=PASSAGES_PER_CLAIM)
    search = search_book if by_meaning else search_keywords
    return search(engine, engine.generation(), question).passages
