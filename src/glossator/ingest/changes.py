"""Ingest plan: compares the documents that were read with those that are indexed, source by source."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from glossator.core.book.addresses import BOOK_PATH, Mount
from glossator.core.types import ChangeKind, Document, DocumentChange, DocumentCounts, SkippedFile
from glossator.ingest.addresses import choose_mounts, place_documents
from glossator.ingest.hashes import is_moved, text_part
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
    """The documents to index and the mounts, by source; which documents change, and their counts; what was skipped."""

    documents: dict[str, tuple[Document, ...]]
    mounts: dict[str, Mount]
    changes: tuple[DocumentChange, ...]
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
    changes = tuple(_changes(old, new))
    touched = Counter(change.kind for change in changes)
    counts = DocumentCounts(
        touched[ChangeKind.ADDED],
        touched[ChangeKind.CHANGED],
        touched[ChangeKind.MOVED],
        touched[ChangeKind.REMOVED],
        unchanged=sum(old.get(i) == h for i, h in new.items()) + sum(len(source.hashes) for source in kept.values()),
        skipped=sum(skip.files for skip in skipped),
    )
    return IngestPlan(documents, mounts, changes, counts, skipped)


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


def _changes(old: ContentHashes, new: ContentHashes) -> Iterator[DocumentChange]:
    """What happened to each document; one whose text was at another id before has moved."""
    gone = [i for i in old if i not in new]
    by_text: defaultdict[str, deque[str]] = defaultdict(deque)
    for i in gone:
        by_text[text_part(old[i])].append(i)
    moved_from: set[str] = set()
    for i, whole in new.items():
        if i in old:
            if whole != old[i]:
                yield _in_place(i, old[i], whole)
        elif places := by_text.get(text_part(whole)):
            moved_from.add(places[0])
            yield DocumentChange(ChangeKind.MOVED, i, places.popleft())
        else:
            yield DocumentChange(ChangeKind.ADDED, i)
    yield from (DocumentChange(ChangeKind.REMOVED, i) for i in gone if i not in moved_from)


def _in_place(document_id: str, old: str, new: str) -> DocumentChange:
    if is_moved(old, new):
        return DocumentChange(ChangeKind.MOVED, document_id, document_id)
    return DocumentChange(ChangeKind.CHANGED, document_id)


def corpus_hash(hashes: Sequence[ContentHashes]) -> str:
    """One hash over all documents of all sources."""
    lines = sorted(f"{i}\x00{h}" for source in hashes for i, h in source.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
