"""Ingest: reads sources, embeds new text, builds the next generation beside the current one, and switches to it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from glossator.core.ports import Progress
from glossator.core.types import DocumentCounts, EmbeddingCounts, IngestReport, SkippedFile
from glossator.embed.cache import CACHED_GENERATIONS, EmbeddingCache, embed_with_cache
from glossator.ingest.changes import corpus_hash, plan_ingest
from glossator.ingest.chunk import CHUNKER_VERSION, chunk_document
from glossator.ingest.read import read_source
from glossator.pipeline.wiring import Engine
from glossator.store.index.generations import FORMAT, Manifest, SourceRecord, timestamp


def build_generation(
    engine: Engine, sources: Sequence[str], base_url: str | None, only: bool, progress: Progress
) -> IngestReport:
    """Index the sources; the current generation serves requests until the new one is complete."""
    started = time.monotonic()
    max_bytes = int(engine.settings.max_file_mb * 1_000_000)
    contents = {os.path.realpath(source): read_source(source, base_url, max_bytes) for source in sources}
    skipped = tuple(skip for content in contents.values() for skip in content.skipped)
    with engine.generations.ingest_lock():
        before = engine.generations.latest_manifest()
        indexed = {source.root: source.documents for source in before.sources} if before else {}
        plan = plan_ingest(contents, indexed, only)
        other_sources = [] if only or not before else [s for s in before.sources if s.root not in contents]
        given_sources = [
            SourceRecord(root, contents[root].layout, base_url, {d.document_id: d.content_hash for d in found})
            for root, found in plan.documents.items()
        ]
        corpus = corpus_hash([source.documents for source in (*other_sources, *given_sources)])
        inputs = (engine.embedder.fingerprint, CHUNKER_VERSION, corpus)
        if before and inputs == (before.fingerprint, before.chunker, before.corpus_hash):
            return _report(before.generation, plan.counts, before.chunks, 0, started, skipped)

        documents = [
            *engine.generations.documents_of(other_sources),
            *(d for found in plan.documents.values() for d in found),
        ]
        chunks = [chunk for document in documents for chunk in chunk_document(document, engine.embedder.count_tokens)]
        number = engine.generations.next_number()
        with EmbeddingCache(engine.settings.data_dir / "cache" / "embeddings.sqlite") as cache:
            embeddings, made = embed_with_cache(engine.embedder, cache, chunks, number, progress)
            dimension, indexed_sources = engine.embedder.dimension, (*other_sources, *given_sources)
            manifest = Manifest(number, FORMAT, *inputs, dimension, len(chunks), timestamp(), indexed_sources)
            engine.generations.build(manifest, documents, chunks, embeddings)
            cache.evict_before(number - CACHED_GENERATIONS)
    return _report(number, plan.counts, len(chunks), made, started, skipped)


def _report(
    generation: int, counts: DocumentCounts, chunks: int, made: int, started: float, skipped: tuple[SkippedFile, ...]
) -> IngestReport:
    embeddings = EmbeddingCounts(made, chunks - made)
    return IngestReport(generation, counts, chunks, embeddings, round(time.monotonic() - started, 3), skipped)
