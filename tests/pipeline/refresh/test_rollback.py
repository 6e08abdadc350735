"""Rollback: the index before the last ingest serves again, with its own answers, at once and in every process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import run
from glossator.core.types import DocumentCounts
from glossator.facade import Book
from glossator.store.index.generations import Generations

pytestmark = pytest.mark.slow

MOON = "How much does the Sun contribute to tides?"


@pytest.fixture
def book(data: Path, small_book: Path) -> Iterator[Book]:
    """A book whose second generation has another number."""
    with glossator.open(data) as opened:
        opened.ingest(small_book)
        assert "46 percent" in opened.ask(MOON).text
        text = (small_book / "tides.md").read_text("utf-8")
        (small_book / "tides.md").write_text(text.replace("46", "44"), "utf-8")
        opened.ingest(small_book)
        yield opened


def test_the_command_says_which_generation_serves(book: Book, data: Path) -> None:
    assert "44 percent" in book.ask(MOON).text
    shown = run("rollback", "--data-dir", data)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Generation 1 is now active: 2 documents, 3 chunks")
    assert "46 percent" in book.ask(MOON).text, "an open book returns to it, and to its cached answers"
    again = json.loads(run("rollback", "--json", "--data-dir", data).out)
    assert (again["generation"], again["replaced"]) == (2, 1)
    assert "44 percent" in book.ask(MOON).text


def test_a_receipt_is_checked_against_the_current_generation(book: Book) -> None:
    receipt = book.ask(MOON).receipt_id
    assert book.replay(receipt).holds
    book.rollback()
    replayed = book.replay(receipt)
    assert (replayed.holds, replayed.corpus_changed, replayed.generation) == (False, True, (2, 1))
    book.rollback()
    assert book.replay(receipt).holds


def test_the_next_ingest_compares_with_the_current_generation(book: Book, data: Path, small_book: Path) -> None:
    book.rollback()
    report = book.ingest(small_book)
    assert (report.generation, report.documents) == (3, DocumentCounts(changed=1, unchanged=1))
    assert report.embeddings.made == 0
    assert sorted(path.name for path in (data / "generations").iterdir()) == ["000001", "000003"]
    assert book.rollback().generation == 1


def test_a_rollback_waits_for_no_running_ingest(book: Book, data: Path) -> None:
    with Generations(data).ingest_lock():
        assert run("rollback", "--data-dir", data).failed_with(5, "Another ingest", "Wait")
    assert "44 percent" in book.ask(MOON).text


def test_there_is_nothing_to_return_to_after_one_ingest(data: Path, small_book: Path) -> None:
    assert run("rollback", "--data-dir", data).failed_with(4, "no previous generation")
    run("ingest", small_book, "--data-dir", data)
    assert run("rollback", "--data-dir", data).failed_with(4, "no previous generation")


def test_a_damaged_generation_is_not_returned_to(book: Book, data: Path) -> None:
    for path in (data / "generations" / "000001").glob("rows.npy"):
        path.unlink()
    assert run("rollback", "--data-dir", data).failed_with(4, "incomplete")
    assert "44 percent" in book.ask(MOON).text


def test_a_removed_index_does_not_come_back(book: Book, small_book: Path) -> None:
    run("sources", "remove", small_book, "--data-dir", book.engine.settings.data_dir)
    (small_book / "tides.md").write_text("# Tides\n\nThe Sun contributes about 12 percent to tides.\n", "utf-8")
    assert book.ingest(small_book).generation == 3
    assert "12 percent" in book.ask(MOON).text
