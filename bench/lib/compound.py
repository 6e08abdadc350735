"""Development claims in the shape of web text: two statements in one sentence, and sources of several passages."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from lib import written
from lib.claims import LabelledClaim

AROUND = 3
"""Passages of the book on each side of the one that a claim is about."""
LINKS = (", and ", "; ", ", while ", " and ")
_OPENERS = frozenset(
    """
    The A An In On At By For From With When While If As Because Since After Before It Its They Their This These Those
    Each Every All Some Most Many Both Only Even Although Though Unlike Instead Rather Once Unless Until To Users You
    Your One Two Three There Anyone Not No Without Using
    """.split()
)
"""Words whose capital letter only marks the beginning of a sentence."""


def claims(books: Sequence[str]) -> list[LabelledClaim]:
    """Compound claims, and single ones about long sources; every second compound claim has a long source, too."""
    return [claim for book in books for claim in _of_book(book)]


def _of_book(book: str) -> list[LabelledClaim]:
    rows, found = list(written.rows(book)), []
    for at, row in enumerate(rows):
        random = Random(f"{written.SEED} {book} {at}")
        first = max(0, min(at - AROUND, len(rows) - 2 * AROUND - 1))
        long = "\n\n".join(near["passage"] for near in rows[first : first + 2 * AROUND + 1])
        source, group = (long if at % 2 else row["passage"]), f"{book}:{row['n']}"
        found += [LabelledClaim("compound", text, (source,), label, group) for text, label in _compounds(row, random)]
        for label in ("true", "false"):
            item = random.choice(row[label])
            found.append(LabelledClaim(item["kind"], item["text"], (long,), label == "true", group))
    return found


def _compounds(row: dict, random: Random) -> list[tuple[str, bool]]:
    """A pair of true claims, and a true and a false one that is no variant of it."""
    true = [item["text"] for item in row["true"]]
    false = random.choice(row["false"])
    others = [text for number, text in enumerate(true) if number != false.get("pair")]
    mixed = [random.choice(others), false["text"]]
    random.shuffle(mixed)
    return [(_joined(random.sample(true, 2), random), True), (_joined(mixed, random), False)]


def _joined(sentences: Sequence[str], random: Random) -> str:
    first, second = (sentence.strip().rstrip(".") for sentence in sentences)
    opener = second.split(" ", 1)[0].rstrip(",")
    return f"{first}{random.choice(LINKS)}{second[0].lower() if opener in _OPENERS else second[0]}{second[1:]}."
