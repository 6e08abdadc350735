"""What an ingest changes: new documents against those that are indexed, source by source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from glossator.core.types import Document, DocumentCounts
from glossator.ingest.read import Book

Hashes = Mapping[str, str]
"""Content hash by document id."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The documents that were read, by source, and what that does to the index."""

    documents: dict[str, tuple[Document, ...]]
    counts: DocumentCounts


def plan_ingest(books: Mapping[str, Book], indexed: Mapping[str, Hashes], only: bool) -> Plan:
    """Compare what was read with what is indexed; sources that were not read stay, unless `only`."""
    kept = {} if only else {root: hashes for root, hashes in indexed.items() if root not in books}
    taken = {document_id for hashes in kept.values() for document_id in hashes}
    documents: dict[str, tuple[Document, ...]] = {}
    for root, book in books.items():
        documents[root] = tuple(_named(document, root, taken) for document in book.documents)
        taken |= {document.document_id for document in documents[root]}
    before = {i: h for root, hashes in indexed.items() if root not in kept for i, h in hashes.items()}
    after = {d.document_id: d.content_hash for found in documents.values() for d in found}
    skipped = sum(len(book.skipped) for book in books.values())
    return Plan(documents, _count(before, after, sum(len(h) for h in kept.values()), skipped))


def _named(document: Document, root: str, taken: set[str]) -> Document:
    """Two sources may hold the same file name: the later one takes its folder's name in front."""
    if document.document_id not in taken:
        return document
    name = f"{PurePath(root).name}/{document.document_id}"
    if name in taken:
        name = f"{hashlib.sha256(root.encode()).hexdigest()[:8]}/{document.document_id}"
    return replace(document, document_id=name)


def _count(before: Hashes, after: Hashes, kept: int, skipped: int) -> DocumentCounts:
    common = before.keys() & after.keys()
    changed = sum(before[i] != after[i] for i in common)
    return DocumentCounts(
        added=len(after.keys() - before.keys()),
        changed=changed,
        removed=len(before.keys() - after.keys()),
        unchanged=len(common) - changed + kept,
        skipped=skipped,
    )


def corpus_hash(hashes: Sequence[Hashes]) -> str:
    """One hash for all documents of all sources."""
    lines = sorted(f"{i}\x00{h}" for source in hashes for i, h in source.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
