"""What the benchmarks share: where the data is, an index made once, and the metrics."""

from __future__ import annotations

import json
import math
import re
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import glossator
from glossator.facade import Book

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
SETS = ROOT / "bench" / "sets"
CACHE = Path(tempfile.gettempdir()) / "glossator-bench"


def unpack(archive: str) -> Path:
    """A data archive, unpacked once."""
    source = DATA / archive
    if not source.exists():
        raise SystemExit(f"{source} is not here: this benchmark needs the shared data beside the project.")
    target = CACHE / source.name.split(".")[0]
    if not target.exists():
        with tarfile.open(source) as tar:
            tar.extractall(target, filter="data")
    return target


def indexed(name: str, source: Path) -> Book:
    """A book over a source; its data directory is kept between runs, so that only changes are embedded."""
    book = glossator.open(CACHE / "index" / name)
    report = book.ingest(source, base_url=f"https://{name}.example/", only=True)
    print(f"{name}: {report.chunks} chunks, {report.embeddings.made} embedded in {report.seconds:.1f} s")
    return book


def questions(path: Path) -> list[dict]:
    """A question set, one JSON object a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def plain(heading: str) -> str:
    """A heading without markup, for comparison."""
    return re.sub(r"[`*\s]+", " ", heading).strip().lower()


def answers(passage: glossator.Passage, gold: Iterable[dict]) -> bool:
    """Whether a passage lies in a section that a question set names."""
    above = {plain(heading) for heading in passage.heading_path}
    return any(passage.document_id == g["file"] and plain(g["heading"]) in above for g in gold)


def ndcg(ranked: Sequence[str], relevant: set[str], depth: int = 10) -> float:
    """Normalised discounted cumulative gain with binary relevance."""
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(ranked[:depth]) if item in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))


def unique(items: Iterable[str]) -> list[str]:
    """First occurrences, in order."""
    return list(dict.fromkeys(items))
