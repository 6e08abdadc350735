"""Protocols of the parts that can be swapped: embedders, language models, indexes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glossator.core.answers import ClaimInDoubt, Status, UnsupportedClaim
from glossator.core.book.manifest import Manifest, SourceRecord
from glossator.core.inference.reading import Reading, ReadSource, SourceText
from glossator.core.question import DraftRequest
from glossator.core.types import (
    Chunk,
    ContentsEntry,
    Document,
    Embedding,
    Filters,
    Hit,
    Passage,
    QueryEmbedding,
    TokenVectors,
)

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the items done, and the total."""


def no_progress(stage: str, done: int, total: int) -> None:
    """A progress callback that does nothing."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How one embedder's raw scores become a ranking and a relevance from 0 to 1 (computed by bench/fit/calibrate.py).

    `dense`, `sentence` and `sparse` weigh the three searches in the ranking. `book` and `selection` are logistic models
    over the features named in `retrieve.FEATURES` (bias first), fitted so that a relevance below 0.3 means abstaining.
    """

    dense: float
    sentence: float
    sparse: float
    book: tuple[float, ...]
    selection: tuple[float, ...]


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model and everything that changes its vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages that the model knows; empty if they are not known here."""

    @property
    def calibration(self) -> Calibration:
        """How this embedder's scores become relevance; a remote model may be unavailable when it is measured."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, as this model counts them."""

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """One embedding for each chunk, in the same order."""

    def embed_query(self, question: str, timeout_seconds: float | None = None) -> QueryEmbedding:
        """The vectors to search with; a remote model must respond within the timeout."""


class TokenEncoder(Protocol):
    """Gives each token of a text a contextual vector."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model."""

    def encode(self, text: str) -> TokenVectors:
        """The vectors of a text's tokens."""


class Reader(Protocol):
    """Reads a text once, and judges claims and questions against it."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""

    def read(self, sources: Sequence[SourceText], *, keep: bool = False) -> list[ReadSource]:
        """Read sources, so that texts can be judged against them; `keep` those that others may ask about."""

    def judge(self, text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        """The predictions for a claim or a question against each source; none if the text is too long."""

    def judge_together(self, text: str, sources: Sequence[SourceText]) -> list[Reading]:
        """The same, with each source read again for this text: slower, and more exact."""


class SecondOpinion(Protocol):
    """Judges doubtful claims."""

    @property
    def name(self) -> str:
        """The language model, for the receipt."""

    def judge(self, claims: Sequence[ClaimInDoubt], seconds: float) -> list[Status | None]:
        """A status for each claim; None where it gave none, or not in time."""


class Drafter(Protocol):
    """Drafts an answer from passages, piece by piece; a mark such as [2] cites the second passage."""

    @property
    def name(self) -> str:
        """The language models, for the receipt."""

    @property
    def prompt_hash(self) -> str:
        """Identifies the prompt, for the receipt."""

    @property
    def settings(self) -> dict[str, str]:
        """Other parameters that affect the draft, for the receipt."""

    def draft(self, request: DraftRequest) -> AsyncIterator[str | tuple[Passage, ...]]:
        """The draft as it is written; passages it finds itself are yielded before the text that may cite them."""

    def revise(self, request: DraftRequest, failed: Sequence[UnsupportedClaim]) -> AsyncIterator[str]:
        """New versions of sentences that failed verification; empty if revision is not possible."""


class VectorIndex(Protocol):
    """A searchable, read-only set of chunks."""

    def search(self, query: QueryEmbedding | None, question: str, limit: int, filters: Filters) -> list[Hit]:
        """The best hits of the dense search, if there is a vector, and of the keyword search, together."""

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """Stored chunks, in the order of `ids`."""

    def sentence_scores(self, ids: Sequence[int], query: QueryEmbedding) -> list[float]:
        """For each chunk, the similarity of its most similar sentence to the question."""

    def sentence_vectors(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """The sentence vectors of each chunk, in the same order."""

    def embeddings(self, ids: Sequence[int]) -> list[Embedding]:
        """The vectors of chunks and of their sentences, in the order of `ids`."""

    def count(self) -> int:
        """The number of chunks."""

    def close(self) -> None:
        """Release files or connections."""


class WordCounts(Protocol):
    """Counts how common words are in the book."""

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """The number of chunks that contain each word."""

    def chunk_count(self) -> int:
        """The number of chunks."""


class DocumentStore(WordCounts, Protocol):
    """The documents of one generation; any thread may read them."""

    def get(self, document_id: str) -> Document | None:
        """One document, or None."""

    def text(self, document_id: str) -> str:
        """The text of a document; empty if there is no such document."""

    def image(self, name: str) -> bytes | None:
        """An image that a document shows, or None."""

    def all(self) -> Iterator[Document]:
        """Every document in reading order."""

    def contents(self) -> list[ContentsEntry]:
        """The table of contents in reading order."""

    def close(self) -> None:
        """Release files or connections."""


@dataclass(frozen=True, slots=True)
class Generation:
    """An open generation."""

    manifest: Manifest
    index: VectorIndex
    documents: DocumentStore

    def contents(self, version: str | None = None) -> list[ContentsEntry]:
        """The table of contents of one version: the one that is named, or the current one."""
        label, entries = self.manifest.searched_version(version), self.documents.contents()
        return [entry for entry in entries if label is None or label in self.manifest.version_labels(entry.url)]

    def page_text(self, document_id: str) -> str:
        """A document's whole text."""
        return self.documents.text(document_id)

    def close(self) -> None:
        self.index.close()
        self.documents.close()


def no_image(_name: str) -> bytes | None:
    """Knows no image."""
    return None


def no_check(_generation: Generation) -> None:
    """Accepts every generation."""


@dataclass(frozen=True, slots=True)
class GenerationContents:
    """What a generation is made of: documents in reading order, their chunks, and a vector for each chunk.

    `image` reads an image by its name. Those it does not know are taken from the current generation.
    """

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    embeddings: Sequence[Embedding]
    image: Callable[[str], bytes | None] = no_image


class GenerationStore(Protocol):
    """All generations of one index: the next is built next to the current one, then becomes the current one."""

    @property
    def place(self) -> str:
        """Where the index is, for operators; contains no secret."""

    def current(self) -> int | None:
        """The number of the current generation, or None before the first.

        Does not block after the first call: another process's switch may be seen a moment later.
        """

    def manifest(self) -> Manifest | None:
        """The manifest of the current generation, also of one that another version built; None before the first."""

    def latest_manifest(self) -> Manifest | None:
        """The manifest of the current generation, for the next ingest; None if it is missing or unreadable."""

    def is_empty(self) -> bool:
        """Whether nothing has been ingested."""

    def books(self) -> list[str]:
        """The names of the books whose indexes are next to this one, which belongs to the unnamed book."""

    def fingerprint(self) -> str:
        """The fingerprint of the embedding model that built the current generation; empty if none can be read."""

    def next_number(self) -> int:
        """A number higher than that of any generation."""

    def documents_of(self, sources: Sequence[SourceRecord]) -> list[Document]:
        """The documents of some sources, from the current generation."""

    def urls_of(self, sources: Sequence[SourceRecord]) -> dict[str, str]:
        """The ids of the documents of some sources, by URL."""

    def open(self, fingerprint: str) -> Generation:
        """Open the current generation for reading with the embedder of this fingerprint."""

    def ingest_lock(self) -> AbstractContextManager[None]:
        """Hold the lock that lets one process ingest at a time."""

    def build(
        self, manifest: Manifest, contents: GenerationContents, check: Callable[[Generation], None] = no_check
    ) -> None:
        """Write a generation next to the others, check it, make it the current one, and delete those no longer needed.

        Needs the lock. If anything fails, the current generation stays as it is.
        """

    def roll_back(self, fingerprint: str) -> Manifest:
        """Make the generation that served before the current one again, in one step; its manifest. Needs the lock.

        A second call undoes the first. A generation that cannot be searched is refused.
        """

    def clear(self) -> None:
        """Delete the index: nothing is left to search. Needs the lock."""

    def drop_all(self) -> None:
        """Delete everything that this index has, as if nothing had ever been ingested."""

    def close(self) -> None:
        """Release connections; they are opened again when they are needed."""
