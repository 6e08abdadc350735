"""The golden questions of the sample book, against their limits."""

from __future__ import annotations

import asyncio

import glossator
from glossator import pipeline
from glossator.evaluate.golden import load_golden, summarise
from lib.common import CACHE, ROOT

LIMITS = {
    "section_in_top_5": ("section in the top 5", 0.95, True),
    "section_at_1": ("section at rank 1", 0.80, True),
    "out_of_scope_abstained": ("out of scope, and abstained", 0.95, True),
    "answerable_abstained": ("answerable, but abstained", 0.05, False),
}


def main() -> None:
    with glossator.open(CACHE / "golden") as book:
        book.ingest(ROOT / "book", only=True)
        outcomes = asyncio.run(pipeline.evaluate(book.engine, load_golden(ROOT / "book" / "golden.yaml")))
    summary = summarise(outcomes)
    for field, (label, limit, at_least) in LIMITS.items():
        value = getattr(summary, field)
        holds = value >= limit if at_least else value <= limit
        sign = "at least" if at_least else "at most"
        print(f"golden, {label}: {value:.1%} ({sign} {limit:.0%}: {'holds' if holds else 'DOES NOT HOLD'})")
    print(f"golden, selections handled correctly: {summary.selection_right:.1%}")
    print(f"golden, key facts in the answers: {summary.facts_in_answers:.1%}")
    print(f"golden, failed: {', '.join(o.golden.id for o in outcomes if not o.passed)}")


if __name__ == "__main__":
    main()
