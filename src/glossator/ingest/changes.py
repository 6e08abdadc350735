"""Ingest plan: compares the documents that were read with those that are indexed, source by source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from glossator.core.types import Document, DocumentCounts
from glossator.ingest.read import SourceContents

ContentHashes = Mapping[str, str]
"""Content hashes by document id."""


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """The documents to index, by source, and how their number changes."""

    documents: dict[str, tuple[Document, ...]]
    counts: DocumentCounts


def plan_ingest(sources: Mapping[str, SourceContents], indexed: Mapping[str, ContentHashes], only: bool) -> IngestPlan:
    """Compare what was read with what is indexed; sources that were not read stay indexed, unless `only`."""
    retained = {} if only else {root: hashes for root, hashes in indexed.items() if root not in sources}
    used_ids = {document_id for hashes in retained.values() for document_id in hashes}
    documents: dict[str, tuple[Document, ...]] = {}
    for root, source in sources.items():
        documents[root] = tuple(_with_unique_id(document, root, used_ids) for document in source.documents)
        used_ids |= {document.document_id for document in documents[root]}
    old = {i: h for root, hashes in indexed.items() if root not in retained for i, h in hashes.items()}
    new = {d.document_id: d.content_hash for source_documents in documents.values() for d in source_documents}
    skipped = sum(len(source.skipped) for source in sources.values())
    return IngestPlan(documents, _count(old, new, sum(len(h) for h in retained.values()), skipped))


def _with_unique_id(document: Document, root: str, used_ids: set[str]) -> Document:
    """Prefix a document id that another source uses already: with the folder's name, else with a hash of its path."""
    if document.document_id not in used_ids:
        return document
    name = f"{PurePath(root).name}/{document.document_id}"
    if name in used_ids:
        name = f"{hashlib.sha256(root.encode()).hexdigest()[:8]}/{document.document_id}"
    return replace(document, document_id=name)


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
