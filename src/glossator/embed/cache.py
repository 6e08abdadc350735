"""Embedding cache, keyed by a hash of the input: an unchanged chunk is never embedded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import overload

import numpy as np

from glossator.core.errors import StorageError
from glossator.core.ports import Embedder, Progress
from glossator.core.types import Chunk, Embedding

CHUNKS_PER_WRITE = 64
"""Chunks embedded between two cache writes: the most work that a killed ingest loses."""

CACHED_GENERATIONS = 5
"""Embeddings that none of the last generations used are evicted."""


class EmbeddingCache:
    """A SQLite file of vectors; it is safe to delete, and rebuilt by the next ingest."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS embeddings"
                " (key BLOB PRIMARY KEY, vector BLOB, sentences BLOB, generation INTEGER) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"The embedding cache cannot be opened ({error}).", f"Free disk space, or delete {path}."
            ) from None

    def get(self, keys: Sequence[bytes]) -> list[Embedding]:
        """Embeddings that are in the cache."""
        with _cache_errors():
            rows = [
                self._db.execute("SELECT vector, sentences FROM embeddings WHERE key = ?", (key,)).fetchone()
                for key in keys
            ]
        vectors = [np.frombuffer(row[0], np.float32) for row in rows]
        return [
            Embedding(vector, np.frombuffer(row[1], np.float16).reshape(-1, len(vector)))
            for vector, row in zip(vectors, rows, strict=True)
        ]

    def use(self, keys: Sequence[bytes], generation: int) -> set[bytes]:
        """Which keys are in the cache; they are marked as used by this generation."""
        with self._transaction():
            found = _present(self._db, keys)
            self._db.executemany(
                "UPDATE embeddings SET generation = ? WHERE key = ?", [(generation, key) for key in found]
            )
        return found

    def put(self, embeddings: dict[bytes, Embedding], generation: int) -> None:
        """Store embeddings, all or none."""
        rows = [(key, e.vector.tobytes(), e.sentences.tobytes(), generation) for key, e in embeddings.items()]
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)", rows)

    def evict_before(self, generation: int) -> None:
        """Delete embeddings last used before a generation."""
        with self._transaction():
            self._db.execute("DELETE FROM embeddings WHERE generation < ?", (generation,))

    def __enter__(self) -> EmbeddingCache:
        return self

    def __exit__(self, *_error: object) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction; database errors become a StorageError."""
        with _cache_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield


@contextmanager
def _cache_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(
            f"The embedding cache cannot be used ({error}).", "Free disk space, then run the command again."
        ) from None


def _present(db: sqlite3.Connection, keys: Sequence[bytes]) -> set[bytes]:
    return {key for key in keys if db.execute("SELECT 1 FROM embeddings WHERE key = ?", (key,)).fetchone()}


class CachedEmbeddings(Sequence[Embedding]):
    """Embeddings that are read from the cache when they are needed: those of a large book do not fit into memory."""

    def __init__(self, cache: EmbeddingCache, keys: Sequence[bytes]) -> None:
        self._cache, self._keys = cache, keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, place: int) -> Embedding: ...
    @overload
    def __getitem__(self, place: slice) -> list[Embedding]: ...
    def __getitem__(self, place: int | slice) -> Embedding | list[Embedding]:
        return self._cache.get([self._keys[place]])[0] if isinstance(place, int) else self._cache.get(self._keys[place])


def embed_with_cache(
    embedder: Embedder, cache: EmbeddingCache, chunks: Sequence[Chunk], generation: int, progress: Progress
) -> tuple[CachedEmbeddings, int]:
    """Embeddings of all chunks, and how many were not cached; those are made and stored in groups."""
    keys = [_key(embedder.fingerprint, chunk) for chunk in chunks]
    cached = cache.use(keys, generation)
    missing = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in cached}
    # Longest first: chunks of similar length share a group, and time estimates err on the safe side.
    pending = sorted(missing.items(), key=lambda item: -len(item[1].text))
    for start in range(0, len(pending), CHUNKS_PER_WRITE):
        group = pending[start : start + CHUNKS_PER_WRITE]

        def report(stage: str, done: int, _total: int, start: int = start) -> None:
            progress(stage, start + done, len(pending))

        made = embedder.embed_chunks([chunk for _, chunk in group], report)
        cache.put({key: embedding for (key, _), embedding in zip(group, made, strict=True)}, generation)
    return CachedEmbeddings(cache, keys), len(missing)


def count_missing(path: Path, fingerprint: str, chunks: Sequence[Chunk]) -> int:
    """How many embeddings an ingest would make; nothing is written."""
    keys = {_key(fingerprint, chunk) for chunk in chunks}
    # Without a log, nothing is being written either, and SQLite need not create one to read the file.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    if not path.exists():
        return len(keys)
    with _cache_errors(), closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as db:
        return len(keys) - len(_present(db, list(keys)))


def _key(fingerprint: str, chunk: Chunk) -> bytes:
    spans = ",".join(f"{s.start}-{s.end}" for s in chunk.sentences)
    identity = "\x00".join((fingerprint, chunk.context, chunk.text, spans))
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()
