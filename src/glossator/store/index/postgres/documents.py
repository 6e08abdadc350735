"""The documents of one generation in Postgres."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from glossator.core.book.manifest import Manifest
from glossator.core.types import Block, BlockKind, ContentsEntry, Document
from glossator.store.index.bounded_cache import BoundedCache
from glossator.store.index.documents import MAX_CACHED_TEXTS, MAX_CACHED_WORDS
from glossator.store.index.postgres.connections import PostgresConnections
from glossator.store.index.postgres.tables import GenerationTables

_COLUMNS = "document_id, entry, text, details, html"
_BATCH_SIZE = 100


class PostgresDocuments:
    """Reads documents by id, from any thread; what was read is cached, as a generation never changes."""

    def __init__(self, connections: PostgresConnections, tables: GenerationTables, manifest: Manifest) -> None:
        self._connections, self._tables = connections, tables
        self._chunk_count = manifest.chunks
        self._texts: BoundedCache[str, str] = BoundedCache(MAX_CACHED_TEXTS)
        self._word_counts: BoundedCache[str, int] = BoundedCache(MAX_CACHED_WORDS)
        self._contents: list[ContentsEntry] | None = None

    def get(self, document_id: str) -> Document | None:
        """One document, or None."""
        rows = self._select(f"SELECT {_COLUMNS} FROM {{documents}} WHERE document_id = %s", document_id)  # noqa: S608 - our own names
        return _document(rows[0]) if rows else None

    def text(self, document_id: str) -> str:
        """The text of a document; empty if there is no such document."""
        if (cached := self._texts.get(document_id)) is not None:
            return cached
        rows = self._select("SELECT text FROM {documents} WHERE document_id = %s", document_id)
        return self._texts.put(document_id, str(rows[0][0]) if rows else "")

    def image(self, name: str) -> bytes | None:
        """An image that a document shows, or None."""
        rows = self._select("SELECT content FROM {images} WHERE name = %s", name)
        return bytes(rows[0][0]) if rows else None

    def all(self) -> Iterator[Document]:
        """Every document in reading order, read in batches."""
        position = 0
        query = f"SELECT position, {_COLUMNS} FROM {{documents}} WHERE position >= %s ORDER BY position LIMIT %s"  # noqa: S608 - our own names
        while rows := self._select(query, position, _BATCH_SIZE):
            yield from (_document(row[1:]) for row in rows)
            position = rows[-1][0] + 1

    def contents(self) -> list[ContentsEntry]:
        """The table of contents in reading order."""
        if self._contents is None:
            rows = self._select("SELECT document_id, entry FROM {documents} ORDER BY position")
            self._contents = [_entry(*row) for row in rows]
        return list(self._contents)

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """How many chunks contain each word."""
        found = {word: count for word in words if (count := self._word_counts.get(word)) is not None}
        if missing := [word for word in words if word not in found]:
            stored = dict(self._select("SELECT word, chunks FROM {words} WHERE word = ANY(%s)", missing))
            found |= {word: self._word_counts.put(word, int(stored.get(word, 0))) for word in missing}
        return found

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return self._chunk_count

    def close(self) -> None:
        """Nothing is open: all generations share the connections."""

    def _select(self, template: str, *values: object) -> list[tuple[Any, ...]]:
        if any("\x00" in value for value in values if isinstance(value, str)):
            return []
        statement = self._tables.statement(template)
        return self._connections.read(lambda connection: connection.execute(statement, values, binary=True).fetchall())


def to_row(position: int, document: Document) -> tuple[object, ...]:
    """The row of a document; JSON may contain every character, which Postgres's own text may not."""
    from psycopg.types.json import Json

    return (
        position,
        document.document_id,
        Json({"url": document.url, "title": document.title, "chapters": document.chapters}),
        Json(document.text),
        Json(
            {
                "blocks": [(b.kind.value, b.start, b.end, b.level, b.anchor) for b in document.blocks],
                "content_hash": document.content_hash,
                "images": document.images,
            }
        ),
        zlib.compress(document.html.encode("utf-8", "surrogatepass"), level=6),
    )


def _entry(document_id: str, entry: dict[str, Any]) -> ContentsEntry:
    return ContentsEntry(document_id, entry["url"], entry["title"], tuple(entry["chapters"]))


def _document(row: Sequence[Any]) -> Document:
    document_id, entry, text, details, html = row
    return Document(
        document_id=document_id,
        url=entry["url"],
        title=entry["title"],
        chapters=tuple(entry["chapters"]),
        text=text,
        blocks=tuple(Block(BlockKind(kind), *rest) for kind, *rest in details["blocks"]),
        content_hash=details["content_hash"],
        html=zlib.decompress(html).decode("utf-8", "surrogatepass"),
        images=tuple(details["images"]),
    )
