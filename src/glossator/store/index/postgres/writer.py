"""Writes a generation into Postgres in batches, one transaction each; an interrupted build continues."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from psycopg import errors
from psycopg.types.json import Json

from glossator.core.book.manifest import Manifest
from glossator.core.errors import StorageError
from glossator.core.ports import GenerationContents
from glossator.core.types import Chunk, Embedding
from glossator.store.index.documents import count_words, found_images
from glossator.store.index.keywords import KeywordEncoder
from glossator.store.index.payload import to_payload
from glossator.store.index.postgres.connections import Connection, PostgresConnections
from glossator.store.index.postgres.documents import to_row
from glossator.store.index.postgres.index import unit
from glossator.store.index.postgres.tables import MAX_EXACT_CHUNKS, MAX_INDEXED_DIMENSIONS, GenerationTables

BATCH_SIZE = 512
_COPY_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)
_BUILD_MEMORY = "256MB"


def write_generation(
    connections: PostgresConnections,
    tables: GenerationTables,
    manifest: Manifest,
    contents: GenerationContents,
    image: Callable[[str], bytes | None],
) -> None:
    """Fill the tables of a generation, which exist; batches that are there already are not written again."""
    written = connections.write(lambda connection: _count(connection, tables))
    for start in range(written - written % BATCH_SIZE, len(contents.chunks), BATCH_SIZE):
        batch = slice(start, start + BATCH_SIZE)
        _write_batch(connections, tables, start, contents.chunks[batch], contents.embeddings[batch], manifest)
    _write_terms(connections, tables, contents.chunks)
    _replace(connections, tables, "words", lambda: count_words(contents.chunks).items())
    _replace(connections, tables, "documents", lambda: (to_row(*each) for each in enumerate(contents.documents)))
    _replace(connections, tables, "images", lambda: found_images(contents.documents, image))
    _create_indexes(connections, tables, manifest)


def _count(connection: Connection, tables: GenerationTables) -> int:
    row = connection.execute(tables.statement("SELECT count(*) FROM {vectors} JOIN {chunks} USING (id)")).fetchone()
    return int(row[0]) if row else 0


def _write_batch(
    connections: PostgresConnections,
    tables: GenerationTables,
    start: int,
    chunks: Sequence[Chunk],
    embeddings: Sequence[Embedding],
    manifest: Manifest,
) -> None:
    vectors = _copied_vectors(start, embeddings, manifest.dimension)
    rows = [_row(i, *each, manifest) for i, each in enumerate(zip(chunks, embeddings, strict=True), start)]

    def work(connection: Connection) -> None:
        # A retry cannot know whether the batch was stored before the connection was lost.
        connection.execute(tables.statement("DELETE FROM {vectors} WHERE id >= %s"), (start,))
        connection.execute(tables.statement("DELETE FROM {chunks} WHERE id >= %s"), (start,))
        with connection.cursor().copy(tables.statement("COPY {vectors} FROM STDIN (FORMAT binary)")) as copy:
            copy.write(vectors)
        _copy(connection, tables, "chunks", rows)

    connections.write(work)


def _row(number: int, chunk: Chunk, embedding: Embedding, manifest: Manifest) -> tuple[object, ...]:
    payload = to_payload(chunk, number, manifest.created_at)
    sentences = np.ascontiguousarray(embedding.sentences, np.float16).tobytes()
    keys = ("url", "path", "sections", "chapters", "versions")
    return (number, Json(payload), *(_without_nul(payload[key]) for key in keys), sentences)


def _without_nul(value: str | list[str]) -> str | list[str]:
    """What can be filtered by, without the one character that Postgres cannot store."""
    return value.replace("\x00", "") if isinstance(value, str) else [each.replace("\x00", "") for each in value]


def _copied_vectors(start: int, embeddings: Sequence[Embedding], dimension: int) -> bytes:
    """Vectors in the binary format of COPY: two fields in each row, with their lengths; all numbers big-endian."""
    if any(embedding.vector.shape != (dimension,) for embedding in embeddings):
        raise StorageError(f"A vector does not have {dimension} dimensions.", "Run `glossator ingest` again.")
    row = np.dtype(
        [
            ("fields", ">i2"),
            ("id_length", ">i4"),
            ("id", ">i4"),
            ("length", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f4", (dimension,)),
        ]
    )
    rows = np.zeros(len(embeddings), row)
    rows["fields"], rows["id_length"], rows["length"] = 2, 4, 4 + 4 * dimension
    rows["id"], rows["dimension"] = np.arange(start, start + len(embeddings)), dimension
    rows["vector"] = np.stack([unit(embedding.vector) for embedding in embeddings])
    return _COPY_SIGNATURE + rows.tobytes() + _COPY_END


def _write_terms(connections: PostgresConnections, tables: GenerationTables, chunks: Sequence[Chunk]) -> None:
    """For each term, the chunks with it and its weights there."""
    encoder = KeywordEncoder()
    postings: dict[int, tuple[array[int], array[float]]] = {}
    for number, chunk in enumerate(chunks):
        vector = encoder.document(chunk)
        for term, weight in zip(vector.indices, vector.values, strict=True):
            ids, weights = postings.setdefault(int(term), (array("i"), array("f")))
            ids.append(number)
            weights.append(weight)
    _replace(
        connections,
        tables,
        "terms",
        lambda: (
            (term, np.asarray(ids, "<i4").tobytes(), np.asarray(weights, "<f4").tobytes())
            for term, (ids, weights) in postings.items()
        ),
    )


def _replace(
    connections: PostgresConnections,
    tables: GenerationTables,
    part: str,
    rows: Callable[[], Iterable[Sequence[object]]],
) -> None:
    """Fill a table in one transaction."""

    def work(connection: Connection) -> None:
        connection.execute(tables.statement(f"TRUNCATE {{{part}}}"))
        _copy(connection, tables, part, rows())

    connections.write(work)


def _copy(connection: Connection, tables: GenerationTables, part: str, rows: Iterable[Sequence[object]]) -> None:
    with connection.cursor().copy(tables.statement(f"COPY {{{part}}} FROM STDIN")) as copy:
        for row in rows:
            copy.write_row(row)


def _create_indexes(connections: PostgresConnections, tables: GenerationTables, manifest: Manifest) -> None:
    connections.write(lambda connection: connection.execute(tables.index_filters()))
    if manifest.chunks <= MAX_EXACT_CHUNKS or manifest.dimension > MAX_INDEXED_DIMENSIONS:
        return
    try:
        _create_vector_index(connections, tables, manifest.dimension, parallel=True)
    except StorageError as error:
        # Parallel workers share memory in /dev/shm, which containers often limit to 64 MB.
        if not isinstance(error.__cause__, errors.DiskFull | errors.OutOfMemory):
            raise
        _create_vector_index(connections, tables, manifest.dimension, parallel=False)


def _create_vector_index(
    connections: PostgresConnections, tables: GenerationTables, dimension: int, *, parallel: bool
) -> None:
    def work(connection: Connection) -> None:
        connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (_BUILD_MEMORY,))
        if not parallel:
            connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', true)")
        connection.execute(tables.index_vectors(dimension))

    connections.write(work)
