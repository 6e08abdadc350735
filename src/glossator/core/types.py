"""The values that pass between stages: frozen, plain, and free of any technology."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters."""

    start: int
    end: int


class BlockKind(StrEnum):
    """What a stretch of a document is; decides where a chunk may be cut."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"
    ROW = "row"
    FORMULA = "formula"
    FIGURE = "figure"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document's text; `level` and `anchor` are set on headings."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a book, as a reader sees it."""

    document_id: str
    url: str
    title: str
    chapters: tuple[str, ...]
    text: str
    blocks: tuple[Block, ...]
    content_hash: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage to index: `text` is the document's `text[start:end]`; `row` is its place in the sentence vectors."""

    chunk_id: str
    document_id: str
    url: str
    title: str
    chapters: tuple[str, ...]
    section: str
    heading_path: tuple[str, ...]
    anchor: str
    position: int
    start: int
    end: int
    text: str
    sentences: tuple[Span, ...]
    row: int = -1

    @property
    def content_hash(self) -> str:
        """Names the text and the headings above it."""
        return hashlib.sha256(f"{self.context}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def context(self) -> str:
        """The headings above the text, which are searched but never quoted."""
        return " > ".join(self.heading_path)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A chunk's vector and one vector for each of its sentences."""

    vector: Vector
    sentences: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question's vector for passages, and the one to compare with sentences."""

    vector: Vector
    sentence: Vector


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions on retrieval; all that are set must hold."""

    source_url_prefix: str | None = None
    section: str | None = None
    chapter: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored chunk's number with the raw scores of both searches (None: not among its best)."""

    id: int
    dense: float | None
    sparse: float | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A ranked chunk; `score` is calibrated to 0-1."""

    chunk_id: str
    document_id: str
    url: str
    title: str
    section: str
    heading_path: tuple[str, ...]
    anchor: str
    position: int
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with what it was made from."""

    passage: Passage
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval found, best first; `relevance` is how sure it is that the book speaks of the question at all."""

    found: tuple[Found, ...]
    relevance: float
    query: QueryEmbedding
    generation: int

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(item.passage for item in self.found)


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A vector for each token of a text, and where each token stands in it."""

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int32]


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
class Checked:
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


class Words(str):
    """Words of an answer; `chunks[n - 1]` is the chunk that the mark `[n]` in them stands for, `mode` its whole's."""

    __slots__ = ("chunks", "mode")
    chunks: tuple[str, ...]
    mode: Mode | None

    def __new__(cls, text: str, chunks: tuple[str, ...] = (), mode: Mode | None = None) -> Words:
        made = super().__new__(cls, text)
        made.chunks, made.mode = chunks, mode
        return made

    @classmethod
    def of(cls, answer: Answer) -> Words:
        """All words of an answer."""
        return cls(answer.text, tuple(citation.chunk_id for citation in answer.citations), answer.mode)


Search = Callable[[str, int], Awaitable[tuple[Passage, ...]]]
"""Finds passages for a query, at most so many."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What a drafter is given: a question, and passages or a selection to answer it from.

    `past` holds earlier questions and answers, oldest first; `search` finds more passages within the request's filters.
    """

    question: str
    passages: tuple[Passage, ...] = ()
    selection: str | None = None
    past: tuple[tuple[str, str], ...] = ()
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """What an ingest did to the documents."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """How many chunks went through the model, and how many came from the cache."""

    made: int = 0
    reused: int = 0


@dataclass(frozen=True, slots=True)
class Skip:
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did."""

    generation: int
    documents: DocumentCounts
    chunks: int
    embeddings: EmbeddingCounts
    seconds: float
    skipped: tuple[Skip, ...] = field(default=())


def to_json(value: Any) -> Any:
    """A dataclass as plain JSON values."""
    return asdict(value)
