"""`glossator index copy`: the same book in another index, complete and compared before it is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glossator
from commands import run
from glossator.core.errors import StorageError
from glossator.core.ports import Generation, GenerationStore
from glossator.core.types import Embedding
from glossator.facade import Book
from glossator.pipeline import copying
from glossator.store.index.generations import Generations
from index_stores import FINGERPRINT, ingest, opened_kind
from postgres import Postgres, running_postgres
from qdrant_stand_in import StandIn, running_stand_in

QUESTION = "What causes tides?"


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with running_postgres(durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with running_stand_in() as running:
        yield running


@pytest.mark.slow
def test_the_same_answers_come_from_every_copy(
    database: Postgres, stand_in: StandIn, small_book: Path, fast_tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fast_tmp_path / "data"
    with glossator.open(data) as book:
        book.ingest(small_book, base_url="https://example.org/")
        expected = answers(book)
    monkeypatch.setenv("DATABASE_URL", database.url())
    for source, target in (("embedded", "postgres"), ("postgres", "qdrant"), ("qdrant", "embedded")):
        monkeypatch.setenv("QDRANT_URL", stand_in.url)
        result = run("index", "copy", "--from", source, "--to", target, "--data-dir", data, "--json")
        assert result.code == 0, result.err
        report = json.loads(result.out)
        assert (report["documents"], report["chunks"]) == (2, 3)
        monkeypatch.setenv("GLOSSATOR_INDEX", target)
        with glossator.open(data) as book:
            assert answers(book) == expected
            assert book.ingest(small_book).generation == report["generation"]
        finding = next(
            f for f in json.loads(run("doctor", "--data-dir", data, "--json").out) if f["topic"] == "storage"
        )
        place = "qdrant edge" if target == "embedded" else f"{target} at 127.0.0.1"
        assert finding["value"].lower().startswith(place)
        monkeypatch.delenv("GLOSSATOR_INDEX")


def answers(book: Book) -> list[object]:
    passages = [replace(passage, score=round(passage.score, 3)) for passage in book.search(QUESTION)]
    return [passages, book.ask(QUESTION).text, [document.text for document in book.documents()]]


def test_a_copy_to_the_same_place_is_refused(tmp_path: Path) -> None:
    assert run("index", "copy", "--to", "embedded", "--data-dir", tmp_path).failed_with(2, "--from")


def test_nothing_to_copy_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    result = run("index", "copy", "--to", "postgres", "--data-dir", tmp_path)
    assert result.failed_with(4, "glossator ingest FOLDER")


@pytest.fixture
def stores(fast_tmp_path: Path) -> Iterator[tuple[GenerationStore, GenerationStore]]:
    source = Generations(fast_tmp_path / "source")
    ingest(source, "one", pages=600)
    with opened_kind("postgres") as make_store:
        yield source, make_store("copy")


def test_an_interrupted_copy_continues(stores: tuple[GenerationStore, GenerationStore]) -> None:
    source, target = stores
    with pytest.raises(KeyboardInterrupt):
        copying._copy(source, target, stop_after(511))
    assert target.current() is None
    read: list[int] = []
    copying._copy(source, target, lambda _stage, done, _total: read.append(done))
    assert read == [512, 600]
    assert target.open(FINGERPRINT).index.count() == 600


def stop_after(end: int) -> Callable[[str, int, int], None]:
    def progress(_stage: str, done: int, _total: int) -> None:
        if done > end:
            raise KeyboardInterrupt

    return progress


def test_a_copy_that_differs_is_not_used(
    stores: tuple[GenerationStore, GenerationStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    compare = copying._compare

    def compare_changed(ours: Generation, copied: Generation) -> None:
        vectors = copied.index.embeddings
        monkeypatch.setattr(copied.index, "embeddings", lambda ids: [wrong(each) for each in vectors(ids)])
        compare(ours, copied)

    monkeypatch.setattr(copying, "_compare", compare_changed)
    with pytest.raises(StorageError, match="a vector"):
        copying._copy(source, target, lambda *_: None)
    assert target.current() is None


def wrong(embedding: Embedding) -> Embedding:
    return Embedding(embedding.vector + np.float32(0.01), embedding.sentences)
