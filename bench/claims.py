"""Labelled claims for the verifier: mutations of books, sets written by hand, and sets labelled by people elsewhere."""

from __future__ import annotations

import csv
import hashlib
import json
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mutate
from common import CACHE, ROOT, SETS, unpack
from glossator.core.settings import Settings
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from glossator.pipeline.wiring import make_embedder
from glossator.verification.judge import Prepared, Verifier, claims_of

BOOKS = {
    "rust": lambda: unpack("books/rust-book.tar.gz") / "src",
    "docusaurus": lambda: unpack("books/docusaurus-docs.tar.gz") / "website" / "docs",
    "book": lambda: ROOT / "book",
}
Rows = list[list[dict[str, float]]]
"""For each sentence of a claim, the features of each place that it was laid beside."""


@dataclass(frozen=True)
class Claim:
    """A claim, what it is checked against, and whether people (or how it was made) say that it is supported."""

    kind: str
    claim: str
    passages: tuple[str, ...]
    supported: bool
    group: str


def mutations(book: str, per_kind: int) -> list[Claim]:
    """Sentences of a book, altered and rewritten."""
    source = read_source(str(BOOKS[book]()), None, 10_000_000)
    count = make_embedder(Settings()).count_tokens
    chunks = [chunk for document in source.documents for chunk in chunk_document(document, count)]
    made = mutate.examples(source.documents, chunks, seed=0, per_kind=per_kind)
    return [Claim(e.kind, e.claim, (e.passage,), e.supported, f"{book}:{e.group}") for e in made]


def by_hand(name: str, split: str | None = None) -> list[Claim]:
    """A set that was written by hand; `split` picks half of the one in several languages."""
    rows = _lines(SETS / f"{name}.jsonl")
    return [
        Claim(
            f"{row['language']} {row['kind']}" if split else row["kind"],
            row["claim"],
            (row["passage"],),
            row["supported"],
            f"{name}:{hashlib.sha256(row['passage'].encode()).hexdigest()[:12]}",
        )
        for row in rows
        if split in (None, row.get("split"))
    ]


def wice() -> list[Claim]:
    """Claims of Wikipedia against the pages they cite; partly supported is not supported."""
    rows = _lines(next(unpack("wice_dev.tgz").rglob("dev.jsonl")))
    return _unique(
        Claim(
            row["label"], row["claim"], (" ".join(row["evidence"]),), row["label"] == "supported", _key(row["evidence"])
        )
        for row in rows
    )


def begin() -> list[Claim]:
    """Replies of chatbots against the knowledge they were given."""
    found = []
    for file in sorted(unpack("begin.tgz").rglob("*.tsv")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                if row.get("begin_label") and row["knowledge"]:
                    label = row["begin_label"]
                    group = _key(row["knowledge"].strip().lower())
                    found.append(
                        Claim(label, row["response"], (row["knowledge"],), label == "Fully attributable", group)
                    )
    return _unique(found)


def summedits(most: int) -> list[Claim]:
    """Summaries with one edit against the text that they sum up."""
    rows = [r for file in sorted(unpack("summedits.tgz").rglob("*.json")) for r in json.loads(file.read_text("utf-8"))]
    found = _unique(Claim(str(r["label"]), r["summary"], (r["doc"],), r["label"] == 1, _key(r["doc"])) for r in rows)
    return random.Random(0).sample(found, min(most, len(found)))


def features(name: str, claims: Sequence[Claim], verifier: Verifier) -> list[Rows]:
    """What the model judges each claim by; kept between runs for the same code and claims."""
    code = b"".join(
        file.read_bytes() for file in sorted((ROOT / "src/glossator/verification").rglob("*.*")) if _counts(file)
    )
    stamp = hashlib.sha256(code + repr(claims).encode() + verifier.version.encode()).hexdigest()[:16]
    kept = CACHE / "claims" / f"{name}-{stamp}.pickle"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(_computed(claims, verifier)))
    rows: list[Rows] = pickle.loads(kept.read_bytes())  # noqa: S301 - our own cache
    return rows


def _computed(claims: Sequence[Claim], verifier: Verifier) -> list[Rows]:
    prepared: dict[tuple[str, ...], Prepared] = {}
    found = []
    for claim in sorted(range(len(claims)), key=lambda i: claims[i].passages):
        passages = claims[claim].passages
        if passages not in prepared:
            prepared = {passages: verifier.prepare(passages)}
        numbers = list(range(1, len(passages) + 1))
        rows = [
            [f for f, _ in verifier.candidates(s, prepared[passages], numbers)] for s in claims_of(claims[claim].claim)
        ]
        found.append((claim, [row for row in rows if row]))
    return [rows for _, rows in sorted(found, key=lambda pair: pair[0])]


def _counts(file: Path) -> bool:
    """Whether a file of the verifier changes what a claim is judged by; the weights and the gate do not."""
    return file.suffix in (".py", ".toml", ".txt") and file.name not in (
        "gate.py",
        "receipts.py",
        "model.py",
        "reasons.py",
    )


def _unique(claims) -> list[Claim]:  # type: ignore[no-untyped-def]
    return list({(c.claim.strip().lower(), c.passages): c for c in claims}.values())


def _key(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
