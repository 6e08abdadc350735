"""The indexes compared: latency and recall at 1,000 to 100,000 chunks, and the same answers from each.

INDEX_SIZES="1000 10000" measures some sizes only.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from glossator.core.book.manifest import FORMAT, Manifest, timestamp
from glossator.core.ports import GenerationContents, no_progress
from glossator.core.question import Question
from glossator.core.settings import load_settings
from glossator.core.types import Document, Embedding, Filters
from glossator.embed.cache import EmbeddingCache, embed_with_cache
from glossator.evaluate.golden import load_golden
from glossator.facade import Book
from glossator.ingest.chunk import chunk_document
from glossator.pipeline.copying import copy_index
from glossator.pipeline.wiring import wire
from glossator.retrieve import retrieve
from glossator.store.index.generations import Generations
from glossator.store.index.postgres.generations import PostgresGenerations
from lib.common import CACHE, ROOT, indexed
from search import CachedEmbedder

sys.path += [str(ROOT / "tests" / "support" / name) for name in ("", "servers")]

SIZES = tuple(map(int, os.environ.get("INDEX_SIZES", "1000 10000 100000").split()))
LIMITS = {10_000: 12.0, 100_000: 40.0}
MIN_RECALL, MAX_GROWTH = 0.98, 2.5
SENTENCES = 2
"""Sentence vectors of each chunk: with all of them, 100,000 chunks would take a gigabyte."""


def holds(good: bool) -> str:
    return "holds" if good else "DOES NOT HOLD"


def synthetic(book, size):
    """`size` chunks: the real ones, then mixtures of two of them with a little noise."""
    embedder = book.engine.embedder
    chunks = [c for d in book.documents() for c in chunk_document(d, embedder.count_tokens)]
    with EmbeddingCache(book.engine.settings.data_dir / "cache" / "embeddings.sqlite") as cache:
        embeddings = list(embed_with_cache(embedder, cache, chunks, 1, no_progress)[0])
    rng, real = np.random.default_rng(0), len(chunks)
    out_chunks, out_embeddings = [], []
    for number in range(size):
        chunk, embedding = chunks[number % real], embeddings[number % real]
        sentences = embedding.sentences[:SENTENCES]
        vector = embedding.vector
        if number >= real:
            share = rng.uniform(0.5, 1.0)
            vector = share * vector + (1 - share) * embeddings[rng.integers(real)].vector
            vector = vector + rng.normal(0, 0.01, vector.shape)
            chunk = replace(chunk, text=f"{chunk.text} Copy {number}.")
        chunk = replace(chunk, chunk_id=f"{chunk.chunk_id}/{number}", sentences=chunk.sentences[:SENTENCES])
        out_chunks.append(chunk)
        out_embeddings.append(Embedding((vector / np.linalg.norm(vector)).astype(np.float32), sentences))
    return out_chunks, out_embeddings


def recall(index, embeddings, queries):
    """The share of the ten nearest chunks, by comparing all vectors, that the dense search finds."""
    matrix = np.stack([embedding.vector for embedding in embeddings])
    shares = []
    for query in queries:
        exact = set(np.argsort(-(matrix @ query.vector), kind="stable")[:10].tolist())
        hits = sorted(index.search(query, "", 100, Filters()), key=lambda hit: -hit.dense)
        shares.append(len(exact & {hit.id for hit in hits[:10]}) / 10)
    return statistics.mean(shares)


def measure(name, store, book, size, asked):
    embedder = book.engine.embedder
    chunks, embeddings = synthetic(book, size)
    started = time.perf_counter()
    with store.ingest_lock():
        number = store.next_number()
        manifest = Manifest(
            number, FORMAT, embedder.fingerprint, 1, f"{size}", embedder.dimension, size, timestamp(), ()
        )
        store.build(manifest, GenerationContents([Document("d", "", "", (), "", (), "")], chunks, embeddings))
    built = time.perf_counter() - started
    opened, cached = store.open(embedder.fingerprint), CachedEmbedder(embedder, asked)
    times = []
    for question in asked[:20] + asked:
        started = time.perf_counter()
        retrieve(cached, opened.index, opened.documents, Question(question), 1)
        times.append(1000 * (time.perf_counter() - started))
    p50, p95 = statistics.median(times[20:]), statistics.quantiles(times[20:], n=20)[-1]
    share = recall(opened.index, embeddings, [cached.embed_query(question) for question in asked[:50]])
    limit = LIMITS.get(size)
    verdict = f" (limit {limit:.0f} ms: {holds(p50 <= limit)})" if limit and name == "postgres" else ""
    print(
        f"{name:>9} at {size:>7,} chunks: p50 {p50:.2f} ms, p95 {p95:.2f} ms{verdict};"
        f" recall@10 {share:.3f} (limit {MIN_RECALL}: {holds(share >= MIN_RECALL)}); built in {built:.0f} s",
        flush=True,
    )
    opened.close()
    return p50


def embedding_ms(embedder, asked) -> float:
    """The median time to embed a question."""
    times = []
    for question in asked:
        started = time.perf_counter()
        embedder.embed_query(question)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


@contextmanager
def servers():
    """A Postgres with its default settings, and a stand-in for Qdrant, which has no binary to install."""
    from postgres import running_postgres
    from qdrant_stand_in import running_stand_in

    with running_postgres() as postgres, running_stand_in() as qdrant:
        yield postgres.url(), qdrant.url


def same_answers(book, url, qdrant_url):
    """Ask the golden questions of every index."""
    data = book.engine.settings.data_dir
    questions = [golden.question for golden in load_golden(ROOT / "book" / "golden.yaml")]
    expected = [book.ask(question) for question in questions]
    for kind in ("postgres", "qdrant"):
        settings = load_settings(data_dir=data, index=kind, database_url=url, qdrant_url=qdrant_url)
        copy_index(settings, kind, "embedded", no_progress)
        with Book(wire(settings)) as other:
            found = [other.ask(question) for question in questions]
        same = sum(
            (a.text, a.abstained, [c.url for c in a.citations]) == (b.text, b.abstained, [c.url for c in b.citations])
            for a, b in zip(expected, found, strict=True)
        )
        note = ", the client's in-process engine over HTTP" if kind == "qdrant" else ""
        print(f"{kind:>9}{note}: {same} of {len(questions)} answers are those of the embedded index", flush=True)


def main() -> None:
    book = indexed("book", ROOT / "book")
    asked = [golden.question for golden in load_golden(ROOT / "book" / "golden.yaml")][:100]
    folder = CACHE / "index-bench"
    with servers() as (url, qdrant_url):
        same_answers(book, url, qdrant_url)
        embedding = embedding_ms(book.engine.embedder, asked)
        for name in ("embedded", "postgres"):
            medians = {}
            for size in SIZES:
                shutil.rmtree(folder, ignore_errors=True)
                store = Generations(folder) if name == "embedded" else PostgresGenerations(url, f"bench_{size}")
                medians[size] = measure(name, store, book, size, asked)
                if isinstance(store, PostgresGenerations):
                    store.close()
                    store.drop_all()
            if 1_000 in medians and 100_000 in medians:
                growth = medians[100_000] / medians[1_000]
                whole = (embedding + medians[100_000]) / (embedding + medians[1_000])
                print(
                    f"{name:>9}: 100,000 chunks take {growth:.2f} times as long as 1,000"
                    f" (limit {MAX_GROWTH}: {holds(growth <= MAX_GROWTH)});"
                    f" {whole:.2f} times with {embedding:.1f} ms to embed the question",
                    flush=True,
                )
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
