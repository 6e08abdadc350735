"""The cost of an ingest: compared with the bare model on the same chunks, in memory, and after small changes."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glossator
from glossator.embed.local import LocalEmbedder, _batches, built_in_model, run_model
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from lib.common import CACHE, ROOT, unpack

SCRATCH = CACHE / "ingest"


def fresh(source: Path, name: str) -> dict:
    """An ingest in a process of its own, without a cache: its report, seconds and peak memory."""
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    code = (
        "import json, resource, sys, time, glossator; t = time.perf_counter();"
        "b = glossator.open(sys.argv[2]); b.engine.embedder.embed_query('warm');"
        "r = b.ingest(sys.argv[1], base_url='https://bench.example/');"
        "m = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024;"
        "print(json.dumps({'chunks': r.chunks, 'seconds': r.seconds, 'megabytes': m}))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(source), str(folder)], capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout)


def bare(source: Path) -> tuple[int, float]:
    """The model alone on the same chunks, already tokenised, in the fastest batches."""
    embedder = LocalEmbedder(built_in_model())
    chunks = [
        c for d in read_source(str(source), "", 10**8).documents for c in chunk_document(d, embedder.count_tokens)
    ]
    encodings = embedder._tokenizer.encode_batch([f"{c.context}\n{c.text}" for c in chunks])
    ids = [encoding.ids for encoding in encodings]
    batches = list(_batches([len(row) for row in ids]))
    run_model(embedder._batch_session, [ids[0]])
    started = time.perf_counter()
    with ThreadPoolExecutor(embedder._threads) as pool:
        for _ in pool.map(lambda batch: run_model(embedder._batch_session, [ids[i] for i in batch]), batches):
            pass
    return len(chunks), time.perf_counter() - started


def compare_with_model(name: str, source: Path) -> None:
    before = bare(source)[1]
    report = fresh(source, name)
    chunks, after = bare(source)
    raw = chunks / ((before + after) / 2)
    ours = report["chunks"] / report["seconds"]
    print(
        f"{name}: {chunks} chunks in {report['seconds']:.1f} s = {ours:.1f} per second; the bare model {raw:.1f};"
        f" ratio {ours / raw:.2f} (limit 0.85: {_verdict(ours / raw >= 0.85)});"
        f" peak memory {report['megabytes']:.0f} MB (limit 700: {_verdict(report['megabytes'] < 700)})"
    )


def after_small_changes() -> None:
    source = SCRATCH / "book"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "book", source, ignore=shutil.ignore_patterns("node_modules", "build"))
    folder = SCRATCH / "changes"
    shutil.rmtree(folder, ignore_errors=True)
    with glossator.open(folder) as book:
        first = book.ingest(source)
        again = book.ingest(source)
        page = source / "docs" / "03-motion" / "05-balance.mdx"
        text = page.read_text("utf-8")
        page.write_text(text.replace("The zero-moment point (ZMP) is", "The zero-moment point, or ZMP, is", 1), "utf-8")
        edited = book.ingest(source)
    print(f"sample book: {first.chunks} chunks, first ingest {first.seconds:.1f} s")
    print(
        f"  unchanged: {again.embeddings.made} embeddings, {again.seconds:.2f} s"
        f" (limits 0 and 2 s: {_verdict(again.embeddings.made == 0 and again.seconds < 2)})"
    )
    print(
        f"  one paragraph edited: {edited.embeddings.made} of {edited.chunks} chunks embedded, {edited.seconds:.2f} s"
        f" ({_verdict(1 <= edited.embeddings.made <= 2)})"
    )


def _verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def main() -> None:
    after_small_changes()
    compare_with_model("The Rust Book", unpack("books/rust-book.tar.gz") / "src")
    print(f"(this process peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB)")


if __name__ == "__main__":
    main()
