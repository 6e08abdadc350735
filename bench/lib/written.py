"""Books of passages with written claims and questions: the project's development books, and others beside it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from random import Random

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Chunk
from glossator.facade import Book
from lib import mutate
from lib.claims import LabelledClaim
from lib.common import CACHE, DATA, ROOT, indexed
from lib.mutations.corpus import Corpus

SEED = 7

DEVELOPMENT = ("astronomy", "curl", "fastapi", "vagov")
"""Books of training/data on which the reader is not trained: thresholds are chosen on them."""
TEST = ("biology", "history", "psychology")
"""Books beside the project: nothing is chosen on them."""


@dataclass(frozen=True)
class WrittenQuestion:
    """A question about a passage of a book; the evidence answers it, and is empty if nothing in the passage does."""

    text: str
    document_id: str
    evidence: str


def path_of(book: str) -> Path:
    folder = DATA / "reader" / "written" if book in TEST else ROOT / "training" / "data" / "written"
    return folder / f"{book}.jsonl.gz"


def rows(book: str) -> Iterator[dict]:
    with gzip.open(path_of(book), "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def claims(books: Sequence[str]) -> list[LabelledClaim]:
    """The written claims of books."""
    return [
        LabelledClaim(item["kind"], item["text"], (row["passage"],), label == "true", f"{book}:{row['n']}")
        for book in books
        for row in rows(book)
        for label in ("true", "false")
        for item in row[label]
    ]


def mutations(book: str, per_kind: int) -> Iterator[mutate.MutatedClaim]:
    """Mutated sentences of a book's passages; their group is the number of the passage."""
    corpus, seen = Corpus([_as_chunk(row) for row in rows(book)]), set[str]()
    for mutation in (*mutate.UNSUPPORTED, *mutate.SUPPORTED):
        random = Random(f"{SEED} {mutation.__name__}")
        yield from mutate.examples_of_kind(mutation, corpus, random, per_kind, seen)


def mutated_claims(books: Sequence[str], per_kind: int) -> list[LabelledClaim]:
    """The same as claims."""
    return [
        LabelledClaim(made.kind, made.claim, (made.passage,), made.supported, f"{book}:{made.group}")
        for book in books
        for made in mutations(book, per_kind)
    ]


def _as_chunk(row: dict) -> Chunk:
    """A passage as a chunk, identified by its number."""
    number, text = str(row["n"]), row["passage"]
    headings = (row["title"],)
    sentences = tuple(split_sentences(text))
    return Chunk(number, number, "", row["title"], (), row["title"], headings, "", 0, 0, len(text), text, sentences)


def as_index(book: str) -> tuple[Book, list[WrittenQuestion]]:
    """The passages of a book as an index, and its questions."""
    folder, found = CACHE / "written" / book, []
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows(book):
        name = f"{row['n']:03d}.html"
        paragraphs = "".join(f"<p>{escape(part)}</p>" for part in row["passage"].split("\n") if part.strip())
        (folder / name).write_text(f"<h1>{escape(row['title'])}</h1>{paragraphs}", "utf-8")
        found += [WrittenQuestion(q["question"], name, q["evidence"]) for q in row["answerable"]]
        found += [WrittenQuestion(q, name, "") for q in row["unanswerable"]]
    return indexed(f"written-{book}", folder), found


def is_evidence(sentence: str, evidence: str) -> bool:
    """Whether a sentence is the evidence, a part of it, or contains it; punctuation and case do not count."""
    one, other = (re.sub(r"\W+", "", text).lower() for text in (sentence, evidence))
    return bool(one) and bool(other) and (one in other or other in one)
