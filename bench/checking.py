"""The CPU time of checking the longest texts that are allowed, on one core."""

from __future__ import annotations

import os
import random
import re
import time

from glossator.core.errors import QuestionError
from glossator.core.inference.cores import available_cores
from glossator.facade import Book
from lib.common import ROOT, indexed

LIMIT_SECONDS = 2.0


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"on {available_cores()} core")
    chosen = random.Random(3)
    with indexed("physical-ai", ROOT / "book") as book:
        pages = [document.text for document in book.documents()]
        words = re.findall(r"[a-z]{2,}", " ".join(pages))
        book.verify(f"{_claims(chosen, words, 3, 20)} The robot walks. A pump leaks.")  # loads the models
        passages = [page[:1500] for page in pages[:5]]
        run_on = f"{' '.join(words[:2000])}."
        for name, count, length, sources in (
            ("50 claims of 600 characters against the book", 50, 96, None),
            ("50 claims of 300 characters against the book", 50, 48, None),
            ("50 claims of 150 characters against the book", 50, 24, None),
            ("200 claims of 150 characters against 8,000 characters", 200, 24, [pages[0][:8000]]),
            ("200 claims of 30 characters against 8,000 characters", 200, 5, [pages[0][:8000]]),
            (
                "50 claims of 600 characters against 200,000 characters",
                50,
                96,
                ["\n".join(pages)[n : n + 50_000] for n in range(0, 199_999, 50_000)],
            ),
            ("200 claims of 150 characters against one sentence of 2,000 words", 200, 24, [run_on]),
            ("12 claims of 200 characters against 5 passages of 1,500", 12, 32, passages),
        ):
            _measure(book, name, _claims(chosen, words, count, length), sources)


def _claims(chosen: random.Random, words: list[str], count: int, length: int) -> str:
    """Claims of words of the book that it does not make: none is verbatim, so that each is compared and read."""
    claims = (" ".join(chosen.choices(words, k=length)) for _ in range(count))
    return " ".join(f"The {claim}." for claim in claims)[:32_000]


def _measure(book: Book, name: str, draft: str, sources: list[str] | None) -> None:
    started = time.process_time()
    try:
        checked = book.verify(draft, sources)
    except QuestionError as error:
        print(f"{name}: refused: {error}")
        return
    seconds = time.process_time() - started
    verdict = "holds" if seconds <= LIMIT_SECONDS else "DOES NOT HOLD"
    skipped = sum("not checked" in " ".join(found.reasons) for found in checked.verdicts)
    print(
        f"{name}: {seconds:.2f} s (limit {LIMIT_SECONDS:.0f} s: {verdict}); {len(checked.verdicts)} claims,"
        f" {skipped} not compared"
    )


if __name__ == "__main__":
    main()
