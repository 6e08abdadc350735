"""Embedding cache, keyed by a hash of the input: an unchanged chunk is never embedded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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

    def get(self, keys: Sequence[bytes], generation: int) -> dict[bytes, Embedding]:
        """The cached embeddings, marked as used by this generation."""
        found: dict[bytes, Embedding] = {}
        with self._transaction():
            for key in keys:
                row = self._db.execute("SELECT vector, sentences FROM embeddings WHERE key = ?", (key,)).fetchone()
                if row:
                    vector = np.frombuffer(row[0], np.float32)
                    found[key] = Embedding(vector, np.frombuffer(row[1], np.float16).reshape(-1, len(vector)))
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
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as error:
            raise StorageError(
                f"The embedding cache cannot be used ({error}).", "Free disk space, then run the command again."
            ) from None


def embed_with_cache(
    embedder: Embedder, cache: EmbeddingCache, chunks: Sequence[Chunk], generation: int, progress: Progress
) -> tuple[list[Embedding], int]:
    """Embeddings of all chunks, and how many were not cached; those are made and stored in groups."""
    keys = [_key(embedder.fingerprint, chunk) for chunk in chunks]
    cached = cache.get(keys, generation)
    missing = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in cached}
    # Longest first: chunks of similar length share a group, and time estimates err on the safe side.
    pending = sorted(missing.items(), key=lambda item: -len(item[1].text))
    for start in range(0, len(pending), CHUNKS_PER_WRITE):
        group = pending[start : start + CHUNKS_PER_WRITE]

        def report(stage: str, done: int, _total: int, start: int = start) -> None:
            progress(stage, start + done, len(pending))

        made = embedder.embed_chunks([chunk for _, chunk in group], report)
        fresh = {key: embedding for (key, _), embedding in zip(group, made, strict=True)}
        cache.put(fresh, generation)
        cached |= fresh
    return [cached[key] for key in keys], len(missing)


def _key(fingerprint: str, chunk: Chunk) -> bytes:
    spans = ",".join(f"{s.start}-{s.end}" for s in chunk.sentences)
    identity = "\x00".join((fingerprint, chunk.context, chunk.text, spans))
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()
