"""Fits the relevance model for searches by keywords alone, `retrieve.KEYWORD_MODEL`, and prints it.

The questions, their weights and the operating point are those of calibrate.py; the features are those that need no
vector, so that the books are indexed with vectors that mean nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fit import calibrate
from glossator import retrieve
from glossator.core.ports import Calibration, Progress
from glossator.core.settings import load_settings
from glossator.core.types import Chunk, Embedding, Filters, QueryEmbedding
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from lib.common import CACHE, unpack


class NoEmbedder:
    """Gives every text the same vector."""

    dimension, fingerprint, languages = 2, "none", ()
    calibration = Calibration(0.0, 0.0, 1.0, (), ())

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 for text in texts]

    def embed_chunks(self, chunks: Sequence[Chunk], _progress: Progress) -> list[Embedding]:
        row = np.array([1.0, 0.0], "float32")
        return [Embedding(row, np.tile(row, (len(c.sentences), 1)).astype("float16")) for c in chunks]

    def embed_query(self, _question: str, _timeout_seconds: float | None = None) -> QueryEmbedding:
        raise NotImplementedError


def indexed(name: str, source: Path) -> Book:
    """A book that can be searched by keywords only."""
    engine = wire(load_settings(data_dir=CACHE / "keywords" / name, verify_models=False))
    engine.embedder = NoEmbedder()
    book = Book(engine)
    book.ingest(source, base_url=f"https://{name}.example/", only=True)
    return book


def passage_features(book: Book, question: str, min_words: int) -> list[tuple[float, ...]]:
    """The features of each of the best passages that need no vector."""
    generation = book.engine.generation()
    words = retrieve.weigh_words(question, generation.documents)
    hits = generation.index.search(None, question, retrieve.MIN_CANDIDATES, Filters())
    ranked = retrieve.rank_by_keywords(hits)[: retrieve.RELEVANCE_PASSAGES]
    chunks = generation.index.chunks([r.id for r in ranked])
    rows = [retrieve.features(chunk, 0.0, 0.0, words, min_words)[retrieve.VECTOR_FEATURES :] for chunk in chunks]
    return rows or [(0.0,) * (len(retrieve.FEATURES) - retrieve.VECTOR_FEATURES)]


def fit(found: list[calibrate.Example]) -> tuple[float, np.ndarray]:
    """The regression as it is: words alone tell too little for the scores that vectors give."""
    bias, slope = calibrate.regression(found, calibrate.ODDS["book"])
    return bias + calibrate.ABSTAIN_LOGIT, slope


def main() -> None:
    calibrate.passage_features = passage_features
    calibrate.indexed = indexed
    books = {name: unpack(archive) / below for name, (archive, below) in calibrate.BOOKS.items()}
    data = {name: calibrate.examples(indexed(name, folder), name) for name, folder in books.items()}
    for name, found in data.items():
        others = [e for n, rows in data.items() if n != name for e in rows]
        calibrate.report(name, calibrate.by_kind(found, *fit(others)))
    bias, slope = fit([e for rows in data.values() for e in rows])
    weights = [round(float(weight), 4) for weight in (bias, *slope)]
    print("KEYWORD_MODEL =", tuple(weights))
    calibrate.validate(weights)


if __name__ == "__main__":
    main()
