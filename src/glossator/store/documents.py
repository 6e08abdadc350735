"""The documents of one generation, in a SQLite file that is written once."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from glossator.core.errors import IndexDamaged
from glossator.core.types import Block, BlockKind, Chunk, Document
from glossator.core.words import content_words

_SCHEMA = """
CREATE TABLE documents (
    position INTEGER PRIMARY KEY, document_id TEXT UNIQUE NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,
    chapters TEXT NOT NULL, text TEXT NOT NULL, blocks TEXT NOT NULL, content_hash TEXT NOT NULL
);
CREATE TABLE words (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (chunks INTEGER NOT NULL);
"""
_COLUMNS = "document_id, url, title, chapters, text, blocks, content_hash"


def write_documents(path: Path, documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
    """Write all documents in reading order, and in how many chunks each word stands."""
    words = Counter(word for chunk in chunks for word in set(content_words(f"{chunk.context} {chunk.text}")))
    db = sqlite3.connect(path)
    try:
        db.executescript(_SCHEMA)
        with db:
            db.executemany("INSERT INTO words VALUES (?, ?)", words.items())
            db.execute("INSERT INTO counts VALUES (?)", (len(chunks),))
            db.executemany(
                f"INSERT INTO documents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own column names
                [_row(document) for document in documents],
            )
    finally:
        db.close()


class DocumentShelf:
    """Reads documents by id; any thread may use it."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise IndexDamaged("The index has no documents.", "Run `glossator ingest` again.")
        self._db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False)

    def get(self, document_id: str) -> Document | None:
        """One document, or None."""
        row = self._select("WHERE document_id = ?", (document_id,)).fetchone()
        return _document(row) if row else None

    def all(self) -> Iterator[Document]:
        """Every document in reading order."""
        return (_document(row) for row in self._select("ORDER BY position", ()))

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each word stands."""
        counts = {}
        for word in words:
            row = self._db.execute("SELECT chunks FROM words WHERE word = ?", (word,)).fetchone()
            counts[word] = int(row[0]) if row else 0
        return counts

    def chunk_count(self) -> int:
        return int(self._db.execute("SELECT chunks FROM counts").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def _select(self, clause: str, values: tuple[str, ...]) -> sqlite3.Cursor:
        return self._db.execute(f"SELECT {_COLUMNS} FROM documents {clause}", values)  # noqa: S608 - our own clauses


def _row(document: Document) -> tuple[str, ...]:
    blocks = [(b.kind.value, b.start, b.end, b.level, b.anchor) for b in document.blocks]
    return (
        document.document_id,
        document.url,
        document.title,
        json.dumps(document.chapters),
        document.text,
        json.dumps(blocks),
        document.content_hash,
    )


def _document(row: tuple[str, ...]) -> Document:
    document_id, url, title, chapters, text, blocks, content_hash = row
    return Document(
        document_id=document_id,
        url=url,
        title=title,
        chapters=tuple(json.loads(chapters)),
        text=text,
        blocks=tuple(Block(BlockKind(kind), *rest) for kind, *rest in json.loads(blocks)),
        content_hash=content_hash,
    )
