"""Writes mutated sentences of the written passages, as the benchmarks of the verifier make them from a book."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from reader.paths import DATA, MUTATIONS

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
from lib.written import mutations

OTHER_LANGUAGES = ("french", "german", "spanish")
PER_KIND = 200
"""Claims of each kind for each book."""


def main() -> None:
    MUTATIONS.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(MUTATIONS, "wt", encoding="utf-8") as out:
        for path in sorted((DATA / "written").glob("*.gz")):
            book = path.name.split(".")[0]
            if book not in OTHER_LANGUAGES:
                written = list(rows(book))
                out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
                print(f"{book}: {len(written)}", flush=True)


def rows(book: str):
    """Mutated claims of one book."""
    for made in mutations(book, PER_KIND):
        row = {"book": book, "number": int(made.group), "kind": made.kind}
        yield row | {"sentence": made.sentence, "claim": made.claim, "supported": made.supported}


if __name__ == "__main__":
    main()
