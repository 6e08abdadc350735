"""The cost of a search without the query embedding, at 1,000 and 10,000 chunks."""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import replace

import numpy as np

from glossator.core.book.manifest import FORMAT, Manifest, timestamp
from glossator.core.ports import GenerationContents, no_progress
from glossator.core.question import Question
from glossator.core.types import Document, Embedding
from glossator.embed.cache import EmbeddingCache, embed_with_cache
from glossator.ingest.chunk import chunk_document
from glossator.retrieve import retrieve
from glossator.store.index.generations import Generations
from lib.common import CACHE, SETS, indexed, questions, unpack

LIMITS = {1_000: 3.0, 10_000: 6.0}


class CachedEmbedder:
    """An embedder with precomputed query vectors, so that only the rest is timed."""

    def __init__(self, embedder, asked):
        self._embedder = embedder
        self.calibration = embedder.calibration
        self._vectors = {question: embedder.embed_query(question) for question in asked}

    def embed_query(self, question, timeout_seconds=None):
        return self._vectors[question]


def grown(book, size):
    """`size` chunks: the real ones, then copies with a little noise in their vectors."""
    embedder = book.engine.embedder
    documents = book.documents()
    chunks = [c for d in documents for c in chunk_document(d, embedder.count_tokens)]
    with EmbeddingCache(book.engine.settings.data_dir / "cache" / "embeddings.sqlite") as cache:
        embeddings = list(embed_with_cache(embedder, cache, chunks, 1, no_progress)[0])
    rng = np.random.default_rng(0)
    out_chunks, out_embeddings = [], []
    for number in range(size):
        chunk, embedding = chunks[number % len(chunks)], embeddings[number % len(chunks)]
        noise = rng.normal(0, 0.02, embedding.vector.shape).astype(np.float32)
        suffix = f" Copy {number}." if number >= len(chunks) else ""
        out_chunks.append(replace(chunk, chunk_id=f"{chunk.chunk_id}/{number}", text=chunk.text + suffix))
        out_embeddings.append(Embedding(embedding.vector + noise * (number >= len(chunks)), embedding.sentences))
    return out_chunks, out_embeddings


def measure(book, size):
    folder = CACHE / "search" / str(size)
    shutil.rmtree(folder, ignore_errors=True)
    generations = Generations(folder)
    embedder = book.engine.embedder
    chunks, embeddings = grown(book, size)
    with generations.ingest_lock():
        manifest = Manifest(1, FORMAT, embedder.fingerprint, 1, "bench", embedder.dimension, size, timestamp(), ())
        generations.build(manifest, GenerationContents([Document("d", "", "", (), "", (), "")], chunks, embeddings))
    opened = generations.open(embedder.fingerprint)
    asked = [q["question"] for q in questions(SETS / "rust.jsonl")][:100]
    cached = CachedEmbedder(embedder, asked)
    times = []
    for question in asked[:10] + asked:
        started = time.perf_counter()
        retrieve(cached, opened.index, opened.documents, Question(question), 1)
        times.append(1000 * (time.perf_counter() - started))
    opened.close()
    embed = []
    for question in asked[:50]:
        started = time.perf_counter()
        embedder.embed_query(question)
        embed.append(1000 * (time.perf_counter() - started))
    p50, p95 = statistics.median(times[10:]), statistics.quantiles(times[10:], n=20)[-1]
    verdict = "holds" if p50 <= LIMITS[size] else "DOES NOT HOLD"
    print(
        f"search at {size:>6,} chunks, without the query embedding: p50 {p50:.2f} ms, p95 {p95:.2f} ms"
        f" (limit {LIMITS[size]:.0f} ms: {verdict}); query embedding p50 {statistics.median(embed):.2f} ms,"
        f" ratio {p50 / statistics.median(embed):.2f}"
    )


def main() -> None:
    book = indexed("rust", unpack("books/rust-book.tar.gz") / "src")
    for size in LIMITS:
        measure(book, size)


if __name__ == "__main__":
    main()
