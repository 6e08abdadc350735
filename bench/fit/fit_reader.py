"""Fits how the reader's opinions count: in the verdict on a claim, and in the relevance of a passage.

The reader must not have been trained on what this is fitted to: claims, mutated sentences and questions of the
development books. WiCE, BEGIN, the plain pairs and the test books are only measured.
Writes the model "reader" of src/glossator/verification/weights.json, and prints the constants of pipeline/reading.py.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator.answer import extractive
from glossator.core.question import Question
from glossator.core.thresholds import ANSWERABLE, SHOWN
from glossator.core.types import RetrievalResult
from glossator.embed.colbert import ColbertEncoder
from glossator.pipeline.reading import (
    READER_LEVELS,
    RELEVANCE,
    SEARCH_LEVELS,
    QuestionReading,
    limited,
    read_question,
    search_book,
)
from glossator.read.reader import OnnxReader
from glossator.retrieve import level_of, weigh_words
from glossator.verification.judge import Verifier
from glossator.verification.model import derive_inputs, limit
from lib import claims as sets
from lib import written
from lib.common import ROOT, logistic, unpack

TARGET = ROOT / "src" / "glossator" / "verification" / "weights.json"
RIDGE = 5.0
FALSE_SHOWN = 0.022
"""Share of the false claims of the development books that the gate may show; of other books, about twice that."""
ANSWERABLE_REFUSED = 0.09
"""Share of the answerable questions about the development books that may be refused."""
POSITIVE = frozenset(
    "coverage coverage_anywhere aligned full read_support read_certain read_support_close read_support_near".split()
)
EITHER = frozenset("close near few few_full".split())
Features = dict[str, float]


@dataclass(frozen=True)
class LabelledSet:
    """Claims to fit to, the total weight of the set, and the share of that for its false claims."""

    name: str
    claims: Sequence[sets.LabelledClaim]
    weight: float
    false_share: float


def decisive(rows: sets.Rows) -> Features | None:
    """The window of a claim that decides: of its worst sentence the best; None if it has the words of the source."""
    read = [[w for w in windows if "read_support" in w] for windows in rows]
    best = [max(windows, key=lambda w: w["coverage"] + 0.3 * w["read_support"]) for windows in read if windows]
    return min(best, key=lambda w: w["read_support"], default=None)


def fit(found: Sequence[LabelledSet], verifier: Verifier) -> tuple[tuple[str, ...], float, NDArray[np.float64]]:
    """Weighted logistic regression without weights of the wrong sign: no difference counts for a claim."""
    inputs: list[Features] = []
    truth: list[float] = []
    weights: list[float] = []
    for each in found:
        rows = sets.features(each.name, each.claims, verifier)
        pairs = [(c, w) for c, r in zip(each.claims, rows, strict=True) if (w := decisive(r)) is not None]
        true = sum(c.supported for c, _ in pairs)
        share = {True: (1 - each.false_share) / true, False: each.false_share / (len(pairs) - true)}
        inputs += [derive_inputs(window) for _, window in pairs]
        truth += [float(c.supported) for c, _ in pairs]
        weights += [each.weight * share[c.supported] for c, _ in pairs]
    names = tuple(sorted(inputs[0]))
    x = np.array([[values[name] for name in names] for values in inputs])
    used = np.ones(len(names), bool)
    while True:
        bias, slopes = logistic(x[:, used], np.array(truth), np.array(weights), RIDGE)
        slope = np.zeros(len(names))
        slope[used] = slopes
        wrong = np.array([_sign(name) * value < 0 for name, value in zip(names, slope, strict=True)])
        if not wrong.any():
            return names, bias, slope
        used &= ~wrong


def _sign(name: str) -> int:
    """The sign that a weight must have: 1 for a claim, -1 against it, 0 for either."""
    return 0 if name in EITHER else 1 if name in POSITIVE else -1


def scale(logits: Sequence[float]) -> float:
    """What makes positive logits of false claims reach `SHOWN` only as often as they may."""
    threshold = float(np.quantile(logits, 1 - FALSE_SHOWN))
    return math.log(SHOWN / (1 - SHOWN)) / max(threshold, 0.05)


def fit_verdict(verifier: Verifier) -> None:
    books = written.claims(written.DEVELOPMENT)
    found = [
        LabelledSet("written", books, 2500, 0.5),
        LabelledSet("written-mutated", written.mutated_claims(written.DEVELOPMENT, 40), 3500, 0.8),
    ]
    names, bias, slope = fit(found, verifier)
    logits = []
    for claim, rows in zip(books, sets.features("written", books, verifier), strict=True):
        window = decisive(rows)
        if window is not None and not claim.supported:
            values = derive_inputs(window)
            vetoed = limit(window) < SHOWN
            logits.append(-9.0 if vetoed else bias + float(slope @ [values[name] for name in names]))
    weights = json.loads(TARGET.read_text("utf-8"))
    model = {"bias": round(bias, 4), "scale": round(scale(logits), 4)}
    weights["reader"] = model | dict(zip(names, slope.round(4).tolist(), strict=True))
    TARGET.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    print(f"verdict: bias {model['bias']}, scale {model['scale']}")


@dataclass(frozen=True)
class AskedQuestion:
    """A written question with what the search found, what the reader says, and the letters of its evidence."""

    question: written.WrittenQuestion
    found: RetrievalResult
    vectors: Sequence[NDArray[np.float32]]
    reading: QuestionReading
    words: dict[str, float]

    @property
    def levels(self) -> list[tuple[float, float]]:
        """For each passage that was read the logits of the search and of the reader."""
        return [
            (limited(item.level, SEARCH_LEVELS), limited(self.reading.passages[item.chunk.chunk_id], READER_LEVELS))
            for item in self.found.chunks
            if item.chunk.chunk_id in self.reading.passages
        ]

    def first_is_evidence(self) -> bool:
        """Whether the first sentence of a quoted answer is (part of) the evidence."""
        material = [
            extractive.ScoredChunk(item.chunk, rows, item.passage.score)
            for item, rows in zip(self.found.chunks, self.vectors, strict=True)
        ]
        query = self.found.query.sentence if self.found.query else None
        quotes = extractive.choose_sentences(self.words, query, material, self.reading.sentences)
        if not quotes or quotes[0].chunk.document_id != self.question.document_id:
            return False
        return written.is_evidence(quotes[0].text, self.question.evidence)


def off_topic(book: str) -> list[written.WrittenQuestion]:
    """Questions about other books, and everyday requests: nothing in this book answers them."""
    others = [
        q["question"]
        for other in written.DEVELOPMENT
        if other != book
        for r in written.rows(other)
        for q in r["answerable"]
    ]
    clinc = json.loads(next(unpack("clinc_dev.tgz").rglob("data_dev.json")).read_text("utf-8"))
    everyday = [row[0] for rows in clinc.values() for row in rows]
    random = Random(book)
    return [written.WrittenQuestion(q, "", "") for q in (*random.sample(others, 60), *random.sample(everyday, 60))]


def ask(book: str, reader: OnnxReader) -> list[AskedQuestion]:
    index, questions = written.as_index(book)
    questions = [*questions, *off_topic(book)]
    generation, asked = index.engine.generation(), []
    for question in questions:
        found = search_book(index.engine, generation, Question(question.text))
        chunks = [item.chunk for item in found.chunks]
        vectors = generation.index.sentence_vectors(chunks)
        nearness = [rows @ found.query.sentence for rows in vectors] if found.query else []
        reading = read_question(reader, question.text, chunks, nearness)
        words = weigh_words(question.text, generation.documents).weights
        asked.append(AskedQuestion(question, found, vectors, reading, words))
    index.close()
    return asked


def fit_bias(asked: Sequence[AskedQuestion], search: float, read: float) -> float:
    """The bias that refuses the share of answerable questions that it may; prints what else it refuses."""
    usable = [each for each in asked if each.levels]
    truth = np.array([bool(each.question.evidence) for each in usable])
    on_topic = np.array([bool(each.question.document_id) for each in usable])
    levels = np.array([max(search * one + read * other for one, other in each.levels) for each in usable])
    threshold = float(np.quantile(levels[truth], ANSWERABLE_REFUSED))
    near, off = (levels[chosen] < threshold for chosen in (on_topic & ~truth, ~on_topic))
    bias = level_of(ANSWERABLE) - threshold
    print(f"({bias:.3f}, {search}, {read}): unanswerable refused {near.mean():.1%}, off-topic refused {off.mean():.1%}")
    return bias


def fit_questions(reader: OnnxReader) -> None:
    """Print the constants for questions, and how the weight of the reader's choice changes the first sentence."""
    asked = {book: ask(book, reader) for book in written.DEVELOPMENT}
    development = [each for book in written.DEVELOPMENT for each in asked[book]]
    for search in (0.0, 0.1, 0.2, 0.3):
        fit_bias(development, search, RELEVANCE[2])
    answerable = [each for each in development if each.question.evidence]
    for weight in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        extractive.READ_WEIGHT = weight
        share = sum(each.first_is_evidence() for each in answerable) / len(answerable)
        print(f"READ_WEIGHT {weight}: first sentence is the evidence {share:.1%}")


def main() -> None:
    reader = OnnxReader()
    if "questions" not in sys.argv[1:]:
        fit_verdict(Verifier(ColbertEncoder(), reader))
    fit_questions(reader)


if __name__ == "__main__":
    main()
