"""Ingesting again: what was added, changed, moved and removed, what is embedded, and a dry run of all that."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import run
from data_dirs import contents_of
from glossator.core.types import ChangeKind, DocumentChange, DocumentCounts, EmbeddingCounts
from glossator.facade import Book

pytestmark = pytest.mark.slow

STARTER = "What does a sourdough starter hold?"


@pytest.fixture
def book(data: Path, small_book: Path) -> Iterator[Book]:
    """Two pages with three chunks."""
    with glossator.open(data) as opened:
        opened.ingest(small_book)
        yield opened


def test_a_renamed_page_has_moved_and_keeps_its_embeddings(book: Book, small_book: Path) -> None:
    (small_book / "tides.md").rename(small_book / "ebb.md")
    report = book.ingest(small_book)
    assert report.documents == DocumentCounts(moved=1, unchanged=1)
    assert report.changes == (DocumentChange(ChangeKind.MOVED, "ebb.md", "tides.md"),)
    assert report.embeddings == EmbeddingCounts(made=0, reused=3)
    assert {citation.document_id for citation in book.ask("What causes tides?").citations} == {"ebb.md"}


def test_a_book_at_another_address_has_moved(book: Book, small_book: Path) -> None:
    report = book.ingest(small_book, base_url="https://docs.example.org/")
    assert (report.documents, report.embeddings.made) == (DocumentCounts(moved=2), 0)


def test_pages_of_the_same_text_move_one_by_one(book: Book, small_book: Path) -> None:
    text = (small_book / "bread.md").read_text("utf-8")
    (small_book / "bread.md").unlink()
    for name in ("first.md", "second.md"):
        (small_book / name).write_text(text, "utf-8")
    assert book.ingest(small_book).documents == DocumentCounts(added=1, moved=1, unchanged=1)


def test_a_page_that_moved_and_changed_is_another_page(book: Book, small_book: Path) -> None:
    text = (small_book / "bread.md").read_text("utf-8")
    (small_book / "bread.md").unlink()
    (small_book / "loaf.md").write_text(text.replace("every day", "twice a day"), "utf-8")
    assert book.ingest(small_book).documents == DocumentCounts(added=1, removed=1, unchanged=1)


def test_a_removed_page_stops_answering(book: Book, small_book: Path) -> None:
    assert not book.ask(STARTER).abstained
    (small_book / "bread.md").unlink()
    assert book.ingest(small_book).documents == DocumentCounts(removed=1, unchanged=1)
    assert book.ask(STARTER).abstained


def test_a_new_title_of_a_page_embeds_that_page_only_and_one_of_the_book_nothing(book: Book, small_book: Path) -> None:
    assert book.ingest(small_book, name="Another name").embeddings.made == 0
    text = (small_book / "tides.md").read_text("utf-8")
    (small_book / "tides.md").write_text(text.replace("# Tides\n", "# Tides and their causes\n", 1), "utf-8")
    report = book.ingest(small_book)
    assert (report.documents.changed, report.embeddings) == (1, EmbeddingCounts(made=2, reused=1))


def test_a_new_heading_embeds_the_text_below_it_only(book: Book, small_book: Path) -> None:
    text = (small_book / "tides.md").read_text("utf-8")
    (small_book / "tides.md").write_text(text.replace("## Spring tides", "## High tides"), "utf-8")
    assert book.ingest(small_book).embeddings == EmbeddingCounts(made=1, reused=2)


def test_without_sources_those_of_the_index_are_read_again(book: Book, small_book: Path) -> None:
    (small_book / "new.md").write_text("# New\n\nA page about kites.\n", "utf-8")
    report = book.ingest()
    assert (report.documents, [source.path for source in report.sources]) == (
        DocumentCounts(added=1, unchanged=2),
        [str(small_book)],
    )


def test_ingest_without_sources_into_an_empty_index_is_an_error(data: Path) -> None:
    assert run("ingest", "--data-dir", data).failed_with(2, "No source was given", "folder")


def test_stages_are_timed(book: Book, small_book: Path) -> None:
    (small_book / "new.md").write_text("# New\n\nA page about kites.\n", "utf-8")
    report = book.ingest(small_book)
    times = (report.stages.read, report.stages.chunk, report.stages.embed, report.stages.write)
    assert all(seconds > 0 for seconds in times)
    assert sum(times) <= report.seconds + 0.01


def test_a_dry_run_tells_what_would_change_and_writes_nothing(book: Book, data: Path, small_book: Path) -> None:
    (small_book / "bread.md").rename(small_book / "loaf.md")
    (small_book / "tides.md").unlink()
    (small_book / "kites.md").write_text("# Kites\n\nA kite needs wind and a line.\n", "utf-8")
    before = contents_of(data)
    plan = json.loads(run("ingest", small_book, "--dry-run", "--json", "--data-dir", data).out)
    shown = run("ingest", small_book, "--dry-run", "--data-dir", data).out
    assert contents_of(data) == before
    assert (plan["dry_run"], plan["generation"], plan["chunks"]) == (True, 1, 2)
    assert plan["embeddings"] == {"made": 1, "reused": 1}
    assert {(c["kind"], c["document_id"], c["previous_id"]) for c in plan["changes"]} == {
        ("added", "kites.md", ""),
        ("moved", "loaf.md", "bread.md"),
        ("removed", "tides.md", ""),
    }
    assert "nothing is written" in shown
    assert "loaf.md (before: bread.md)" in shown
    report = book.ingest(small_book)
    assert (report.documents, report.embeddings) == (
        DocumentCounts(added=1, moved=1, removed=1),
        EmbeddingCounts(made=1, reused=1),
    )


def test_a_dry_run_creates_no_data_directory(data: Path, small_book: Path) -> None:
    plan = json.loads(run("ingest", small_book, "--dry-run", "--json", "--data-dir", data).out)
    assert (plan["documents"]["added"], plan["embeddings"]["made"], plan["generation"]) == (2, 3, 0)
    assert not os.path.lexists(data)
