"""Receipts: what an answer was made from, and the result of checking it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from glossator.core.answers import Answer, Policy, Status, Verdict
from glossator.core.thresholds import is_low_confidence
from glossator.core.types import Passage, best_score


@dataclass(frozen=True, slots=True)
class UsedPassage:
    """A passage that an answer used: its location, and the hash of its text."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    text_hash: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an answer was made from: enough to check it again against a later version of the book."""

    receipt_id: str
    created: str
    question: str
    answer: Answer
    passages: tuple[UsedPassage, ...]
    generation: int
    corpus_hash: str
    embedder: str
    answerer: str
    prompt_hash: str
    settings: dict[str, str]
    verifier: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class AnswerWithReceipt:
    """An answer with its receipt and the passages that were found for it, best first.

    `repeated` is set if the request was answered before, and this is the stored answer.
    """

    receipt: Receipt
    passages: tuple[Passage, ...] = ()
    repeated: bool = False

    @property
    def answer(self) -> Answer:
        return self.receipt.answer

    @property
    def low_confidence(self) -> bool:
        """Whether the best passage found is only a weak match."""
        return is_low_confidence(best_score(self.passages))

    def with_answer(self, answer: Answer) -> AnswerWithReceipt:
        """A copy with another version of the answer."""
        return replace(self, receipt=replace(self.receipt, answer=answer))


class SourceState(StrEnum):
    """What happened to a cited quote since the answer was given."""

    UNCHANGED = "unchanged"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    SELECTION = "selection"


@dataclass(frozen=True, slots=True)
class ReplayedSentence:
    """One sentence of an earlier answer, checked again."""

    text: str
    before: Status | None
    now: Verdict
    source: SourceState

    @property
    def is_quote_in_book(self) -> bool:
        """Whether its quote is still in the book."""
        return self.source not in (SourceState.CHANGED, SourceState.GONE)

    @property
    def holds(self) -> bool:
        """Whether its quote is still in the book and supports it."""
        return self.is_quote_in_book and self.now.supported


@dataclass(frozen=True, slots=True)
class Replay:
    """An earlier answer, checked against the current book; `holds` is true if every sentence still holds."""

    receipt_id: str
    question: str
    created: str
    holds: bool
    generation: tuple[int, int]
    corpus_changed: bool
    verifier_changed: bool
    sentences: tuple[ReplayedSentence, ...]
