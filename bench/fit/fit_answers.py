"""Fits which sentence leads a quoted answer, and which questions are answered at all.

The reader must not have been trained on the questions: those about the development books, whose evidence is known, and
those about two documentation books, of which the right section is known. Nothing is fitted to the sample book or to the
test books. Prints the weights of answer/extractive.py and the constants of pipeline/reading.py.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator.answer.extractive import SIGNALS, ScoredChunk, candidates
from glossator.core.question import Question
from glossator.core.thresholds import ANSWERABLE
from glossator.core.types import Chunk
from glossator.facade import Book
from glossator.pipeline.reading import RELEVANCE, joint_level, read_question, search_book
from glossator.read.reader import OnnxReader
from glossator.retrieve import isotonic, logit_of, weigh_words
from lib import claims as sets
from lib import written
from lib.common import CACHE, SETS, indexed, plain, questions, unpack

DOCUMENTATION = ("docusaurus", "rust")
ANSWERABLE_REFUSED = 0.12
"""Share of the answerable questions that may be refused, as the mean of both kinds of books."""
RIDGE, STEPS, RATE, MIN_SPREAD = 1.0, 200, 0.08, 1e-6
GRID = (0.0, 0.03, 0.065, 0.1, 0.13, 0.2, 0.3)


@dataclass(frozen=True)
class AskedQuestion:
    """A question: its book, its kind, the levels of its passages by search and reader, and the signals of sentences."""

    book: str
    kind: str
    levels: tuple[tuple[float, float], ...]
    read: NDArray[np.float64]
    unread: NDArray[np.float64]
    right: NDArray[np.bool_]
    """Which of the sentences answer it."""
    right_passages: tuple[bool, ...]
    """Which of the passages that were read are about it."""


@dataclass(frozen=True)
class Expected:
    """A question's text and kind, and what tells whether a passage, or a sentence of it, is the right one."""

    text: str
    kind: str
    is_about: Callable[[Chunk], bool] = lambda _chunk: False
    is_answer: Callable[[Chunk, str], bool] = lambda _chunk, _text: False


def ask(book: Book, name: str, reader: OnnxReader, expected: Expected) -> AskedQuestion:
    """Ask a question, and keep what the choices are made from."""
    text = expected.text
    generation = book.engine.generation()
    found = search_book(book.engine, generation, Question(text))
    chunks = [item.chunk for item in found.chunks]
    vectors = generation.index.sentence_vectors(chunks)
    assert found.query is not None
    reading = read_question(reader, text, chunks, [rows @ found.query.sentence for rows in vectors])
    material = [
        ScoredChunk(item.chunk, rows, item.passage.score) for item, rows in zip(found.chunks, vectors, strict=True)
    ]
    words = weigh_words(text, generation.documents).weights
    read, unread = (candidates(words, found.query.sentence, material, shares) for shares in (reading.sentences, {}))
    was_read = [item for item in found.chunks if item.chunk.chunk_id in reading.passages]
    levels = tuple((item.level, reading.passages[item.chunk.chunk_id]) for item in was_read)
    signals = (np.array([c.signals for c in each]) for each in (read, unread))
    right = np.array([expected.is_answer(each.quote.chunk, each.quote.text) for each in read], bool)
    about = tuple(expected.is_about(item.chunk) for item in was_read)
    return AskedQuestion(name, expected.kind, levels, *signals, right, about)


def about_book(name: str, reader: OnnxReader) -> list[AskedQuestion]:
    """The questions about a book of written passages, and questions about other things."""
    book, found = written.as_index(name)

    def expected(q: written.WrittenQuestion) -> Expected:
        def is_about(chunk: Chunk) -> bool:
            return bool(q.evidence) and chunk.document_id == q.document_id

        def is_answer(chunk: Chunk, text: str) -> bool:
            return is_about(chunk) and written.is_evidence(text, q.evidence)

        return Expected(q.text, "answerable" if q.evidence else "near", is_about, is_answer)

    everything = [*map(expected, found), *(Expected(text, "off") for text in off_topic(name))]
    asked = [ask(book, name, reader, each) for each in everything]
    book.close()
    return asked


def off_topic(book: str) -> list[str]:
    """Questions about other books, and everyday requests: nothing in this book answers them."""
    others = [q["question"] for o in written.DEVELOPMENT if o != book for r in written.rows(o) for q in r["answerable"]]
    clinc = json.loads(next(unpack("clinc_dev.tgz").rglob("data_dev.json")).read_text("utf-8"))
    everyday = [row[0] for rows in clinc.values() for row in rows]
    random = Random(book)
    return [*random.sample(others, 60), *random.sample(everyday, 60)]


def about_documentation(name: str, reader: OnnxReader) -> list[AskedQuestion]:
    """The questions about a documentation book: right is every sentence of the right section."""
    book = indexed(name, sets.BOOKS[name]())

    def expected(row: dict) -> Expected:
        def is_about(chunk: Chunk) -> bool:
            above = {plain(heading) for heading in chunk.heading_path}
            return any(chunk.document_id.endswith(g["file"]) and plain(g["heading"]) in above for g in row["answers"])

        kind = "answerable" if row["answers"] else "outside"
        return Expected(row["question"], kind, is_about, lambda chunk, _text: is_about(chunk))

    asked = [ask(book, name, reader, expected(row)) for row in questions(SETS / f"{name}.jsonl")]
    book.close()
    return asked


def collect(reader: OnnxReader) -> list[AskedQuestion]:
    """All questions; kept for the next run with the same reader."""
    path = CACHE / f"answers-{reader.fingerprint.partition(':')[2]}.pickle"
    if not path.exists():
        asked = [each for name in written.DEVELOPMENT for each in about_book(name, reader)]
        asked += [each for name in DOCUMENTATION for each in about_documentation(name, reader)]
        path.write_bytes(pickle.dumps(asked))
    return pickle.loads(path.read_bytes())  # noqa: S301 - our own file


def fit_sentences(asked: Sequence[AskedQuestion], *, was_read: bool) -> NDArray[np.float64]:
    """Weights of a conditional logit: among the sentences of a question, those that answer it are the likely ones."""
    rows = [(each.read if was_read else each.unread, each.right) for each in asked if each.right.any()]
    spread = np.concatenate([signals for signals, _ in rows]).std(0)
    spread[spread < MIN_SPREAD] = np.inf  # a signal that never varies gets no weight
    weights, mean, square = np.zeros(len(SIGNALS)), np.zeros(len(SIGNALS)), np.zeros(len(SIGNALS))
    for _ in range(STEPS):
        slope = 2 * RIDGE * weights / len(rows)
        for signals, right in rows:
            scaled = signals / spread
            likely = np.exp(scaled @ weights - (scaled @ weights).max())
            likely /= likely.sum()
            slope += (likely - likely * right / (likely * right).sum()) @ scaled / len(rows)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (np.sqrt(square) + 1e-8)
    return weights / spread


def first_is_right(asked: Sequence[AskedQuestion], weights: NDArray[np.float64], *, was_read: bool) -> float:
    rows = [(each.read if was_read else each.unread, each.right) for each in asked if each.kind == "answerable"]
    return float(np.mean([bool(len(right)) and right[int(np.argmax(signals @ weights))] for signals, right in rows]))


def report_sentences(asked: Sequence[AskedQuestion]) -> None:
    books = sorted({each.book for each in asked})
    for was_read in (True, False):
        weights = fit_sentences(asked, was_read=was_read)
        shares = {}
        for book in books:
            others = fit_sentences([each for each in asked if each.book != book], was_read=was_read)
            shares[book] = first_is_right([each for each in asked if each.book == book], others, was_read=was_read)
        print("WEIGHTS" if was_read else "WEIGHTS_UNREAD", tuple(round(float(w), 2) for w in weights))
        print("  first is right, book held out:", ", ".join(f"{name} {value:.1%}" for name, value in shares.items()))


def report_relevance(asked: Sequence[AskedQuestion]) -> None:
    """For each weight of the search, the bias that refuses as many answerable questions as it may; and the shares."""
    usable = [each for each in asked if each.levels]
    kind = np.array([each.kind for each in usable])
    is_documentation = np.array([each.book not in written.DEVELOPMENT for each in usable])
    for search in GRID:
        weights = (0.0, search, RELEVANCE[2])
        level = np.array([isotonic([joint_level(*each, weights) for each in one.levels])[0] for one in usable])
        answerable = kind == "answerable"
        threshold = _threshold(level[answerable & ~is_documentation], level[answerable & is_documentation])
        refused = {k: float((level[kind == k] < threshold).mean()) for k in ("near", "off", "outside")}
        both = [
            float((level[answerable & chosen] < threshold).mean()) for chosen in (~is_documentation, is_documentation)
        ]
        print(
            f"({logit_of(ANSWERABLE) - threshold:.2f}, {search}, {RELEVANCE[2]}): mean refused",
            f"{np.mean(list(refused.values())):.1%};",
            ", ".join(f"{name} {value:.1%}" for name, value in refused.items()),
            f"; answerable refused: books {both[0]:.1%}, documentation {both[1]:.1%}",
        )


def report_ranking(asked: Sequence[AskedQuestion]) -> None:
    """How often the first passage is a right one if the reader counts in the order, by the weight of its level."""
    answerable = [each for each in asked if each.kind == "answerable" and each.levels]
    for weight in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
        shares = {}
        for title, chosen in (("books", written.DEVELOPMENT), ("documentation", DOCUMENTATION)):
            found = []
            for each in answerable:
                if each.book in chosen:
                    scores = [-0.5 * rank + weight * read for rank, (_, read) in enumerate(each.levels)]
                    found.append(each.right_passages[int(np.argmax(scores))])
            shares[title] = float(np.mean(found))
        print(f"weight {weight}: right passage first:", ", ".join(f"{t} {v:.1%}" for t, v in shares.items()))


def _threshold(books: NDArray[np.float64], documentation: NDArray[np.float64]) -> float:
    """The level that refuses a mean share of `ANSWERABLE_REFUSED` of both."""
    values = np.sort(np.concatenate([books, documentation]))
    shares = [((books < v).mean() + (documentation < v).mean()) / 2 for v in values]
    return float(values[min(int(np.searchsorted(shares, ANSWERABLE_REFUSED)), len(values) - 1)])


def main() -> None:
    asked = collect(OnnxReader())
    report_sentences(asked)
    report_relevance(asked)
    report_ranking(asked)


if __name__ == "__main__":
    main()
