"""Fits the relevance model of the built-in embedder and writes src/glossator/embed/calibration.json.

There is one example per question: the maximum of each feature over its five best passages. Negative examples are
questions that the book does not answer: near its topic, everyday ones, and questions about another book. The fit is
tested on the book that was left out, and on questions about the sample book that were not used to choose anything
(bench/sets/book.jsonl); the golden questions are not used at all.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator import retrieve
from glossator.core.ports import no_progress
from glossator.core.types import Filters
from glossator.facade import Book
from glossator.ingest.chunk import SELECTION_CHUNKS, chunk_document
from glossator.ingest.selection import selection_document
from glossator.pipeline.wiring import UniformWordCounts
from lib.common import ROOT, SETS, indexed, logistic, questions, unpack

TARGET = ROOT / "src" / "glossator" / "embed" / "calibration.json"
BOOKS = {"rust": ("books/rust-book.tar.gz", "src"), "docusaurus": ("books/docusaurus-docs.tar.gz", "website/docs")}
SHARE = {"answerable": 0.5, "near": 0.2, "far": 0.3}
"""The weight of each kind, independent of its number of questions."""

ODDS = {"book": 1.6, "selection": 0.4}
"""The cost of a wrong answer against a refused one; lower for a selection, as the reader chose the text."""
ONE_PASSAGE = 1.4
"""Added to the bias of the book's model: one passage rarely has the maximum of every feature. It keeps the share of
refused questions of each kind where the fit put it."""
ABSTAIN_LOGIT, TYPICAL_LOGIT = float(np.log(0.3 / 0.7)), float(np.log(0.8 / 0.2))
"""Logits of the two points that fix the scale: abstaining below 0.3, and 0.8 for the median answerable question."""


@dataclass(frozen=True)
class Example:
    """A question, its kind, and the maximum of each feature."""

    question: str
    kind: str
    values: np.ndarray


def examples(book: Book, name: str) -> list[Example]:
    """All questions of this book's set, and questions about other subjects."""
    rng = random.Random(0)
    other = [q["question"] for n in BOOKS if n != name for q in questions(SETS / f"{n}.jsonl") if q["answers"]]
    clinc = json.loads(next(unpack("clinc_dev.tgz").rglob("data_dev.json")).read_text("utf-8"))
    everyday = [row[0] for rows in clinc.values() for row in rows]
    asked = [(q["question"], "answerable" if q["answers"] else "near") for q in questions(SETS / f"{name}.jsonl")]
    asked += [(question, "far") for question in other + rng.sample(everyday, 60)]
    return [Example(question, kind, evidence(book, question)) for question, kind in asked]


def evidence(book: Book, question: str) -> np.ndarray:
    """The maximum of each feature; fitted without the minimum length that answering uses, which would distort it."""
    return np.max(passage_features(book, question, 1), axis=0)


def passage_features(book: Book, question: str, min_words: int) -> list[tuple[float, ...]]:
    """The features of each of the best passages."""
    generation = book.engine.generation()
    embedder, index = book.engine.embedder, generation.index
    query = embedder.embed_query(question)
    words = retrieve.weigh_words(question, generation.documents)
    hits = index.search(query, question, retrieve.MIN_CANDIDATES, Filters())
    ranked = retrieve.rank(index, query, words, hits, embedder.calibration)[: retrieve.RELEVANCE_PASSAGES]
    chunks = index.chunks([r.id for r in ranked])
    return [retrieve.features(c, r.dense, r.sentence, words, min_words) for c, r in zip(chunks, ranked, strict=True)]


def fit(found: list[Example], odds: float) -> tuple[float, np.ndarray]:
    """The regression, stretched so that the median answerable question has its relevance."""
    bias, slope = regression(found, odds)
    typical = float(np.median([bias + slope @ e.values for e in found if e.kind == "answerable"]))
    stretch = (TYPICAL_LOGIT - ABSTAIN_LOGIT) / typical
    return stretch * bias + ABSTAIN_LOGIT, stretch * slope


def regression(found: list[Example], odds: float, ridge: float = 5.0) -> tuple[float, np.ndarray]:
    """Weighted logistic regression; zero is the operating point."""
    x = np.array([e.values for e in found])
    y = np.array([e.kind == "answerable" for e in found], float)
    number = Counter(e.kind for e in found)
    weight = np.array([len(found) * SHARE[e.kind] / number[e.kind] for e in found])
    bias, slope = logistic(x, y, weight, ridge)
    return bias - float(np.log(odds)), slope


def selection_examples(book: Book) -> list[Example]:
    """CLAP NQ: a question with the passage that answers it, with one that does not, and with one from elsewhere."""
    folder = next(unpack("clapnq.tgz").rglob("clapnq_dev_answerable.jsonl")).parent
    kinds = {"answerable": "clapnq_dev_answerable.jsonl", "near": "clapnq_dev_unanswerable.jsonl"}
    pairs = [(k, q["input"], q["passages"][0]["text"]) for k, file in kinds.items() for q in questions(folder / file)]
    pairs += [("far", q, t) for (_, q, _), (_, _, t) in zip(pairs[:200], pairs[7:207], strict=True)]
    return [Example(q, kind, selection_evidence(book, q, text)) for kind, q, text in pairs]


def selection_evidence(book: Book, question: str, text: str) -> np.ndarray:
    embedder = book.engine.embedder
    words = retrieve.weigh_words(question, UniformWordCounts())
    chunks = chunk_document(selection_document(text), embedder.count_tokens, SELECTION_CHUNKS)[:8]
    query = embedder.embed_query(question)
    rows = []
    for chunk, e in zip(chunks, embedder.embed_chunks(chunks, no_progress), strict=True):
        near = float((e.sentences.astype("float32") @ query.sentence).max()) if len(e.sentences) else 0.0
        rows.append(retrieve.features(chunk, float(e.vector @ query.vector), near, words, 1))
    return np.max(rows, axis=0)


def by_kind(found: list[Example], bias: float, slope: np.ndarray) -> dict[str, np.ndarray]:
    return {k: np.array([bias + slope @ e.values for e in found if e.kind == k]) for k in SHARE}


def report(name: str, logits: dict[str, np.ndarray]) -> None:
    pairs = logits["answerable"][:, None] > logits["near"][None, :]
    shares = ", ".join(f"{kind} {(values < ABSTAIN_LOGIT).mean():.1%}" for kind, values in logits.items())
    print(f"left out: {name}; abstains on {shares}; area under the curve against near ones {pairs.mean():.3f}")


def validate(weights: list[float]) -> None:
    """The result of the weights, as used, on natural questions that were not used for the fit."""
    book, asked = indexed("book", ROOT / "book"), questions(SETS / "book.jsonl")
    logits: dict[str, list[float]] = {kind: [] for kind in SHARE}
    for q in asked:
        rows = passage_features(book, q["question"], retrieve.MIN_QUESTION_WORDS)
        logits[q["kind"]].append(retrieve.isotonic([retrieve.relevance_logit(row, weights) for row in rows])[0])
    report("the sample book, as used", {kind: np.array(values) for kind, values in logits.items()})


def main() -> None:
    data = {name: examples(indexed(name, unpack(archive) / below), name) for name, (archive, below) in BOOKS.items()}
    for name, found in data.items():
        report(name, by_kind(found, *fit([e for n, rows in data.items() if n != name for e in rows], ODDS["book"])))
    selected = selection_examples(indexed("rust", unpack(BOOKS["rust"][0]) / BOOKS["rust"][1]))
    report("every second selection", by_kind(selected[::2], *fit(selected[1::2], ODDS["selection"])))
    values = json.loads(TARGET.read_text("utf-8"))
    for name, found in {"book": [e for rows in data.values() for e in rows], "selection": selected}.items():
        bias, slope = fit(found, ODDS[name])
        bias += ONE_PASSAGE if name == "book" else 0.0
        values[name] = [round(float(weight), 4) for weight in (bias, *slope)]
        print(name, dict(zip(("bias", *retrieve.FEATURES), values[name], strict=True)))
    TARGET.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
    validate(values["book"])


if __name__ == "__main__":
    main()
