"""What a torture test counted: added to a file of JSON lines, from which the table is made.

Usage: python counters.py FILE [PAGE], to print the table, and to write it into a page.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

MAX_RECOVERY_SECONDS = 5.0
MARKERS = "<!-- table -->\n", "<!-- end of table -->\n"


@dataclass
class Counters:
    """The counters of one kind of fault."""

    faults: str
    tried: int = 0
    checked: int = 0
    refused: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    leaked: int = 0
    hung: int = 0
    recovery_seconds: float | None = None

    def recovered_in(self, seconds: float) -> None:
        """Keep the longest time."""
        self.recovery_seconds = round(max(seconds, self.recovery_seconds or 0.0), 1)

    def add(self, other: Counters) -> None:
        """Add the counters of another."""
        for field in fields(self)[1:-1]:
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        if other.recovery_seconds is not None:
            self.recovered_in(other.recovery_seconds)

    def report(self) -> None:
        """Print the counters, add them to the file that GLOSSATOR_TORTURE names, and check that nothing broke."""
        print(json.dumps(asdict(self)))  # noqa: T201 - `make torture` shows it
        if path := os.environ.get("GLOSSATOR_TORTURE"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(self)) + "\n")
        assert self.tried
        assert (self.lost, self.doubled, self.wrong, self.leaked, self.hung) == (0, 0, 0, 0, 0), self


def table(rows: list[Counters]) -> str:
    """The counters as a table in Markdown, those of one name together, with a sum."""
    names = [field.name for field in fields(Counters)]
    kinds: dict[str, Counters] = {}
    for row in rows:
        kinds.setdefault(row.faults, Counters(row.faults)).add(row)
    total = Counters("all")
    for row in kinds.values():
        total.add(row)
    cells = [[_cell(getattr(row, name)) for name in names] for row in [*kinds.values(), total]]
    heading = [[name.replace("_seconds", " (s)") for name in names], ["---", *["---:"] * (len(names) - 1)]]
    return "".join(f"| {' | '.join(line)} |\n" for line in heading + cells)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def main(file: str, page: str | None = None) -> None:
    rows = [Counters(**json.loads(line)) for line in Path(file).read_text("utf-8").splitlines()]
    text = table(rows)
    print(text)  # noqa: T201 - the result
    if page:
        before, _, rest = Path(page).read_text("utf-8").partition(MARKERS[0])
        after = rest.partition(MARKERS[1])[2]
        Path(page).write_text(f"{before}{MARKERS[0]}\n{text}\n{MARKERS[1]}{after}", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
