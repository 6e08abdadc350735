"""Answers, citations and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

UNAVAILABLE_NOTICE = "AI summarization unavailable."
"""Shown when a language model should have written the answer but could not."""

KEYWORDS_NOTICE = "Semantic search is unavailable: only keywords were searched."
"""Shown when the embedding model failed."""

SELECTION_TITLE = "Your selection"
"""The title of the source of an answer about a selection."""

MAX_SNIPPET_CHARACTERS = 200
"""Characters of a passage shown as a preview."""


class Status(StrEnum):
    """The result of checking a claim."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    UNCITED = "uncited"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words of a passage that a claim was compared with; `start` and `end` are offsets in the passage.

    `source` is the passage's number, from 1. The document offsets are set if the passage's own are known.
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
    """Whether the passages support a claim; `evidence` is their closest match."""

    status: Status
    supported: bool
    score: float
    evidence: Evidence | None
    reasons: tuple[str, ...] = ()
    in_doubt: bool = False
    """Whether the claim may be true, but not surely enough to be shown: its source may be quoted instead."""


class Policy(StrEnum):
    """What the gate does with an unsupported sentence: `STRICT` withholds it, `FLAG` shows and marks it."""

    STRICT = "strict"
    FLAG = "flag"


class Mode(StrEnum):
    """How an answer was produced."""

    FULL = "full"
    SELECTED_TEXT = "selected_text"
    RETRIEVAL_ONLY = "retrieval_only"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, the numbers of the citations that support it, and its verdict."""

    text: str
    citations: tuple[int, ...]
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites: `url` opens the page at `quote`, the first words that are cited from it.

    `start` and `end` are offsets in the document. The words behind each sentence are in the sentence's verdict.
    """

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
    """The beginning of the passage that contains the quote."""
    version: str = ""
    """The version of the book that it is from, if that has versions."""


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
class ClaimInDoubt:
    """A claim that may be true, with the part of its source to check it against."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft that passed the gate: the text to show, its verdicts, and the claims that failed.

    The mark `[n]` in the text refers to the passage of `evidence[n - 1]`, the first evidence from it.
    """

    text: str
    sentences: tuple[Sentence, ...]
    evidence: tuple[Evidence, ...]
    unsupported_claims: tuple[UnsupportedClaim, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the sentences that are shown."""
        return tuple(sentence.verdict for sentence in self.sentences if sentence.verdict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a user gets: cited sentences, or an abstention with suggestions."""

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
    """Whether the answer was stored in its conversation."""
    degraded: bool = False
    """Whether a model failed: a language model did not write or finish this answer, or only keywords were searched."""
    keywords_only: bool = False
    """Whether the embedding model failed, so that only keywords were searched."""
    draft_rejected: bool = False
    """Whether a language model made claims of which none is supported; quotes may have taken their place."""
    cached: bool = field(default=False, compare=False)
    """Whether it came from the answer cache."""

    @property
    def selection_note(self) -> str:
        """What an answer about a selection takes from it."""
        count = len(self.sentences)
        if not count:  # another chat service stored the answer as one text
            return "The answer is based on this selection only."
        return f"{count} {'sentence is' if count == 1 else 'sentences are'} based on this selection only."


class Delta(str):
    """A piece of a streamed answer; `mode` and `abstained` are the whole answer's, where it is known."""

    __slots__ = ("abstained", "mode")
    mode: Mode | None
    abstained: bool

    def __new__(cls, text: str, mode: Mode | None = None, *, abstained: bool = False) -> Delta:
        delta = super().__new__(cls, text)
        delta.mode, delta.abstained = mode, abstained
        return delta

    @classmethod
    def of(cls, answer: Answer) -> Delta:
        """A whole answer in one piece."""
        return cls(answer.text, answer.mode, abstained=answer.abstained)
