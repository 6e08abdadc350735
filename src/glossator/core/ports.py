"""The small protocols behind which every swappable part stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glossator.core.answers import UnsupportedClaim
from glossator.core.question import DraftRequest
from glossator.core.types import Chunk, Embedding, Filters, Hit, Passage, QueryEmbedding, TokenVectors

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


def silent(stage: str, done: int, total: int) -> None:
    """A progress listener that ignores what it hears."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How one embedder's raw scores become one ranking and a 0-1 relevance (made by bench/calibrate.py).

    `dense`, `sentence` and `sparse` weigh the three searches in the ranking. `book` and `selection` are logistic models
    over the features that `retrieve.FEATURES` names (the bias first), set so that 0.3 is where abstaining begins.
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
        """Names the model and everything that changes its vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def calibration(self) -> Calibration:
        """How this embedder's scores become relevance."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has for this model."""

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """One embedding a chunk, in the same order."""

    def embed_query(self, question: str) -> QueryEmbedding:
        """The vectors to search with."""


class TokenEncoder(Protocol):
    """Gives each token of a text a vector of its own, in context."""

    @property
    def fingerprint(self) -> str:
        """Names the model."""

    def encode(self, text: str) -> TokenVectors:
        """The vectors of a text's tokens."""


class Drafter(Protocol):
    """Drafts an answer from passages, piece by piece; a mark such as [2] cites the second passage."""

    @property
    def name(self) -> str:
        """Names what drafts, for the receipt."""

    @property
    def prompt_hash(self) -> str:
        """Names the prompt, for the receipt."""

    @property
    def settings(self) -> dict[str, str]:
        """What else shapes the draft, for the receipt."""

    def draft(self, request: DraftRequest) -> AsyncIterator[str | tuple[Passage, ...]]:
        """The draft, as it comes; passages that it found besides come before the words that may cite them."""

    def revise(self, request: DraftRequest, failed: Sequence[UnsupportedClaim]) -> AsyncIterator[str]:
        """Sentences that failed their check, written again; nothing where that cannot be done."""


class VectorIndex(Protocol):
    """A searchable, read-only set of chunks."""

    def search(self, query: QueryEmbedding, question: str, limit: int, filters: Filters) -> list[Hit]:
        """The union of the best by meaning and the best by words."""

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """Stored chunks, in the order asked for."""

    def sentence_scores(self, ids: Sequence[int], query: QueryEmbedding) -> list[float]:
        """For each chunk, how near its nearest sentence is to the question."""

    def sentence_vectors(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """The sentence vectors of some chunks, in the same order."""

    def count(self) -> int:
        """How many chunks there are."""

    def close(self) -> None:
        """Let go of the files or connections."""


class WordCounts(Protocol):
    """Knows how common a word is in the book."""

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each word stands."""

    def chunk_count(self) -> int:
        """How many chunks there are."""
