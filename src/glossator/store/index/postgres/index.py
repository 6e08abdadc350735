"""A generation's vectors and keywords in Postgres: dense search in the database, BM25 over its posting lists here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from glossator.core.book.manifest import Manifest
from glossator.core.types import Chunk, Embedding, Filters, Hit, QueryEmbedding, Vector
from glossator.store.index.bounded_cache import BoundedCache
from glossator.store.index.keywords import KeywordEncoder, inverse_document_frequency
from glossator.store.index.payload import exact_conditions, prefix_condition, to_chunk
from glossator.store.index.postgres.connections import Connection, PostgresConnections
from glossator.store.index.postgres.tables import MAX_EXACT_CHUNKS, MAX_INDEXED_DIMENSIONS, GenerationTables

MAX_CACHED_CHUNKS, MAX_CACHED_FILTERS = 4096, 16
MAX_CACHED_POSTINGS_BYTES = 64_000_000
_POSTING_BYTES = 400
"""What Python adds to the numbers of a cached posting list."""
_CANDIDATES = 3
"""Neighbours that the search of the vector index considers, for each that is asked for."""
_MAX_CANDIDATES = 1_000
"""pgvector's own limit."""

_EXACT = "SELECT id, -(embedding <#> {vector}) FROM {vectors} {where} ORDER BY embedding <#> {vector}, id LIMIT {limit}"
_NEAREST = """
SELECT id, -(embedding <#> {vector}) AS score FROM (
    SELECT id, embedding FROM {vectors} {where}
    ORDER BY (embedding::halfvec({dimension})) <#> {vector}::halfvec({dimension}) LIMIT {limit}
) AS nearest ORDER BY score DESC, id
"""
StoredChunk = tuple[Chunk, NDArray[np.float16]]
Posting = tuple[NDArray[np.int32], NDArray[np.float32]]


class PostgresIndex:
    """The chunks of one generation; what was read is cached, as a generation never changes."""

    def __init__(self, connections: PostgresConnections, tables: GenerationTables, manifest: Manifest) -> None:
        self._connections, self._tables = connections, tables
        self._size, self._dimension = manifest.chunks, manifest.dimension
        self._keywords = KeywordEncoder()
        self._cache: BoundedCache[int, StoredChunk] = BoundedCache(MAX_CACHED_CHUNKS)
        self._allowed: BoundedCache[Filters, NDArray[np.bool_]] = BoundedCache(MAX_CACHED_FILTERS)
        self._postings: BoundedCache[int, Posting] = BoundedCache(MAX_CACHED_POSTINGS_BYTES)

    def search(self, query: QueryEmbedding | None, question: str, limit: int, filters: Filters) -> list[Hit]:
        """The best by vector and the best by BM25, with their raw scores, ordered by id."""
        terms = [int(term) for term in self._keywords.question(question).indices]
        if not self._size or (query is None and not terms):
            return []

        def work(connection: Connection) -> tuple[dict[int, float], dict[int, float]]:
            allowed = self._mask(connection, filters)
            dense = self._dense(connection, query.vector, limit, filters, allowed) if query else {}
            return dense, self._sparse(connection, terms, limit, allowed)

        dense, sparse = self._connections.read(work)
        return [Hit(i, dense.get(i), sparse.get(i)) for i in sorted({*dense, *sparse})]

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """Stored chunks, in the order asked for."""
        return [chunk for chunk, _ in self._stored(ids)]

    def sentence_scores(self, ids: Sequence[int], query: QueryEmbedding) -> list[float]:
        """For each chunk, the similarity of its closest sentence to the question."""
        vectors = [rows for _, rows in self._stored(ids)]
        return [float((rows.astype(np.float32) @ query.sentence).max()) if len(rows) else 0.0 for rows in vectors]

    def sentence_vectors(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """The sentence vectors of some chunks, in the same order."""
        return [rows.astype(np.float32) for _, rows in self._stored([chunk.row for chunk in chunks])]

    def embeddings(self, ids: Sequence[int]) -> list[Embedding]:
        """The vectors of chunks and of their sentences."""
        rows = self._rows("SELECT id, vector_send(embedding) FROM {vectors} WHERE id = ANY(%s)", ids)
        vectors = {i: np.frombuffer(sent, ">f4", offset=4).astype(np.float32) for i, sent in rows}
        return [Embedding(vectors[i], rows) for i, (_, rows) in zip(ids, self._stored(ids), strict=True)]

    def count(self) -> int:
        """The number of chunks; counted, as a table may have been changed."""
        statement = self._tables.statement("SELECT count(*) FROM {vectors} JOIN {chunks} USING (id)")
        row = self._connections.read(lambda connection: connection.execute(statement).fetchone())
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Nothing is open: all generations share the connections."""

    def _rows(self, template: str, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        statement = self._tables.statement(template)
        return self._connections.read(
            lambda connection: connection.execute(statement, (list(ids),), binary=True).fetchall()
        )

    def _stored(self, ids: Sequence[int]) -> list[StoredChunk]:
        """Chunks with the vectors of their sentences, in one request: whoever needs one soon needs the other."""
        found = {i: stored for i in ids if (stored := self._cache.get(i)) is not None}
        if missing := [i for i in ids if i not in found]:
            select = "SELECT id, payload, sentences FROM {chunks} WHERE id = ANY(%s)"
            for i, payload, data in self._rows(select, missing):
                rows = np.frombuffer(data, np.float16).reshape(-1, self._dimension)
                found[i] = self._cache.put(i, (to_chunk(payload), rows))
        return [found[i] for i in ids]

    def _mask(self, connection: Connection, filters: Filters) -> NDArray[np.bool_] | None:
        """Which chunks the filters allow; None without filters."""
        condition = _condition(filters)
        if condition is None:
            return None
        if (cached := self._allowed.get(filters)) is not None:
            return cached
        mask = np.zeros(self._size, np.bool_)
        if _is_storable(filters):
            statement = self._tables.statement(
                "SELECT coalesce(array_agg(id), '{{}}') FROM {chunks} WHERE {where}", where=condition
            )
            row = connection.execute(statement, binary=True).fetchone()
            mask[np.array(row[0] if row else [], np.int64)] = True
        return self._allowed.put(filters, mask)

    def _dense(
        self, connection: Connection, vector: Vector, limit: int, filters: Filters, allowed: NDArray[np.bool_] | None
    ) -> dict[int, float]:
        size = self._size if allowed is None else int(allowed.sum())
        if not size:
            return {}
        exact = size <= MAX_EXACT_CHUNKS or self._dimension > MAX_INDEXED_DIMENSIONS
        where: sql.Composable = sql.SQL("")
        if allowed is not None and exact:
            where = sql.SQL("WHERE id = ANY({})").format(sql.Literal(np.flatnonzero(allowed).tolist()))
        elif condition := _condition(filters):
            where = self._tables.statement(
                "WHERE id IN (SELECT id FROM {chunks} WHERE {condition})", condition=condition
            )
        statement = self._tables.statement(
            _EXACT if exact else _NEAREST,
            vector=sql.Literal(_literal(vector)) + sql.SQL("::vector"),
            where=where,
            limit=sql.Literal(limit),
            dimension=sql.Literal(self._dimension),
        )
        if exact:
            rows = connection.execute(statement).fetchall()
        else:
            found = connection.execute(_consider(limit) + statement)
            found.nextset()
            rows = found.fetchall()
        return {i: float(score) for i, score in rows}

    def _sparse(
        self, connection: Connection, terms: Sequence[int], limit: int, allowed: NDArray[np.bool_] | None
    ) -> dict[int, float]:
        """BM25: the best chunks by the sum of their terms' weights."""
        scores = np.zeros(self._size, np.float32)
        for ids, weights in self._posting_lists(connection, terms):
            scores[ids] += np.float32(inverse_document_frequency(len(ids), self._size)) * weights
        if allowed is not None:
            scores[~allowed] = 0
        found = np.flatnonzero(scores)
        if len(found) > limit:
            least = np.partition(scores[found], -limit)[-limit]
            found = found[scores[found] >= least]
        best = found[np.lexsort((found, -scores[found]))][:limit]
        return {int(i): float(scores[i]) for i in best}

    def _posting_lists(self, connection: Connection, terms: Sequence[int]) -> list[Posting]:
        """For each term, the chunks with it, and its weight in each; none for a word that the book does not have."""
        found = {term: posting for term in terms if (posting := self._postings.get(term)) is not None}
        if missing := [term for term in terms if term not in found]:
            statement = self._tables.statement("SELECT term, chunks, weights FROM {terms} WHERE term = ANY(%s)")
            rows = connection.execute(statement, (missing,), binary=True).fetchall()
            stored = {term: (ids, weights) for term, ids, weights in rows}
            for term in missing:
                ids, weights = stored.get(term, (b"", b""))
                posting = np.frombuffer(ids, "<i4"), np.frombuffer(weights, "<f4")
                found[term] = self._postings.put(term, posting, _POSTING_BYTES + len(ids) + len(weights))
        return [found[term] for term in terms]


def _condition(filters: Filters) -> sql.Composable | None:
    """All conditions must hold."""
    conditions = [
        sql.SQL("{} @> ARRAY[{}]").format(sql.Identifier(field), sql.Literal(value))
        for field, value in exact_conditions(filters)
    ]
    if starts := prefix_condition(filters):
        conditions.append(sql.SQL("starts_with({}, {})").format(sql.Identifier(starts[0]), sql.Literal(starts[1])))
    return sql.SQL(" AND ").join(conditions) if conditions else None


def _is_storable(filters: Filters) -> bool:
    """Whether Postgres can compare these values: it cannot store NUL, so no chunk has it."""
    return "\x00" not in f"{filters.source_url_prefix}{filters.section}{filters.chapter}{filters.version}"


def _consider(limit: int) -> sql.Composed:
    """How many neighbours the search that follows considers; with a filter, it goes on until enough are allowed.

    Statements that are sent together are one transaction, so that a connection pooler cannot separate them.
    """
    candidates = min(_MAX_CANDIDATES, _CANDIDATES * limit)
    return sql.SQL(
        "SELECT set_config('hnsw.ef_search', {}, true), set_config('hnsw.iterative_scan', 'strict_order', true);"
    ).format(sql.Literal(str(candidates)))


def _literal(vector: Vector) -> str:
    """A vector of length 1, as text."""
    return "[" + ",".join(map(str, unit(vector).tolist())) + "]"


def unit(vector: Vector) -> Vector:
    """The vector with length 1: then its inner product with another is their cosine similarity."""
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
