"""What made an answer, and what became of it, as values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from glossator.core.answers import Answer, Policy, Status, Verdict
from glossator.core.types import Passage


@dataclass(frozen=True, slots=True)
class UsedPassage:
    """A passage as an answer used it: where it stood, and the hash of its text."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    text_hash: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What made an answer: enough to check it again against the book of another day."""

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
    """An answer with what made it, and the passages that were found for it, best first."""

    receipt: Receipt
    passages: tuple[Passage, ...] = ()

    @property
    def answer(self) -> Answer:
        return self.receipt.answer

    def with_answer(self, answer: Answer) -> AnswerWithReceipt:
        """The same, with the answer as it is told."""
        return replace(self, receipt=replace(self.receipt, answer=answer))


class SourceState(StrEnum):
    """What became of the words that a sentence was cited to."""

    UNCHANGED = "unchanged"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    SELECTION = "selection"


@dataclass(frozen=True, slots=True)
class ReplayedSentence:
    """One sentence of an old answer, checked again."""

    text: str
    before: Status | None
    now: Verdict
    source: SourceState


@dataclass(frozen=True, slots=True)
class Replay:
    """An old answer, checked against today's book; `holds` says whether every sentence still does."""

    receipt_id: str
    question: str
    created: str
    holds: bool
    generation: tuple[int, int]
    corpus_changed: bool
    verifier_changed: bool
    sentences: tuple[ReplayedSentence, ...]
