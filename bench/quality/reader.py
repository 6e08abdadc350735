"""Quoted answers to the written questions: what is refused, what comes first, and what the reader costs.

The development books were used to choose thresholds and weights, the test books were not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from glossator.core.answers import Answer
from glossator.facade import Book
from lib import written

LIMITS = {"answerable refused": 0.10, "unanswerable refused": 0.70, "evidence first": 0.65}


def first_is_evidence(answer: Answer, question: written.WrittenQuestion) -> bool:
    first = answer.sentences[0] if answer.sentences else None
    return first is not None and written.is_evidence(first.text, question.evidence)


def ask_all(book: Book, questions: Sequence[written.WrittenQuestion]) -> tuple[dict[str, list[bool]], list[float]]:
    found: dict[str, list[bool]] = {name: [] for name in LIMITS} | {"evidence first, of all": []}
    seconds = []
    for question in questions:
        started = time.perf_counter()
        answer = book.ask(question.text)
        seconds.append(time.perf_counter() - started)
        if not question.evidence:
            found["unanswerable refused"].append(answer.abstained)
            continue
        found["answerable refused"].append(answer.abstained)
        found["evidence first, of all"].append(first_is_evidence(answer, question))
        if not answer.abstained:
            found["evidence first"].append(found["evidence first, of all"][-1])
    return found, seconds


def main() -> None:
    for title, books in {"development": written.DEVELOPMENT, "test": written.TEST}.items():
        total: dict[str, list[bool]] = {}
        seconds: list[float] = []
        for name in books:
            book, questions = written.as_index(name)
            found, took = ask_all(book, questions)
            book.close()
            seconds += took
            for key, values in found.items():
                total.setdefault(key, []).extend(values)
            print(f"  {name}: " + ", ".join(f"{key} {statistics.mean(v):.1%}" for key, v in found.items()))
        shares = ", ".join(f"{key} {statistics.mean(values):.1%}" for key, values in total.items())
        print(f"{title} books, {len(seconds)} questions: {shares}; {1000 * statistics.median(seconds):.0f} ms p50")


if __name__ == "__main__":
    main()
