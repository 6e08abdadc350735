"""Plots for the docs, with matplotlib, which only some benchmarks need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def picture(path: Path, across: str, up: str) -> Iterator[Any]:
    """Axes, with logarithmic scales, whose picture is written to a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), dpi=110)
    axes.set(xlabel=across, ylabel=up, xscale="log", yscale="log")
    yield axes
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    print(f"drawn: {path.name}")
