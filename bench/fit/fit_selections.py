"""Fits how the reader's opinion counts in the relevance of a selection, and measures it with and without.

Fitted to short selections written by hand (bench/sets/selections.jsonl), to the questions of the development books,
each with its passage, and to CLAP NQ. The selections of the tests are only measured.
Prints the constant SELECTION_RELEVANCE of pipeline/reading.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator.answer.question_kinds import points_at
from glossator.core.thresholds import ANSWERABLE, ANSWERABLE_POINTED_AT, is_answerable
from glossator.facade import Book
from glossator.pipeline.extracting import SelectionReading, read_selection
from glossator.pipeline.reading import READER_LEVELS, SELECTION_SEARCH_LEVELS, clamp, selection_relevance_with_reader
from glossator.retrieve import logit_of
from lib import written
from lib.common import ROOT, SETS, indexed, logistic, questions, unpack

ODDS = 0.4
"""The cost of a wrong answer against a refused one, as for the search (calibrate.py)."""
PER_KIND, RIDGE = 160, 1.0


@dataclass(frozen=True)
class Example:
    """A question about a selection, whether that answers it, and what search and reader say."""

    question: str
    selection: str
    answered: bool
    said: SelectionReading


def examples(book: Book, asked: Sequence[tuple[str, str, bool]]) -> list[Example]:
    return [Example(q, s, label, read_selection(book.engine, q, s)) for q, s, label in asked]


def by_hand(path: Path) -> list[tuple[str, str, bool]]:
    return [(row["question"], row["selection"], row["answered"]) for row in questions(path)]


def of_books() -> list[tuple[str, str, bool]]:
    """Questions of the development books, as many that the passage answers as others."""
    rows = [row for name in written.DEVELOPMENT for row in written.rows(name)]
    return _sample(
        [(q["question"], row["passage"], True) for row in rows for q in row["answerable"]],
        [(q, row["passage"], False) for row in rows for q in row["unanswerable"]],
    )


def of_clapnq() -> list[tuple[str, str, bool]]:
    folder = next(unpack("clapnq.tgz").rglob("clapnq_dev_answerable.jsonl")).parent
    return _sample(
        *(
            [(q["input"], q["passages"][0]["text"], label) for q in questions(folder / f"clapnq_dev_{name}.jsonl")]
            for name, label in (("answerable", True), ("unanswerable", False))
        )
    )


def _sample(true: list[tuple[str, str, bool]], false: list[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    random = Random(7)
    return [*random.sample(true, PER_KIND), *random.sample(false, PER_KIND)]


def fit(sets: Sequence[Sequence[Example]]) -> tuple[float, ...]:
    """Weighted logistic regression; every set counts the same, and zero is the threshold that applies."""
    found = [example for each in sets for example in each]
    weights = np.array([(1.0 if e.answered else ODDS) * 100 / len(each) for each in sets for e in each])
    levels = np.array([_levels(e) for e in found])
    truth = np.array([e.answered for e in found], float)
    lenience = logit_of(ANSWERABLE) - logit_of(ANSWERABLE_POINTED_AT)
    offset = lenience * np.array([points_at(e.question, e.selection) for e in found], float)
    bias, slopes = logistic(levels, truth, weights, RIDGE, offset)
    return tuple(round(float(value), 2) for value in (bias + logit_of(ANSWERABLE), *slopes))


def _levels(example: Example) -> tuple[float, float]:
    answered = max(example.said.reading.passages.values(), default=0.0)
    return clamp(logit_of(example.said.relevance), SELECTION_SEARCH_LEVELS), clamp(answered, READER_LEVELS)


def report(name: str, found: Sequence[Example]) -> None:
    """Print the share of answerable and unanswerable questions that are answered, by the search and with the reader."""
    shares = []
    for read in (False, True):
        for label in (True, False):
            answers = [_is_answered(e, read) for e in found if e.answered is label]
            shares.append(f"{sum(answers) / len(answers):.0%} of {len(answers)}")
    print(f"| {name} | " + " | ".join(shares) + " |")


def _is_answered(example: Example, read: bool) -> bool:
    relevance = example.said.relevance
    if read:
        relevance = selection_relevance_with_reader(relevance, example.said.reading)
    return is_answerable(relevance, pointed_at=points_at(example.question, example.selection))


def main() -> None:
    book = indexed("book", ROOT / "book")
    asked = {"by hand": by_hand(SETS / "selections.jsonl"), "books": of_books(), "CLAP NQ": of_clapnq()}
    fitted = {name: examples(book, each) for name, each in asked.items()}
    print("SELECTION_RELEVANCE =", fit(list(fitted.values())))
    print("| answered | search: answerable | others | with the reader: answerable | others |\n|---|---|---|---|---|")
    tests = examples(book, by_hand(ROOT / "tests" / "data" / "selections.jsonl"))
    for name, found in (fitted | {"tests, not fitted to": tests}).items():
        report(name, found)


if __name__ == "__main__":
    main()
