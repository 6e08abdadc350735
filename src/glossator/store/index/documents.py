"""The documents of one generation, in a SQLite file that is written once."""

from __future__ import annotations

import json
import sqlite3
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from glossator.core.errors import IndexCorrupted
from glossator.core.ports import GenerationContents
from glossator.core.text.words import content_words
from glossator.core.types import Block, BlockKind, Chunk, ContentsEntry, Document
from glossator.store.index.bounded_cache import BoundedCache

_SCHEMA = """
CREATE TABLE documents (
    position INTEGER PRIMARY KEY, document_id TEXT UNIQUE NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,
    chapters TEXT NOT NULL, text TEXT NOT NULL, blocks TEXT NOT NULL, content_hash TEXT NOT NULL,
    html BLOB NOT NULL, images TEXT NOT NULL
);
CREATE TABLE images (name TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE words (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (chunks INTEGER NOT NULL);
"""
MAX_CACHED_TEXTS, MAX_CACHED_WORDS = 64, 20_000
_COLUMNS = "document_id, url, title, chapters, text, blocks, content_hash, html, images"
_COLUMNS_WITHOUT_HTML = "document_id, url, title, chapters, text, blocks, content_hash, NULL, '[]'"
"""For generations that were built before pages had HTML."""


def count_words(chunks: Iterable[Chunk]) -> Counter[str]:
    """How many chunks contain each word."""
    return Counter(word for chunk in chunks for word in set(content_words(f"{chunk.context} {chunk.text}")))


def found_images(documents: Iterable[Document], image: Callable[[str], bytes | None]) -> Iterator[tuple[str, bytes]]:
    """The images of documents, by name; missing ones are left out."""
    names = dict.fromkeys(name for document in documents for name in document.images)
    return ((name, content) for name in names if (content := image(name)) is not None)


def write_documents(path: Path, contents: GenerationContents, image: Callable[[str], bytes | None]) -> None:
    """Write all documents in reading order, how many chunks contain each word, and the images that are found."""
    words = count_words(contents.chunks)
    db = sqlite3.connect(path)
    try:
        db.executescript(_SCHEMA)
        with db:
            db.executemany("INSERT INTO words VALUES (?, ?)", words.items())
            db.execute("INSERT INTO counts VALUES (?)", (len(contents.chunks),))
            db.executemany(
                f"INSERT INTO documents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own names
                map(_row, contents.documents),
            )
            db.executemany("INSERT INTO images VALUES (?, ?)", found_images(contents.documents, image))
    finally:
        db.close()


class SqliteDocuments:
    """Reads documents by id, from any thread; closes its file when it is garbage-collected."""

    def __init__(self, path: Path) -> None:
        try:
            address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._close = weakref.finalize(self, self._db.close)
            self._texts: BoundedCache[str, str] = BoundedCache(MAX_CACHED_TEXTS)
            self._word_counts: BoundedCache[str, int] = BoundedCache(MAX_CACHED_WORDS)
            columns = {row[1] for row in self._db.execute("PRAGMA table_info(documents)")}
            self._columns = _COLUMNS if "html" in columns else _COLUMNS_WITHOUT_HTML
            self._chunk_count = int(self._db.execute("SELECT chunks FROM counts").fetchone()[0])
        except sqlite3.Error as error:
            raise IndexCorrupted(
                f"The documents of the index cannot be read ({error}).", "Run `glossator ingest` again."
            ) from None

    def get(self, document_id: str) -> Document | None:
        """One document, or None."""
        row = self._select("WHERE document_id = ?", (document_id,)).fetchone()
        return _document(row) if row else None

    def text(self, document_id: str) -> str:
        """The text of a document; empty if there is no such document."""
        if (cached := self._texts.get(document_id)) is not None:
            return cached
        row = self._db.execute("SELECT text FROM documents WHERE document_id = ?", (document_id,)).fetchone()
        return self._texts.put(document_id, str(row[0]) if row else "")

    def image(self, name: str) -> bytes | None:
        """An image that a document shows, or None."""
        if self._columns != _COLUMNS:
            return None
        row = self._db.execute("SELECT content FROM images WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else None

    def all(self) -> Iterator[Document]:
        """Every document in reading order."""
        return (_document(row) for row in self._select("ORDER BY position", ()))

    def contents(self) -> list[ContentsEntry]:
        """The table of contents in reading order."""
        rows = self._db.execute("SELECT document_id, url, title, chapters FROM documents ORDER BY position")
        return [ContentsEntry(name, url, title, tuple(json.loads(chapters))) for name, url, title, chapters in rows]

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """How many chunks contain each word."""
        return {word: self._chunks_with(word) for word in words}

    def _chunks_with(self, word: str) -> int:
        if (cached := self._word_counts.get(word)) is not None:
            return cached
        row = self._db.execute("SELECT chunks FROM words WHERE word = ?", (word,)).fetchone()
        return self._word_counts.put(word, int(row[0]) if row else 0)

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return self._chunk_count

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _select(self, clause: str, values: tuple[str, ...]) -> sqlite3.Cursor:
        return self._db.execute(f"SELECT {self._columns} FROM documents {clause}", values)  # noqa: S608 - our own clauses


def _row(document: Document) -> tuple[str | bytes, ...]:
    blocks = [(b.kind.value, b.start, b.end, b.level, b.anchor) for b in document.blocks]
    return (
        document.document_id,
        document.url,
        document.title,
        json.dumps(document.chapters),
        document.text,
        json.dumps(blocks),
        document.content_hash,
        zlib.compress(document.html.encode("utf-8", "surrogatepass"), level=6),
        json.dumps(document.images),
    )


def _document(row: tuple[Any, ...]) -> Document:
    document_id, url, title, chapters, text, blocks, content_hash, html, images = row
    return Document(
        document_id=document_id,
        url=url,
        title=title,
        chapters=tuple(json.loads(chapters)),
        text=text,
        blocks=tuple(Block(BlockKind(kind), *rest) for kind, *rest in json.loads(blocks)),
        content_hash=content_hash,
        html=zlib.decompress(html).decode("utf-8", "surrogatepass") if html else "",
        images=tuple(json.loads(images)),
    )
