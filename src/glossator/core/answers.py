"""Answers and verdicts: what a reader gets, and what the check found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

UNAVAILABLE = "AI summarization unavailable."
"""What readers are told when a language model should have written an answer, and could not."""


SNIPPET = 200
"""Characters of a passage that show what it is about."""


class Status(StrEnum):
    """What became of a claim."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    UNCITED = "uncited"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words of a passage that a claim was laid beside: `start` and `end` count the passage's characters.

    `source` is the passage's number, from 1. The document's offsets are known where the passage's are.
    """

    source: int
    start: int
    end: int
    quote: str
    chunk_id: str = ""
    document_id: str = ""
    document_start: int | None = None
    document_end: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether passages say what a claim says; `evidence` is the nearest they come to it."""

    status: Status
    supported: bool
    score: float
    evidence: Evidence | None
    reasons: tuple[str, ...] = ()


class Policy(StrEnum):
    """What becomes of a sentence that no passage supports: it is withheld, or it is sent and marked."""

    STRICT = "strict"
    FLAG = "flag"


class Mode(StrEnum):
    """How an answer came about."""

    FULL = "full"
    SELECTED_TEXT = "selected_text"
    RETRIEVAL_ONLY = "retrieval_only"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, the numbers of the citations that carry it, and what its check found."""

    text: str
    citations: tuple[int, ...]
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence stands: `url` opens the page at `quote`; offsets are the document's."""

    number: int
    url: str
    title: str
    section: str
    quote: str
    start: int
    end: int
    score: float
    chunk_id: str = ""
    document_id: str = ""
    position: int = 0
    snippet: str = ""
    """How the passage begins that the quote stands in."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A section near a question that the book does not answer."""

    title: str
    section: str
    url: str


@dataclass(frozen=True, slots=True)
class UnsupportedClaim:
    """A drafted sentence that no passage supports."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft that went through the gate: what may be shown, and what was found out on the way.

    `evidence[n - 1]` is what the mark `[n]` in the text stands for.
    """

    text: str
    sentences: tuple[Sentence, ...]
    evidence: tuple[Evidence, ...]
    unsupported_claims: tuple[UnsupportedClaim, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the checks of the sentences that are shown found."""
        return tuple(sentence.verdict for sentence in self.sentences if sentence.verdict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader gets: cited sentences, or an abstention with somewhere to look."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    abstained: bool
    mode: Mode
    confidence: float
    receipt_id: str
    suggestions: tuple[Suggestion, ...] = ()
    unsupported_claims: tuple[UnsupportedClaim, ...] = ()
    session_id: str = ""
    stored: bool = False
    """Whether the conversation remembers this answer."""
    degraded: bool = False
    """Whether a language model should have written it, and could not, or not to the end."""
    cached: bool = field(default=False, compare=False)
    """Whether it was kept from an earlier question, which was the same."""


class Delta(str):
    """Delta of an answer; `chunks[n - 1]` is the chunk that the mark `[n]` in them stands for, `mode` its whole's."""

    __slots__ = ("chunks", "mode")
    chunks: tuple[str, ...]
    mode: Mode | None

    def __new__(cls, text: str, chunks: tuple[str, ...] = (), mode: Mode | None = None) -> Delta:
        made = super().__new__(cls, text)
        made.chunks, made.mode = chunks, mode
        return made

    @classmethod
    def of(cls, answer: Answer) -> Delta:
        """All words of an answer."""
        return cls(answer.text, tuple(citation.chunk_id for citation in answer.citations), answer.mode)
