"""Fits the relevance model of the built-in embedder and writes src/glossator/embed/calibration.json.

Positive examples are passages from the sections that answer a question; negative ones are the best passages for
questions that the book does not answer: near its topic, everyday ones, and questions about other books.
The sample book's golden questions take no part; they are the test.
"""

from __future__ import annotations

import json
import random

import numpy as np

from common import ROOT, SETS, answers, indexed, questions, unpack
from glossator import retrieve as stage
from glossator.core.types import Filters
from glossator.facade import Book

TARGET = ROOT / "src" / "glossator" / "embed" / "calibration.json"
BOOKS = {"rust": ("books/rust-book.tar.gz", "src"), "docusaurus": ("books/docusaurus-docs.tar.gz", "website/docs")}


def samples(book: Book, name: str) -> list[tuple[str, bool, list[float]]]:
    """For every question: its kind, whether it is answerable, and the features of its best passages."""
    own = questions(SETS / f"{name}.jsonl")
    rng = random.Random(0)
    other = [q["question"] for n in BOOKS if n != name for q in questions(SETS / f"{n}.jsonl") if q["answers"]]
    clinc = json.loads(next(unpack("clinc_dev.tgz").rglob("data_dev.json")).read_text("utf-8"))
    everyday = [row[0] for rows in clinc.values() for row in rows]
    asked = [(q["question"], "answerable" if q["answers"] else "near", q["answers"]) for q in own]
    asked += [(q, "far", []) for q in rng.sample(other, 60) + rng.sample(everyday, 60)]
    return [row for question, kind, gold in asked for row in features_of(book, question, kind, gold)]


def features_of(book: Book, question: str, kind: str, gold: list[dict]) -> list[tuple[str, str, bool, list[float]]]:
    generation = book.parts.generation()
    embedder, index, counts = book.parts.embedder, generation.index, generation.documents
    query = embedder.embed_query(question)
    words = stage.weigh(question, counts)
    hits = index.search(query, question, stage.CANDIDATES, Filters())
    ranked = stage.rank(index, query, words, hits, embedder.calibration)[:5]
    rows = []
    for chunk, r in zip(index.chunks([r.id for r in ranked]), ranked, strict=True):
        values = list(stage.features(chunk, r.dense, r.sentence, words))
        rows.append((question, kind, answers(chunk, gold), values))
    return rows


def fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = 1.0) -> tuple[float, np.ndarray]:
    """Weighted logistic regression by Newton's method, on standardised features."""
    mean, spread = x.mean(0), x.std(0)
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    beta = np.zeros(z.shape[1])
    penalty = np.diag([0.0] + [ridge] * x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ beta))
        gradient = z.T @ (weight * (y - p)) - penalty @ beta
        hessian = (z * (weight * p * (1 - p))[:, None]).T @ z + penalty
        beta += np.linalg.solve(hessian, gradient)
    slope = beta[1:] / spread
    return float(beta[0] - slope @ mean), slope


def by_question(rows, scores) -> dict[str, list]:
    """The best score of each question, by kind."""
    best: dict[tuple[str, str], float] = {}
    for (question, kind, _, _), score in zip(rows, scores, strict=True):
        best[question, kind] = max(best.get((question, kind), -99.0), score)
    kinds: dict[str, list] = {}
    for (_, kind), score in best.items():
        kinds.setdefault(kind, []).append(score)
    return {kind: np.array(values) for kind, values in kinds.items()}


def operating_point(kinds: dict[str, np.ndarray]) -> float:
    """The logit that best parts answerable from unanswerable questions, near ones counting most."""
    candidates = np.sort(np.concatenate(list(kinds.values())))
    gain = [
        2 * (kinds["answerable"] >= t).mean() + (kinds["near"] < t).mean() + 0.5 * (kinds["far"] < t).mean()
        for t in candidates
    ]
    best = candidates[np.argmax(gain)]
    return float(best)


def main() -> None:
    data = {name: samples(indexed(name, unpack(archive) / below), name) for name, (archive, below) in BOOKS.items()}
    for held_out in [*BOOKS, None]:
        train = [row for name, rows in data.items() if name != held_out for row in rows]
        use = [row for row in train if row[2] or row[1] != "answerable"]
        x, y = np.array([row[3] for row in use]), np.array([row[2] for row in use], float)
        weight = np.array([{"answerable": 1.0, "near": 1.0, "far": 0.3}[row[1]] for row in use])
        bias, slope = fit(x, y, weight)
        logits = [bias + float(slope @ np.array(row[3])) for row in train]
        threshold = operating_point(by_question(train, logits))
        shift = float(np.log(0.3 / 0.7)) - threshold
        if held_out:
            test = data[held_out]
            kinds = by_question(test, [bias + shift + float(slope @ np.array(row[3])) for row in test])
            cut = float(np.log(0.3 / 0.7))
            shares = {kind: f"{(values < cut).mean():.2f}" for kind, values in kinds.items()}
            print(f"held out {held_out}: share that abstains {shares}")
    values = json.loads(TARGET.read_text("utf-8"))
    values["relevance_bias"] = round(bias + shift, 4)
    values["relevance_weights"] = [round(float(w), 4) for w in slope]
    TARGET.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
    print(dict(zip(stage.FEATURES, values["relevance_weights"], strict=True)), "bias", values["relevance_bias"])


if __name__ == "__main__":
    main()
