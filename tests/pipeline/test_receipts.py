"""Receipts: every answer can be checked again, against a book that may have changed."""

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
from glossator.verification.judge import Verifier
from tides import OUT_OF_SCOPE, PAGE, SPRING_TIDES


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a book; its data directory is `data` beside it."""
    with quick_folder() as parent:
        (parent / "book").mkdir()
        (parent / "book" / "tides.md").write_text(PAGE, "utf-8")
        yield parent


@pytest.fixture
def book(folder: Path) -> Iterator[Book]:
    with glossator.open(folder / "data") as opened:
        opened.ingest(folder / "book")
        yield opened


def rewrite(book: Book, folder: Path, old: str, new: str) -> None:
    page = folder / "book" / "tides.md"
    page.write_text(page.read_text("utf-8").replace(old, new), "utf-8")
    book.ingest(folder / "book")


def test_answer_has_a_stored_receipt(book: Book) -> None:
    answer = book.ask(SPRING_TIDES)
    receipt = book._run(book.engine.records.receipt(answer.receipt_id))
    manifest = book.engine.generation().manifest
    assert receipt.answer == answer
    assert receipt.question == SPRING_TIDES
    assert (receipt.generation, receipt.corpus_hash) == (manifest.generation, manifest.corpus_hash)
    assert receipt.passages[0].text_hash
    assert receipt.verifier == book.engine.verifier.version
    assert book.ask(SPRING_TIDES).receipt_id == answer.receipt_id


def test_abstention_has_a_receipt(book: Book) -> None:
    answer = book.ask(OUT_OF_SCOPE)
    assert answer.abstained
    assert book._run(book.engine.records.receipt(answer.receipt_id)).answer.abstained


def test_replay_against_the_same_book_holds(book: Book) -> None:
    replay = book.replay(book.ask(SPRING_TIDES).receipt_id)
    assert replay.holds
    assert not replay.corpus_changed
    assert {sentence.source for sentence in replay.sentences} == {SourceState.UNCHANGED}


def test_moved_quote_still_holds(book: Book, folder: Path) -> None:
    answer = book.ask(SPRING_TIDES)
    rewrite(book, folder, "# Tides\n", "# Tides\n\nThis page was checked by two people.\n")
    replay = book.replay(answer.receipt_id)
    assert replay.holds
    assert replay.corpus_changed
    assert SourceState.MOVED in {sentence.source for sentence in replay.sentences}


def test_changed_quote_no_longer_holds(book: Book, folder: Path) -> None:
    answer = book.ask(SPRING_TIDES)
    rewrite(book, folder, "occur at new moon and at full moon", "do not occur at new moon or at full moon")
    replay = book.replay(answer.receipt_id)
    assert not replay.holds
    changed = next(s for s in replay.sentences if s.source is SourceState.CHANGED)
    assert changed.before is Status.SUPPORTED
    assert not changed.now.supported


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("new moon and at full moon.", "new moon and at half moon."),
        ("new moon and at full moon.", "new moon and at full moon, but not in winter."),
        ("Spring tides occur", "It is a myth that spring tides occur"),
        ("largest range of all tides", "largest range of all known tides"),
    ],
)
def test_quote_that_no_longer_stands_in_the_book_is_changed(book: Book, folder: Path, old: str, new: str) -> None:
    answer = book.ask(SPRING_TIDES)
    rewrite(book, folder, old, new)
    replay = book.replay(answer.receipt_id)
    assert not replay.holds
    assert SourceState.CHANGED in {sentence.source for sentence in replay.sentences}


@pytest.mark.slow
def test_moved_list_item_still_holds(book: Book, folder: Path) -> None:
    page = folder / "book" / "tides.md"
    page.write_text("# Kiln\n\nBefore use:\n\n- Preheat the kiln to 200 degrees\n- Open the vent\n", "utf-8")
    book.ingest(folder / "book")
    answer = book.ask("How do I preheat the kiln?")
    rewrite(book, folder, "Before use:", "Read this first.\n\nBefore use:")
    replay = book.replay(answer.receipt_id)
    assert replay.holds
    assert {sentence.source for sentence in replay.sentences} == {SourceState.MOVED}


@pytest.mark.slow
def test_changed_word_is_reported_whatever_the_score(book: Book, folder: Path) -> None:
    page = folder / "book" / "tides.md"
    page.write_text("# Router\n\nThe default password of the router is admin.\n", "utf-8")
    book.ingest(folder / "book")
    answer = book.ask("What is the default password of the router?")
    rewrite(book, folder, "admin", "guest")
    result = run("replay", answer.receipt_id, "--data-dir", folder / "data")
    assert result.code == 1
    assert "changed" in result.out
    assert "The default password of the router is guest." in result.out
    assert "no longer holds" in result.out


def test_replay_says_that_the_verifier_changed(book: Book, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = book.ask(SPRING_TIDES)
    monkeypatch.setattr(Verifier, "version", "another")
    assert "The verifier has changed since." in run("replay", answer.receipt_id, "--data-dir", folder / "data").out


def test_replay_of_an_abstention_has_nothing_to_check(book: Book, folder: Path) -> None:
    result = run("replay", book.ask(OUT_OF_SCOPE).receipt_id, "--data-dir", folder / "data")
    assert (result.code, "still holds" in result.out) == (0, False)
    assert "nothing to check" in result.out


def test_removed_page_supports_nothing(book: Book, folder: Path) -> None:
    answer = book.ask(SPRING_TIDES)
    (folder / "book" / "tides.md").unlink()
    (folder / "book" / "wind.md").write_text(
        "# Wind\n\nWind is moving air. It blows from high to low pressure.\n", "utf-8"
    )
    book.ingest(folder / "book")
    replay = book.replay(answer.receipt_id)
    assert not replay.holds
    assert {sentence.source for sentence in replay.sentences} == {SourceState.GONE}


def test_replay_of_a_selection_uses_the_selection(book: Book) -> None:
    answer = book.ask(
        "When do neap tides occur?", selected_text="Neap tides occur at the first and third quarter of the Moon."
    )
    replay = book.replay(answer.receipt_id)
    assert replay.holds
    assert {sentence.source for sentence in replay.sentences} == {SourceState.SELECTION}


@pytest.mark.parametrize("name", ["", "nothing", "../../etc/passwd", "' OR 1=1 --"])
def test_unknown_receipt_id(book: Book, name: str) -> None:
    with pytest.raises(ReceiptNotFound):
        book.replay(name)


def test_replay_command(book: Book, folder: Path) -> None:
    answer = book.ask(SPRING_TIDES)
    good = run("replay", answer.receipt_id, "--data-dir", folder / "data", "--json")
    assert (good.code, json.loads(good.out)["holds"]) == (0, True)
    rewrite(book, folder, "occur at new moon and at full moon", "never occur at new moon or at full moon")
    bad = run("replay", answer.receipt_id, "--data-dir", folder / "data")
    assert bad.code == 1
    assert "no longer holds" in bad.out
    assert run("replay", "unknown", "--data-dir", folder / "data").failed_with(2, "unknown")


def test_answer_without_a_database_has_no_receipt_id(book: Book, folder: Path) -> None:
    (folder / "data" / "records.sqlite").mkdir()
    answer = book.ask(SPRING_TIDES)
    assert answer.sentences
    assert answer.receipt_id == ""
