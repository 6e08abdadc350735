"""The keyword side of every index: BM25 weights of a chunk's terms, and the terms of a question."""

from __future__ import annotations

import math

import qdrant_edge as qdrant

from glossator.core.text.folding import search_text
from glossator.core.types import Chunk

AVERAGE_WORDS = 150.0
"""Mean number of words in a chunk without stop words, for BM25's length normalisation."""


class KeywordEncoder:
    """Encodes texts as sparse vectors; the weight of a term in a question is its inverse document frequency."""

    def __init__(self) -> None:
        self._bm25 = qdrant.Bm25(qdrant.Bm25Config(k=1.2, b=0.75, avg_len=AVERAGE_WORDS))

    def document(self, chunk: Chunk) -> qdrant.SparseVector:
        """The terms of a chunk and of the headings above it, weighted by BM25."""
        return self._bm25.embed_document(search_text(f"{chunk.context}\n{chunk.text}"))

    def question(self, text: str) -> qdrant.SparseVector:
        """The terms of a question; empty if it has none but stop words."""
        return self._bm25.embed_query(search_text(text))


def inverse_document_frequency(chunks_with_term: int, chunks: int) -> float:
    """The weight of a term in a question, as Qdrant computes it."""
    return math.log(1 + (chunks - chunks_with_term + 0.5) / (chunks_with_term + 0.5))
