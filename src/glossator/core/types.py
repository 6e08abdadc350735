"""The values that pass between stages: frozen, plain, and free of any technology."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

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
class RetrievedChunk:
    """A passage with what it was made from."""

    passage: Passage
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval found, best first; `relevance` is how sure it is that the book speaks of the question at all."""

    found: tuple[RetrievedChunk, ...]
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
