"""A generation's vectors on a Qdrant server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from glossator.core.book.manifest import Manifest
from glossator.core.types import Chunk, Embedding, Filters, Hit, QueryEmbedding
from glossator.store.index.bounded_cache import BoundedCache
from glossator.store.index.keywords import KeywordEncoder
from glossator.store.index.payload import exact_conditions, prefix_condition, to_chunk
from glossator.store.index.qdrant.collections import DENSE, SENTENCES, WORDS, GenerationCollections
from glossator.store.index.qdrant.documents import QdrantDocuments
from glossator.store.index.qdrant.server import QdrantServer, found_by_id

MAX_CACHED_CHUNKS = 4096
_TIES = 16
"""More hits than wanted: of equal scores, the lowest ids are taken, in whatever order the server finds them."""
_RESCORED = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
"""By default, a server returns the scores of vectors of one byte per dimension as they are."""


class QdrantIndex:
    """The chunks of one generation; what was read is cached, as a generation never changes."""

    def __init__(
        self,
        server: QdrantServer,
        collections: GenerationCollections,
        manifest: Manifest,
        documents: QdrantDocuments,
    ) -> None:
        self._server, self._name, self._documents = server, collections.chunks, documents
        self._size, self._dimension = manifest.chunks, manifest.dimension
        self._keywords = KeywordEncoder()
        self._chunks: BoundedCache[int, Chunk] = BoundedCache(MAX_CACHED_CHUNKS)

    def search(self, query: QueryEmbedding | None, question: str, limit: int, filters: Filters) -> list[Hit]:
        """The best by vector and the best by BM25, with their raw scores, ordered by id."""
        words = self._keywords.question(question)
        vectors: dict[str, Any] = {DENSE: query.vector.tolist()} if query else {}
        if words.indices:
            vectors[WORDS] = models.SparseVector(indices=list(words.indices), values=list(words.values))
        if not vectors or not self._size:
            return []
        condition = self._filter(filters)
        quantized = _RESCORED if self._server.options.quantized else None
        parameters = models.SearchParams(hnsw_ef=max(128, 2 * limit), quantization=quantized)
        requests = [
            models.QueryRequest(query=vector, using=name, filter=condition, limit=limit + _TIES, params=parameters)
            for name, vector in vectors.items()
        ]
        answers = self._server.read(lambda client: client.query_batch_points(self._name, requests))
        scores = {name: _best(answer.points, limit) for name, answer in zip(vectors, answers, strict=True)}
        dense = scores.get(DENSE, {})
        sparse = {i: score for i, score in scores.get(WORDS, {}).items() if score > 0}
        return [Hit(i, dense.get(i), sparse.get(i)) for i in sorted({*dense, *sparse})]

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """Stored chunks, in the order asked for."""
        found = {i: chunk for i in ids if (chunk := self._chunks.get(i)) is not None}
        if missing := [i for i in ids if i not in found]:
            for record in self._server.read(lambda client: client.retrieve(self._name, missing)):
                found[int(record.id)] = self._chunks.put(int(record.id), to_chunk(record.payload or {}))
        return [found[i] for i in ids]

    def sentence_scores(self, ids: Sequence[int], query: QueryEmbedding) -> list[float]:
        """For each chunk, the similarity of its closest sentence to the question; the server compares them."""
        if not ids:
            return []
        only = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
        found = self._server.read(
            lambda client: client.query_points(
                self._name,
                query=[query.sentence.tolist()],
                using=SENTENCES,
                query_filter=only,
                limit=len(ids),
                with_payload=False,
            )
        )
        scores = {point.id: float(point.score) for point in found.points}
        return [scores.get(i, 0.0) for i in ids]

    def sentence_vectors(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """The sentence vectors of some chunks, in the same order."""
        vectors = self._vectors([chunk.row for chunk in chunks], [SENTENCES])
        return [self._sentences(each).astype(np.float32) for each in vectors]

    def embeddings(self, ids: Sequence[int]) -> list[Embedding]:
        """The vectors of chunks and of their sentences."""
        return [
            Embedding(np.array(each[DENSE], np.float32), self._sentences(each))
            for each in self._vectors(ids, [DENSE, SENTENCES])
        ]

    def count(self) -> int:
        """The number of chunks."""
        return int(self._server.read(lambda client: client.count(self._name, exact=True)).count)

    def close(self) -> None:
        """Nothing is open: all generations share the connections."""

    def _vectors(self, ids: Sequence[int], names: list[str]) -> list[dict[str, Any]]:
        if not ids:
            return []
        records = self._server.read(
            lambda client: client.retrieve(self._name, list(ids), with_payload=False, with_vectors=names)
        )
        found = found_by_id(records)
        return [found[i].vector or {} for i in ids]

    def _sentences(self, vectors: dict[str, Any]) -> NDArray[np.float16]:
        return np.array(vectors.get(SENTENCES) or [], np.float16).reshape(-1, self._dimension)

    def _filter(self, filters: Filters) -> models.Filter | None:
        """All conditions must hold. A prefix becomes the list of URLs that have it: that works on every version."""
        conditions: list[Any] = [
            models.FieldCondition(key=field, match=models.MatchValue(value=value))
            for field, value in exact_conditions(filters)
        ]
        if starts := prefix_condition(filters):
            urls = self._documents.urls_with_prefix(*starts)
            conditions.append(models.FieldCondition(key="url", match=models.MatchAny(any=urls)))
        return models.Filter(must=conditions) if conditions else None


def _best(points: Sequence[models.ScoredPoint], limit: int) -> dict[int, float]:
    """The best points and their scores."""
    ranked = sorted((-float(point.score), int(point.id)) for point in points)
    return {i: -score for score, i in ranked[:limit]}
