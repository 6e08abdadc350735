"""The cost of an ingest: compared with the bare model on the same chunks, in memory, and after small changes.

`ingest.py PDF rst` compares some formats only.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glossator
from glossator.embed.local import LocalEmbedder, _batches, built_in_model, run_model
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from lib.books import debian_reference
from lib.common import CACHE, ROOT, unpack

SCRATCH = CACHE / "ingest"


def fresh(source: Path) -> dict:
    """An ingest in a process of its own, without a cache: its report, seconds and peak memory."""
    folder = SCRATCH / "data"
    shutil.rmtree(folder, ignore_errors=True)
    code = (
        "import json, resource, sys, time, glossator; t = time.perf_counter();"
        "b = glossator.open(sys.argv[2]); b.engine.embedder.embed_query('warm');"
        "s = time.process_time();"
        "r = b.ingest(sys.argv[1], base_url='https://bench.example/');"
        "m = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024;"
        "u = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)];"
        "c = sum(x.ru_utime + x.ru_stime for x in u) - s;"
        "print(json.dumps({'chunks': r.chunks, 'seconds': r.seconds, 'megabytes': m, 'cpu': c}))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(source), str(folder)], capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout)


def bare(source: Path) -> tuple[int, float, float]:
    """The model alone on the same chunks, already tokenised, in the fastest batches: their number, and the seconds by
    the clock and of the processors."""
    embedder = LocalEmbedder(built_in_model())
    chunks = [
        c for d in read_source(str(source), "", 10**8).documents for c in chunk_document(d, embedder.count_tokens)
    ]
    encodings = embedder._tokenizer.encode_batch([f"{c.context}\n{c.text}" for c in chunks])
    ids = [encoding.ids for encoding in encodings]
    batches = list(_batches([len(row) for row in ids]))
    run_model(embedder._batch_session, [ids[0]])
    started, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(embedder._threads) as pool:
        for _ in pool.map(lambda batch: run_model(embedder._batch_session, [ids[i] for i in batch]), batches):
            pass
    return len(chunks), time.perf_counter() - started, time.process_time() - used


def compare_with_model(name: str, source: Path) -> None:
    _, before, cpu_before = bare(source)
    report = fresh(source)
    chunks, after, cpu_after = bare(source)
    raw = chunks / ((before + after) / 2)
    ours = report["chunks"] / report["seconds"]
    cpu = (cpu_before + cpu_after) / 2 / report["cpu"]
    print(
        f"{name}: {chunks} chunks in {report['seconds']:.1f} s = {ours:.1f} per second; the bare model {raw:.1f};"
        f" ratio {ours / raw:.2f} (limit 0.85: {_verdict(ours / raw >= 0.85)}), {cpu:.2f} by processor time;"
        f" peak memory {report['megabytes']:.0f} MB (limit 700: {_verdict(report['megabytes'] < 700)})",
        flush=True,
    )


def samples() -> dict[str, Path]:
    """A part of a real book in every format; The Rust Book and the PDF are whole."""
    reference = debian_reference()
    rust = unpack("books/rust-book.tar.gz") / "src"
    asciidoc = unpack("books/asciidoctor-docs.tar.gz") / "docs" / "modules"
    return {
        "The Rust Book": rust,
        "MDX": sample("mdx", unpack("books/docusaurus-docs.tar.gz").rglob("*.mdx"), 6),
        "HTML": sample("html", (CACHE / "developers-reference-html").glob("*.html"), 4),
        "EPUB": reference / "developers-reference.epub",
        "PDF": reference / "developers-reference.pdf",
        "rst": sample("rst", (unpack("books/ros2-docs-rst.tar.gz") / "source" / "Concepts").rglob("*.rst"), 30),
        "AsciiDoc": sample("asciidoc", asciidoc.rglob("*.adoc"), 12),
        "notebooks": notebooks(sample("notebook-pages", rust.glob("*.md"), 24)),
    }


def sample(name: str, files: Iterable[Path], count: int) -> Path:
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in sorted(files)[:count]:
        shutil.copy(file, folder)
    return folder


def notebooks(pages: Path) -> Path:
    """The pages as notebooks of one cell."""
    folder = sample("notebooks", (), 0)
    for page in pages.glob("*.md"):
        cell = {"cell_type": "markdown", "metadata": {}, "source": page.read_text("utf-8")}
        content = {"nbformat": 4, "metadata": {}, "cells": [cell]}
        (folder / f"{page.stem}.ipynb").write_text(json.dumps(content), "utf-8")
    return folder


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
    chosen = sys.argv[1:]
    if not chosen:
        after_small_changes()
    for name, source in samples().items():
        if not chosen or name in chosen:
            compare_with_model(name, source)
    print(f"(this process peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB)")


if __name__ == "__main__":
    main()
