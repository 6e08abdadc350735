"""A large embedded index is searched with compressed vectors, and finds the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from chunks import make_chunk
from glossator.core.types import Embedding, Filters, Hit, QueryEmbedding
from glossator.store.index import qdrant_index
from glossator.store.index.qdrant_index import QdrantEdgeIndex, QdrantEdgeWriter

COUNT, DIMENSION = 2_000, 96


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


VECTORS = unit(np.random.default_rng(0).normal(size=(COUNT, DIMENSION)))
QUERIES = unit(np.random.default_rng(1).normal(size=(50, DIMENSION)))


def build(folder: Path) -> QdrantEdgeIndex:
    folder.mkdir()
    with QdrantEdgeWriter(folder, DIMENSION) as writer:
        chunks = [make_chunk(f"Robot number {number}.") for number in range(COUNT)]
        embeddings = [Embedding(vector, vector[None].astype(np.float16)) for vector in VECTORS]
        writer.add(chunks, embeddings, "2026-01-02T03:04:05+00:00")
    return QdrantEdgeIndex(folder, DIMENSION)


@pytest.fixture
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[QdrantEdgeIndex, QdrantEdgeIndex]]:
    with closing(build(tmp_path / "exact")) as exact:
        monkeypatch.setattr(qdrant_index, "MIN_QUANTIZED_CHUNKS", COUNT)
        with closing(build(tmp_path / "quantized")) as quantized:
            yield exact, quantized


def best(index: QdrantEdgeIndex, vector: np.ndarray, count: int) -> list[Hit]:
    hits = index.search(QueryEmbedding(vector, vector), "", 100, Filters())
    return sorted(hits, key=lambda hit: -(hit.dense or 0.0))[:count]


def test_compressed_vectors_find_the_same(indexes: tuple[QdrantEdgeIndex, QdrantEdgeIndex]) -> None:
    exact, quantized = indexes
    # Those of the keywords, and after quantization the dense ones too.
    assert [index._shard.info().indexed_vectors_count for index in indexes] == [COUNT, 2 * COUNT]
    assert [index.count() for index in indexes] == [COUNT, COUNT]
    for vector in QUERIES:
        expected, found = best(exact, vector, 10), best(quantized, vector, 10)
        assert [hit.id for hit in found] == [hit.id for hit in expected]
        assert [hit.dense for hit in found] == pytest.approx([hit.dense for hit in expected], abs=1e-6)


def test_keywords_and_stored_vectors_are_the_same(indexes: tuple[QdrantEdgeIndex, QdrantEdgeIndex]) -> None:
    exact, quantized = indexes
    for number in (0, 7, COUNT - 1):
        words = f"robot {number}"
        first = [max(index.search(None, words, 10, Filters()), key=lambda hit: hit.sparse or 0) for index in indexes]
        assert [hit.id for hit in first] == [number, number]
        assert first[0].sparse == pytest.approx(first[1].sparse)
        assert np.allclose(exact.embeddings([number])[0].vector, quantized.embeddings([number])[0].vector)
