"""Shared by the benchmarks: data files, cached indexes, metrics."""

from __future__ import annotations

import json
import math
import re
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import glossator
from glossator.facade import Book

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
SETS = ROOT / "bench" / "sets"
CACHE = Path(tempfile.gettempdir()) / "glossator-bench"


def unpack(archive: str) -> Path:
    """A data archive, unpacked once."""
    source = DATA / archive
    if not source.exists():
        raise SystemExit(f"{source} does not exist: this benchmark needs the shared data beside the project.")
    target = CACHE / source.name.split(".")[0]
    if not target.exists():
        with tarfile.open(source) as tar:
            tar.extractall(target, filter="data")
    return target


def indexed(name: str, source: Path) -> Book:
    """A book made from a source; its data directory persists between runs, so that only changes are embedded."""
    book = glossator.open(CACHE / "index" / name)
    report = book.ingest(source, base_url=f"https://{name}.example/", only=True)
    print(f"{name}: {report.chunks} chunks, {report.embeddings.made} embedded in {report.seconds:.1f} s")
    return book


def questions(path: Path) -> list[dict]:
    """A question set in JSON Lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def plain(heading: str) -> str:
    """A heading without markup, for comparison."""
    return re.sub(r"[`*\s]+", " ", heading).strip().lower()


def answers(passage: glossator.Passage, gold: Iterable[dict]) -> bool:
    """Whether a passage is in one of the expected sections."""
    above = {plain(heading) for heading in passage.heading_path}
    return any(passage.document_id == g["file"] and plain(g["heading"]) in above for g in gold)


def ndcg(ranked: Sequence[str], relevant: set[str], depth: int = 10) -> float:
    """Normalised discounted cumulative gain with binary relevance."""
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(ranked[:depth]) if item in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))


def unique(items: Iterable[str]) -> list[str]:
    """First occurrences, in order."""
    return list(dict.fromkeys(items))


def logistic(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    ridge: float,
    offset: NDArray[np.float64] | float = 0.0,
) -> tuple[float, NDArray[np.float64]]:
    """Bias and slopes of a weighted logistic regression, by Newton's method on standardised features.

    `offset` is a part of the logits that is not fitted.
    """
    mean, spread = x.mean(0), np.where(x.std(0) > 0, x.std(0), 1.0)
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    beta, penalty = np.zeros(z.shape[1]), np.diag([0.0] + [ridge] * x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(z @ beta + offset, -30, 30)))
        gradient = z.T @ (weight * (y - p)) - penalty @ beta
        beta += np.linalg.solve((z * (weight * p * (1 - p))[:, None]).T @ z + penalty, gradient)
    slope = beta[1:] / spread
    return float(beta[0] - slope @ mean), slope
