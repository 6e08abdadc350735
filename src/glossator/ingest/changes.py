"""Ingest plan: compares the documents that were read with those that are indexed, source by source."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from glossator.core.book.addresses import BOOK_PATH, Mount
from glossator.core.types import Document, DocumentCounts, SkippedFile
from glossator.ingest.addresses import choose_mounts, place_documents
from glossator.ingest.read import SourceContents

ContentHashes = Mapping[str, str]
"""Content hashes by document id."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """A source as it is in the index."""

    hashes: ContentHashes
    mount: Mount | None


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """The documents to index and the mounts, by source; how the number of documents changes; what was skipped."""

    documents: dict[str, tuple[Document, ...]]
    mounts: dict[str, Mount]
    counts: DocumentCounts
    skipped: tuple[SkippedFile, ...]


def plan_ingest(
    sources: Mapping[str, SourceContents],
    indexed: Mapping[str, IndexedSource],
    retained: Mapping[str, str],
    removed: Collection[str],
    book_path: str = BOOK_PATH,
) -> IngestPlan:
    """Compare what was read with what is indexed.

    Sources that were neither read nor removed stay; `retained` maps the URLs of their documents to the ids.
    """
    kept = {root: source for root, source in indexed.items() if root not in sources and root not in removed}
    given = {root: source for root, source in indexed.items() if root in sources}
    mounts = choose_mounts(sources, {root: s.mount for root, s in (kept | given).items() if s.mount}, book_path)
    placed, skipped = place_documents(sources, mounts, retained)
    documents = _with_unique_ids(placed, kept, given)
    old = {i: h for root, source in indexed.items() if root not in kept for i, h in source.hashes.items()}
    new = {d.document_id: d.content_hash for found in documents.values() for d in found}
    counts = _count(old, new, sum(len(source.hashes) for source in kept.values()), sum(s.files for s in skipped))
    return IngestPlan(documents, mounts, counts, skipped)


def _with_unique_ids(
    placed: Mapping[str, Sequence[Document]], kept: Mapping[str, IndexedSource], given: Mapping[str, IndexedSource]
) -> dict[str, tuple[Document, ...]]:
    """Documents whose ids no other source uses; a document keeps the id that it has in the index."""
    documents: dict[str, tuple[Document, ...]] = {}
    used = {i for source in kept.values() for i in source.hashes}
    for root, found in placed.items():
        before = given[root].hashes if root in given else {}
        reserved = used | {i for other, source in given.items() if other != root for i in source.hashes}
        documents[root] = tuple(_with_unique_id(document, root, reserved, before) for document in found)
        used |= {document.document_id for document in documents[root]}
    return documents


def _with_unique_id(document: Document, root: str, used: set[str], before: ContentHashes) -> Document:
    """Prefix a document id that another source uses already: with the folder's name, else with a hash of its path."""
    name, digest = PurePath(root).name, hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    candidates = [document.document_id, f"{name}/{document.document_id}", f"{digest}/{document.document_id}"]
    free = [candidate for candidate in candidates if candidate not in used] or candidates[-1:]
    return replace(document, document_id=next((i for i in free if i in before), free[0]))


def _count(old: ContentHashes, new: ContentHashes, retained: int, skipped: int) -> DocumentCounts:
    common = old.keys() & new.keys()
    changed = sum(old[i] != new[i] for i in common)
    return DocumentCounts(
        added=len(new.keys() - old.keys()),
        changed=changed,
        removed=len(old.keys() - new.keys()),
        unchanged=len(common) - changed + retained,
        skipped=skipped,
    )


def corpus_hash(hashes: Sequence[ContentHashes]) -> str:
    """One hash over all documents of all sources."""
    lines = sorted(f"{i}\x00{h}" for source in hashes for i, h in source.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
