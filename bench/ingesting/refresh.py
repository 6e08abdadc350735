"""An index that is kept fresh: one page edited, serving during an ingest and while generations are switched, and the
memory of 100,000 chunks.

`refresh.py edit serving switching memory` runs some of them. SWITCH_SECONDS is how long each load of `switching` lasts.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import serve
from glossator.core.ports import Calibration, Progress, no_progress
from glossator.core.settings import load_settings
from glossator.core.types import Chunk, Embedding, QueryEmbedding
from glossator.facade import Book
from glossator.pipeline.indexing import IngestRequest, build_generation
from glossator.pipeline.wiring import wire
from lib.common import CACHE, ROOT, SETS, indexed, questions, unpack

sys.path += [str(ROOT / "tests" / "support" / name) for name in ("", "servers")]

SCRATCH = CACHE / "refresh"
SWITCH_SECONDS = float(os.environ.get("SWITCH_SECONDS", "20"))
SWITCH_INTERVAL_SECONDS = 2.0
MAX_SWITCH_RATIO = 1.25
PORT = 8897
CHUNKS = 100_000
CHUNKS_OF_PAGE = 50
WORDS = [f"{a}{b}" for a in "ka lo mi nu re sa to vi".split() for b in "bel dor fan gim hul jer kos".split()]


def verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from glossator.cli.main import main; main()", *map(str, arguments)]


def edit() -> None:
    """Edit one page of The Rust Book, and ingest it with the command, as an author does."""
    source, data = SCRATCH / "rust", SCRATCH / "rust-data"
    for folder in (source, data):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(unpack("books/rust-book.tar.gz") / "src", source)
    with indexed("rust", unpack("books/rust-book.tar.gz") / "src") as book:
        shutil.copytree(book.engine.settings.data_dir / "cache", data / "cache")
    subprocess.run(command("ingest", source, "--data-dir", data), check=True, stdout=subprocess.DEVNULL)
    page = source / "ch04-01-what-is-ownership.md"
    text = page.read_text("utf-8")
    page.write_text(text.replace("All programs have to manage", "Every program has to manage", 1), "utf-8")
    started, before = time.perf_counter(), _child_seconds()
    out = subprocess.run(
        command("ingest", source, "--data-dir", data, "--json"), check=True, capture_output=True, text=True
    )
    seconds, report = time.perf_counter() - started, json.loads(out.stdout)
    assert report["documents"]["changed"] == 1
    print(
        f"one page of The Rust Book edited: {report['embeddings']['made']} of {report['chunks']} chunks embedded,"
        f" {report['seconds']:.2f} s (limit 3 s: {verdict(report['seconds'] < 3)}), {seconds:.2f} s with the start of"
        f" the process, of which {_child_seconds() - before:.2f} s on a core; stages {report['stages']}"
    )


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def serving() -> None:
    """The time of answers while The Rust Book is ingested without a cache, beside the same without an ingest."""
    with indexed("book", ROOT / "book") as book:
        data = book.engine.settings.data_dir
    asked = [each["question"] for each in questions(SETS / "book.jsonl")]
    rust, target = unpack("books/rust-book.tar.gz") / "src", SCRATCH / "serving-data"
    shutil.rmtree(target, ignore_errors=True)

    def measured() -> serve.Load:
        return serve.load(PORT, asked, 4, 20.0, interval=0.5)

    with serve.server(data, PORT, cache_answers="0", rate_per_minute="0"):
        serve.load(PORT, asked, 2, 3.0)
        alone = measured()
        ingest = subprocess.Popen(command("ingest", rust, "--data-dir", target), stdout=subprocess.DEVNULL)
        time.sleep(3)  # until it embeds
        beside = measured()
        finished = ingest.poll() is not None
        ingest.kill()
        ingest.wait()
    ratio = beside.p95 / alone.p95
    print(
        f"p95 of 4 clients, 2 questions/s each: {1000 * alone.p95:.0f} ms alone, {1000 * beside.p95:.0f} ms during an"
        f" ingest{' (which ended before)' if finished else ''}: {ratio:.2f} times (limit 2.5: {verdict(ratio <= 2.5)});"
        f" {alone.errors + beside.errors} errors"
    )


def switching() -> None:
    """The time of answers while another process switches to the generation before and back, every two seconds."""
    from postgres import running_postgres

    with indexed("book", ROOT / "book") as book:
        cache = book.engine.settings.data_dir / "cache"
    with running_postgres() as postgres:
        for kind in ("embedded", "postgres"):
            os.environ |= {"GLOSSATOR_INDEX": kind, "DATABASE_URL": postgres.url()}
            _measure_switches(kind, cache)


def _measure_switches(kind: str, cache: Path) -> None:
    data, source = SCRATCH / f"switch-{kind}", SCRATCH / "switch-book"
    for folder in (data, source):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "book", source, ignore=shutil.ignore_patterns("node_modules", "build"))
    shutil.copytree(cache, data / "cache")
    asked = [each["question"] for each in questions(SETS / "book.jsonl")]

    def measured() -> serve.Load:
        return serve.load(PORT, asked, 4, SWITCH_SECONDS, interval=0.5)

    with Book(wire(load_settings(data_dir=data))) as book:
        for number in range(2):  # the second generation has one page more
            book.ingest(source, base_url="https://book.example/")
            (source / "docs" / f"added-{number}.md").write_text(f"# Added\n\nPage {number} was added.\n", "utf-8")
        with serve.server(data, PORT, cache_answers="0", rate_per_minute="0"), ThreadPoolExecutor(1) as pool:
            serve.load(PORT, asked, 2, 3.0)
            alone, running, switches = measured(), pool.submit(measured), 0
            while not running.done():
                time.sleep(SWITCH_INTERVAL_SECONDS)
                book.rollback()
                switches += 1
            beside = running.result()
    ratio, lost = beside.p95 / alone.p95, beside.errors + alone.errors
    print(
        f"{kind}: {switches} switches of generation, {len(beside.times)} answers, {lost} lost; p95"
        f" {1000 * beside.p95:.0f} ms, {1000 * alone.p95:.0f} without: {ratio:.2f} times (limit {MAX_SWITCH_RATIO}:"
        f" {verdict(not lost and ratio <= MAX_SWITCH_RATIO)}); slowest {1000 * max(beside.times):.0f} ms,"
        f" {1000 * max(alone.times):.0f} without",
        flush=True,
    )


class SyntheticEmbedder:
    """Vectors that follow from the text, made in no time; everything else of the ingest is real."""

    fingerprint, dimension = "synthetic:384", 384
    calibration = Calibration(1.0, 1.0, 1.0, (), ())

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        return [self._embedding(chunk) for chunk in chunks]

    def embed_query(self, question: str, timeout_seconds: float | None = None) -> QueryEmbedding:
        raise NotImplementedError

    def _embedding(self, chunk: Chunk) -> Embedding:
        seed = int.from_bytes(hashlib.sha256(chunk.text.encode()).digest()[:8], "big")
        rows = np.random.default_rng(seed).standard_normal((1 + len(chunk.sentences), self.dimension), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Embedding(rows[0], rows[1:].astype(np.float16))


def memory() -> None:
    """Ingest 100,000 chunks of ordinary size in this process."""
    source, data = SCRATCH / "large", SCRATCH / "large-data"
    shutil.rmtree(data, ignore_errors=True)
    write_pages(source)
    engine = wire(load_settings(data_dir=data, index="embedded"))
    engine.embedder = SyntheticEmbedder()
    report = build_generation(engine, IngestRequest([str(source)]), no_progress)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shutil.rmtree(data)
    print(
        f"{report.chunks} chunks of {report.documents.added} pages in {report.seconds:.0f} s ({report.stages}):"
        f" peak memory {peak:.0f} MB (limit 1,500: {verdict(peak < 1500 and report.chunks >= CHUNKS)})"
    )


def write_pages(folder: Path) -> None:
    """Pages of 50 sections, each of one chunk of about 200 words in 12 sentences."""
    chosen = random.Random(3)
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for number in range(CHUNKS // CHUNKS_OF_PAGE):
        sections = (
            f"## Section {number} {place}\n\n"
            + " ".join(f"The {' '.join(chosen.choices(WORDS, k=15))} {number}." for _ in range(12))
            for place in range(CHUNKS_OF_PAGE)
        )
        (folder / f"{number:05d}.md").write_text(f"# Page {number}\n\n" + "\n\n".join(sections), "utf-8")


def main() -> None:
    parts = {"edit": edit, "serving": serving, "switching": switching, "memory": memory}
    for name in sys.argv[1:] or parts:
        if len(sys.argv) == 2:
            parts[name]()
        else:  # each in a process of its own: the peak of memory is that of a process
            subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
