"""The documents of one generation on a Qdrant server: points without vectors, found by their ids."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from glossator.core.book.manifest import Manifest
from glossator.core.types import Block, BlockKind, ContentsEntry, Document
from glossator.store.index.bounded_cache import BoundedCache
from glossator.store.index.documents import MAX_CACHED_TEXTS
from glossator.store.index.qdrant.collections import GenerationCollections, point_id
from glossator.store.index.qdrant.server import QdrantServer, found_by_id

LIST_SIZE = 1000
"""Entries of a list in one point."""
WORD_GROUPS = 256
"""Points among which the words are divided."""
_BATCH_SIZE = 20


class QdrantDocuments:
    """Reads documents by id, from any thread; what was read is cached, as a generation never changes."""

    def __init__(self, server: QdrantServer, collections: GenerationCollections, manifest: Manifest) -> None:
        self._server, self._name = server, collections.documents
        self._chunk_count = manifest.chunks
        self._texts: BoundedCache[str, str] = BoundedCache(MAX_CACHED_TEXTS)
        self._words: BoundedCache[int, dict[str, int]] = BoundedCache(WORD_GROUPS)
        self._contents: list[ContentsEntry] | None = None
        self._urls: list[str] | None = None

    def get(self, document_id: str) -> Document | None:
        """One document, or None."""
        found = self._payloads([point_id("document", document_id)])
        return _document(found[0]) if found else None

    def text(self, document_id: str) -> str:
        """The text of a document; empty if there is no such document."""
        if (cached := self._texts.get(document_id)) is not None:
            return cached
        found = self._payloads([point_id("document", document_id)], ["text"])
        return self._texts.put(document_id, str(found[0]["text"]) if found else "")

    def image(self, name: str) -> bytes | None:
        """An image that a document shows, or None."""
        found = self._payloads([point_id("image", name)])
        return base64.b64decode(found[0]["content"]) if found else None

    def all(self) -> Iterator[Document]:
        """Every document in reading order, read in batches."""
        entries = self.contents()
        for start in range(0, len(entries), _BATCH_SIZE):
            ids = [point_id("document", entry.document_id) for entry in entries[start : start + _BATCH_SIZE]]
            yield from map(_document, self._payloads(ids))

    def contents(self) -> list[ContentsEntry]:
        """The table of contents in reading order."""
        if self._contents is None:
            self._contents = [
                ContentsEntry(i, url, title, tuple(above)) for i, url, title, above in self._list("contents")
            ]
        return list(self._contents)

    def urls_with_prefix(self, field: str, prefix: str) -> list[str]:
        """The URLs of chunks that start with a prefix, or whose path does."""
        if self._urls is None:
            self._urls = self._list("urls")
        return [url for url in self._urls if (urlsplit(url).path if field == "path" else url).startswith(prefix)]

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        """How many chunks contain each word."""
        groups = {word_group(word) for word in words}
        found = {group: counts for group in groups if (counts := self._words.get(group)) is not None}
        for group in groups - found.keys():
            payloads = self._payloads([point_id("words", group)])
            found[group] = self._words.put(group, dict(payloads[0]["counts"]) if payloads else {})
        return {word: int(found[word_group(word)].get(word, 0)) for word in words}

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return self._chunk_count

    def close(self) -> None:
        """Nothing is open: all generations share the connections."""

    def _list(self, kind: str) -> list[Any]:
        """A list that is divided among points."""
        items: list[Any] = []
        while part := self._payloads([point_id(kind, len(items) // LIST_SIZE)]):
            items += part[0]["items"]
            if len(part[0]["items"]) < LIST_SIZE:
                break
        return items

    def _payloads(self, ids: list[str], fields: list[str] | None = None) -> list[dict[str, Any]]:
        records = self._server.read(lambda client: client.retrieve(self._name, ids, with_payload=fields or True))
        found = found_by_id(records)
        return [found[i].payload or {} for i in ids if i in found]


def word_group(word: str) -> int:
    """The point that holds the count of a word."""
    return zlib.crc32(word.encode("utf-8", "replace")) % WORD_GROUPS


def to_document_payload(document: Document) -> dict[str, Any]:
    """The values of a document."""
    return {
        "document_id": document.document_id,
        "url": document.url,
        "title": document.title,
        "chapters": list(document.chapters),
        "text": document.text,
        "blocks": [[b.kind.value, b.start, b.end, b.level, b.anchor] for b in document.blocks],
        "content_hash": document.content_hash,
        "html": document.html,
        "images": list(document.images),
    }


def _document(payload: dict[str, Any]) -> Document:
    return Document(
        document_id=payload["document_id"],
        url=payload["url"],
        title=payload["title"],
        chapters=tuple(payload["chapters"]),
        text=payload["text"],
        blocks=tuple(Block(BlockKind(kind), *rest) for kind, *rest in payload["blocks"]),
        content_hash=payload["content_hash"],
        html=payload["html"],
        images=tuple(payload["images"]),
    )
