"""Writes mutated sentences of the written passages, as the benchmarks of the verifier make them from a book."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from random import Random

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Chunk
from reader.paths import DATA, MUTATIONS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from lib.mutate import SUPPORTED, UNSUPPORTED, examples_of_kind
from lib.mutations.corpus import Corpus

OTHER_LANGUAGES = ("french", "german", "spanish")
PER_KIND = 200
"""Claims of each kind for each book."""
SEED = 7


def main() -> None:
    MUTATIONS.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(MUTATIONS, "wt", encoding="utf-8") as out:
        for path in sorted((DATA / "written").glob("*.gz")):
            book = path.name.split(".")[0]
            if book not in OTHER_LANGUAGES:
                written = list(rows(book, path))
                out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
                print(f"{book}: {len(written)}", flush=True)


def rows(book: str, path: Path):
    """Mutated claims of one book."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        corpus = Corpus([chunk_of(json.loads(line)) for line in lines])
    seen: set[str] = set()
    for mutation in (*UNSUPPORTED, *SUPPORTED):
        random = Random(f"{SEED} {mutation.__name__}")
        for made in examples_of_kind(mutation, corpus, random, PER_KIND, seen):
            row = {"book": book, "number": int(made.group), "kind": made.kind}
            yield row | {"sentence": made.sentence, "claim": made.claim, "supported": made.supported}


def chunk_of(row: dict) -> Chunk:
    """A passage as a chunk, identified by its number."""
    number, text = str(row["n"]), row["passage"]
    sentences = tuple(split_sentences(text))
    headings = (row["title"],)
    return Chunk(number, number, "", row["title"], (), row["title"], headings, "", 0, 0, len(text), text, sentences)


if __name__ == "__main__":
    main()
