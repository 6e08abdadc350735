"""Draws the curves of training runs: losses, and figures on the development books.

python -m reader.plot RUN...
"""

from __future__ import annotations

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from reader.paths import OUTPUT

LOSSES = ("support", "pair", "token", "answer", "pointer")
FIGURES = ("support_auc", "true_shown", "answer_auc", "refused", "evidence_first")


def main() -> None:
    figure, axes = plt.subplots(2, 5, figsize=(22, 8))
    for run in sys.argv[1:]:
        rows = [json.loads(line) for line in (OUTPUT / run / "log.jsonl").read_text("utf-8").splitlines()]
        for axis, name in zip(axes.flat, (*LOSSES, *FIGURES), strict=True):
            points = [(row["step"], row[name]) for row in rows if name in row]
            axis.plot(*zip(*points, strict=True), label=run) if points else None
            axis.set_title(name)
    axes.flat[0].legend()
    figure.tight_layout()
    figure.savefig(OUTPUT / "curves.png", dpi=70)
    print(OUTPUT / "curves.png")


if __name__ == "__main__":
    main()
