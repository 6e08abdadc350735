"""Labelled claims for the verifier: mutations of books, sets written by hand, and public data sets."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glossator.core.settings import Settings
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from glossator.pipeline.wiring import make_embedder
from glossator.verification.judge import PreparedPassages, Verifier, claim_sentences
from lib import mutate
from lib.common import CACHE, ROOT, SETS, unpack

BOOKS = {
    "rust": lambda: unpack("books/rust-book.tar.gz") / "src",
    "docusaurus": lambda: unpack("books/docusaurus-docs.tar.gz") / "website" / "docs",
    "book": lambda: ROOT / "book",
}
Rows = list[list[dict[str, float]]]
"""For each sentence of a claim, the features of each window that it was compared with."""


@dataclass(frozen=True)
class LabelledClaim:
    """A claim, its passages, and whether they support it, as labelled by people or by the way it was made."""

    kind: str
    claim: str
    passages: tuple[str, ...]
    supported: bool
    group: str


def mutations(book: str, per_kind: int) -> list[LabelledClaim]:
    """Sentences of a book, altered and rewritten."""
    source = read_source(str(BOOKS[book]()), None, 10_000_000)
    count = make_embedder(Settings()).count_tokens
    chunks = [chunk for document in source.documents for chunk in chunk_document(document, count)]
    made = mutate.examples(source.documents, chunks, seed=0, per_kind=per_kind)
    return [LabelledClaim(e.kind, e.claim, (e.passage,), e.supported, f"{book}:{e.group}") for e in made]


def by_hand(name: str, split: str | None = None) -> list[LabelledClaim]:
    """A set written by hand; `split` picks one half of the multilingual set."""
    rows = _lines(SETS / f"{name}.jsonl")
    return [
        LabelledClaim(
            f"{row['language']} {row['kind']}" if split else row["kind"],
            row["claim"],
            (row["passage"],),
            row["supported"],
            f"{name}:{hashlib.sha256(row['passage'].encode()).hexdigest()[:12]}",
        )
        for row in rows
        if split in (None, row.get("split"))
    ]


def plain_pairs(name: str) -> list[LabelledClaim]:
    """Short sentences with a true or false sentence in nearly the same words, by people who did not see the code."""
    rows = _lines(SETS / f"{name}.jsonl")
    return [LabelledClaim(row["kind"], row["claim"], (row["source"],), row["label"], row["topic"]) for row in rows]


def short_claims() -> list[LabelledClaim]:
    """Claims about short sources, written by language models, that the reader was not trained on."""
    with gzip.open(ROOT / "training" / "data" / "plain" / "operations.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [LabelledClaim(row["kind"], row["claim"], (row["source"],), row["label"], row["source"]) for row in rows]


def wice() -> list[LabelledClaim]:
    """Claims from Wikipedia and the pages they cite; partly supported counts as not supported."""
    rows = _lines(next(unpack("wice_dev.tgz").rglob("dev.jsonl")))
    return _unique(
        LabelledClaim(
            row["label"], row["claim"], (" ".join(row["evidence"]),), row["label"] == "supported", _key(row["evidence"])
        )
        for row in rows
    )


def begin() -> list[LabelledClaim]:
    """Chatbot replies and the knowledge they were given."""
    found = []
    for file in sorted(unpack("begin.tgz").rglob("*.tsv")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                if row.get("begin_label") and row["knowledge"]:
                    label = row["begin_label"]
                    group = _key(row["knowledge"].strip().lower())
                    found.append(
                        LabelledClaim(label, row["response"], (row["knowledge"],), label == "Fully attributable", group)
                    )
    return _unique(found)


def summedits(limit: int) -> list[LabelledClaim]:
    """Summaries, some with one edit, and the text that they summarize."""
    rows = [r for file in sorted(unpack("summedits.tgz").rglob("*.json")) for r in json.loads(file.read_text("utf-8"))]
    found = _unique(
        LabelledClaim(str(r["label"]), r["summary"], (r["doc"],), r["label"] == 1, _key(r["doc"])) for r in rows
    )
    return random.Random(0).sample(found, min(limit, len(found)))


def features(name: str, claims: Sequence[LabelledClaim], verifier: Verifier) -> list[Rows]:
    """The features of each claim, cached between runs for the same code and claims."""
    code = b"".join(
        file.read_bytes()
        for file in sorted((ROOT / "src/glossator/verification").rglob("*.*"))
        if _affects_features(file)
    )
    models = [model.fingerprint for model in (verifier.encoder, verifier.reader) if model]
    stamp = hashlib.sha256(code + repr(claims).encode() + repr(models).encode()).hexdigest()[:16]
    cached = CACHE / "claims" / f"{name}-{stamp}.pickle"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.write_bytes(pickle.dumps(_compute(claims, verifier)))
    rows: list[Rows] = pickle.loads(cached.read_bytes())  # noqa: S301 - our own cache
    return rows


def _compute(claims: Sequence[LabelledClaim], verifier: Verifier) -> list[Rows]:
    prepared: dict[tuple[str, ...], PreparedPassages] = {}
    found = []
    for claim in sorted(range(len(claims)), key=lambda i: claims[i].passages):
        passages = claims[claim].passages
        if passages not in prepared:
            prepared = {passages: verifier.prepare(passages)}
        numbers = list(range(1, len(passages) + 1))
        rows = [
            [f for f, _ in verifier.candidates(s, prepared[passages], numbers)]
            for s in claim_sentences(claims[claim].claim)
        ]
        found.append((claim, [row for row in rows if row]))
    return [rows for _, rows in sorted(found, key=lambda pair: pair[0])]


def _affects_features(file: Path) -> bool:
    """Whether a file of the verifier affects the features; the model and the gate do not."""
    return file.suffix in (".py", ".toml", ".txt") and file.name not in (
        "gate.py",
        "model.py",
        "reasons.py",
    )


def _unique(claims) -> list[LabelledClaim]:  # type: ignore[no-untyped-def]
    return list({(c.claim.strip().lower(), c.passages): c for c in claims}.values())


def _key(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
