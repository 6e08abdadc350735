"""Receipts: every answer can be checked again, and the book of another day may disagree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import quick_folder, run
from glossator.core.answers import Status
from glossator.core.errors import ReceiptNotFound
from glossator.core.receipts import SourceState
from glossator.facade import Book

PAGE = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range of all tides.
"""
QUESTION = "When do spring tides occur?"


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as place:
        (place / "book").mkdir()
        (place / "book" / "tides.md").write_text(PAGE, "utf-8")
        yield place


@pytest.fixture
def book(folder: Path) -> Iterator[Book]:
    with glossator.open(folder / "data") as opened:
        opened.ingest(folder / "book")
        yield opened


def rewrite(book: Book, folder: Path, old: str, new: str) -> None:
    page = folder / "book" / "tides.md"
    page.write_text(page.read_text("utf-8").replace(old, new), "utf-8")
    book.ingest(folder / "book")


def test_an_answer_carries_the_id_of_what_made_it(book: Book) -> None:
    answer = book.ask(QUESTION)
    receipt = book._run(book.engine.records.receipt(answer.receipt_id))
    manifest = book.engine.generation().manifest
    assert receipt.answer == answer
    assert receipt.question == QUESTION
    assert (receipt.generation, receipt.corpus_hash) == (manifest.generation, manifest.corpus_hash)
    assert receipt.passages[0].text_hash
    assert receipt.verifier == book.engine.verifier.version
    assert book.ask(QUESTION).receipt_id == answer.receipt_id


def test_an_abstention_has_a_receipt_too(book: Book) -> None:
    answer = book.ask("Who won the football match in Lisbon yesterday evening?")
    assert answer.abstained
    assert book._run(book.engine.records.receipt(answer.receipt_id)).answer.abstained


def test_a_replay_of_the_same_book_holds(book: Book) -> None:
    replay = book.replay(book.ask(QUESTION).receipt_id)
    assert replay.holds
    assert not replay.corpus_changed
    assert {sentence.source for sentence in replay.sentences} == {SourceState.UNCHANGED}


def test_words_that_moved_still_hold(book: Book, folder: Path) -> None:
    answer = book.ask(QUESTION)
    rewrite(book, folder, "# Tides\n", "# Tides\n\nThis page was checked by two people.\n")
    replay = book.replay(answer.receipt_id)
    assert replay.holds
    assert replay.corpus_changed
    assert SourceState.MOVED in {sentence.source for sentence in replay.sentences}


def test_words_that_changed_no_longer_hold(book: Book, folder: Path) -> None:
    answer = book.ask(QUESTION)
    rewrite(book, folder, "occur at new moon and at full moon", "do not occur at new moon or at full moon")
    replay = book.replay(answer.receipt_id)
    assert not replay.holds
    changed = next(s for s in replay.sentences if s.source is SourceState.CHANGED)
    assert changed.before is Status.SUPPORTED
    assert not changed.now.supported


def test_a_page_that_is_gone_supports_nothing(book: Book, folder: Path) -> None:
    answer = book.ask(QUESTION)
    (folder / "book" / "tides.md").unlink()
    (folder / "book" / "wind.md").write_text(
        "# Wind\n\nWind is moving air. It blows from high to low pressure.\n", "utf-8"
    )
    book.ingest(folder / "book")
    replay = book.replay(answer.receipt_id)
    assert not replay.holds
    assert {sentence.source for sentence in replay.sentences} == {SourceState.GONE}


def test_an_answer_from_a_selection_stands_on_the_selection(book: Book) -> None:
    answer = book.ask(
        "When do neap tides occur?", selected_text="Neap tides occur at the first and third quarter of the Moon."
    )
    replay = book.replay(answer.receipt_id)
    assert replay.holds
    assert {sentence.source for sentence in replay.sentences} == {SourceState.SELECTION}


@pytest.mark.parametrize("name", ["", "nothing", "../../etc/passwd", "' OR 1=1 --"])
def test_an_unknown_id_is_said_to_be_unknown(book: Book, name: str) -> None:
    with pytest.raises(ReceiptNotFound):
        book.replay(name)


def test_replay_on_the_command_line(book: Book, folder: Path) -> None:
    answer = book.ask(QUESTION)
    good = run("replay", answer.receipt_id, "--data-dir", folder / "data", "--json")
    assert (good.code, json.loads(good.out)["holds"]) == (0, True)
    rewrite(book, folder, "occur at new moon and at full moon", "never occur at new moon or at full moon")
    bad = run("replay", answer.receipt_id, "--data-dir", folder / "data")
    assert bad.code == 1
    assert "no longer holds" in bad.out
    assert run("replay", "unknown", "--data-dir", folder / "data").failed_with(2, "unknown")


def test_an_answer_is_given_even_where_no_receipt_can_be_kept(book: Book, folder: Path) -> None:
    (folder / "data" / "records.sqlite").mkdir()
    answer = book.ask(QUESTION)
    assert answer.sentences
    assert answer.receipt_id == ""
