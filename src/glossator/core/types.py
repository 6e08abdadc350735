"""Values that pass between stages: plain and frozen, with no dependency on any adapter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from glossator.core.book.sources import FetchCounts, SourceSummary
from glossator.core.book.versions import CURRENT

if TYPE_CHECKING:  # parsers import this module, and loading numpy takes longer than all else that they load
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters."""

    start: int
    end: int


class BlockKind(StrEnum):
    """The kind of a block; decides where a document may be split into chunks."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"
    ROW = "row"
    FORMULA = "formula"
    FIGURE = "figure"


CELL_SEPARATOR = " | "
"""Between the cells of a table row."""

TABLE_HEAD, QUOTABLE_ROW = 1, 2
"""Levels of table rows; others have none."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document's text; headings have a `level` and an `anchor`, all blocks of a PDF an `anchor`.

    A row has the level `TABLE_HEAD`, or `QUOTABLE_ROW` if each of its cells belongs to one column of the head.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a book: its text, and the HTML that shows it as the book does.

    The HTML is empty for plain text. `images` are the names of those that it shows.
    """

    document_id: str
    url: str
    title: str
    chapters: tuple[str, ...]
    text: str
    blocks: tuple[Block, ...]
    content_hash: str
    html: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """A document in the table of contents."""

    document_id: str
    url: str
    title: str
    chapters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document to index: `text` is the document's `text[start:end]`.

    `row` locates its sentence vectors in the index.
    """

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
    versions: tuple[str, ...] = ()
    """The names of its version, or of all if it is of none; empty if the book has no versions."""

    @property
    def content_hash(self) -> str:
        """Identifies the text and the headings above it."""
        return hashlib.sha256(f"{self.context}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def version(self) -> str:
        """The version of the book that it is from; empty if it is of none."""
        return self.versions[0] if self.versions and self.versions[0] != CURRENT else ""

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
    """A question's vector to search passages with, and the one to compare with sentences."""

    vector: Vector
    sentence: Vector


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions on retrieval; all that are set must hold."""

    source_url_prefix: str | None = None
    section: str | None = None
    chapter: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """The number of a stored chunk, with the raw score of each search (None: not among that search's best)."""

    id: int
    dense: float | None
    sparse: float | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search found; `score` is calibrated to 0-1."""

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
    version: str = ""

    @property
    def section_link(self) -> str:
        """The URL of the section that the passage is in."""
        return f"{self.url}#{self.anchor}" if self.anchor else self.url


def best_score(passages: Sequence[Passage]) -> float:
    """The score of the most relevant passage; 0 if there is none."""
    return max((passage.score for passage in passages), default=0.0)


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """A passage with the chunk it came from; `level` is the logit of its score, which tells very low scores apart."""

    passage: Passage
    chunk: Chunk
    level: float
    behind: float = 0.0
    """How far its score in the ranking is below that of the best passage."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """Search results, best first; `query` is None if the embedding model failed: then only keywords were searched."""

    chunks: tuple[RetrievedChunk, ...]
    query: QueryEmbedding | None
    generation: int

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(item.passage for item in self.chunks)

    @property
    def relevance(self) -> float:
        """The probability that the book covers the question at all: the score of its best passage."""
        return best_score(self.passages)


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A vector for each token of a text, and the token's offsets."""

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Documents by what an ingest did with them."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0


class ChangeKind(StrEnum):
    """What an ingest did with a document; one that moved has the same text at another address."""

    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A document that is not as it was; `previous_id` is that of one that moved."""

    kind: ChangeKind
    document_id: str
    previous_id: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """Chunks that were embedded, and chunks whose embeddings came from the cache."""

    made: int = 0
    reused: int = 0


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was not ingested, and why; it may stand for several `files` of its kind with the same reason."""

    path: str
    reason: str
    files: int = 1


@dataclass(frozen=True, slots=True)
class PageNote:
    """A page with skipped content, and what was skipped."""

    path: str
    note: str


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """How long each stage of an ingest took."""

    read: float = 0.0
    chunk: float = 0.0
    embed: float = 0.0
    write: float = 0.0


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest: `sources` were given, `other_sources` are in the index too.

    That of a dry run says what an ingest would do, and has the number of the current generation.
    """

    generation: int
    documents: DocumentCounts
    chunks: int
    embeddings: EmbeddingCounts
    seconds: float
    skipped: tuple[SkippedFile, ...] = ()
    notes: tuple[PageNote, ...] = ()
    sources: tuple[SourceSummary, ...] = ()
    other_sources: tuple[SourceSummary, ...] = ()
    removed_sources: tuple[SourceSummary, ...] = ()
    fetches: FetchCounts = field(default_factory=FetchCounts)
    stages: StageSeconds = field(default_factory=StageSeconds)
    changes: tuple[DocumentChange, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RollbackReport:
    """The generation that serves after a rollback, and the one that served before, to which another one returns."""

    generation: int
    replaced: int
    created_at: str
    documents: int
    chunks: int
