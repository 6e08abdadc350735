"""Generations: built beside the current one, switched atomically, repaired by ingesting again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import glossator
from commands import quick_folder
from glossator import pipeline
from glossator.core.errors import IndexCorrupted, IndexMismatch, IndexNotFound, IngestRunning, SourceError, StorageError
from glossator.core.question import Question
from glossator.core.types import DocumentCounts, EmbeddingCounts
from glossator.embed.cache import CACHED_GENERATIONS
from glossator.facade import Book
from glossator.pipeline.wiring import built_in_model
from glossator.store.index.generations import Generations

pytestmark = pytest.mark.slow

MOON = "What causes tides?"


@pytest.fixture
def data() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "data"


@pytest.fixture
def book(data: Path) -> Iterator[Book]:
    with glossator.open(data) as opened:
        yield opened


def generations(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "generations").iterdir())


def titles(book: Book) -> list[str]:
    return [document.title for document in book.documents()]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_unchanged_book_is_not_embedded_again(book: Book, small_book: Path) -> None:
    first = book.ingest(small_book)
    assert (first.generation, first.documents, first.chunks) == (1, DocumentCounts(added=2), 3)
    assert first.embeddings == EmbeddingCounts(made=3)
    again = book.ingest(small_book)
    assert (again.generation, again.documents) == (1, DocumentCounts(unchanged=2))
    assert again.embeddings == EmbeddingCounts(reused=3)


def test_edited_paragraph_costs_one_embedding(book: Book, small_book: Path) -> None:
    book.ingest(small_book)
    edit(small_book / "tides.md", "at full moon", "at every full moon")
    report = book.ingest(small_book)
    assert (report.generation, report.documents) == (2, DocumentCounts(changed=1, unchanged=1))
    assert report.embeddings == EmbeddingCounts(made=1, reused=2)
    assert "every full moon" in book.search("spring tides", 1)[0].text


def test_changed_base_url_costs_no_embedding(book: Book, small_book: Path) -> None:
    book.ingest(small_book)
    report = book.ingest(small_book, base_url="https://example.org/book")
    assert (report.generation, report.embeddings) == (2, EmbeddingCounts(reused=3))
    assert book.search(MOON, 1)[0].url == "https://example.org/book/tides"


def test_removed_file_disappears(book: Book, small_book: Path) -> None:
    book.ingest(small_book)
    (small_book / "bread.md").unlink()
    assert book.ingest(small_book).documents == DocumentCounts(removed=1, unchanged=1)
    assert titles(book) == ["Tides"]
    assert all(passage.title == "Tides" for passage in book.search("How is a sourdough starter fed?"))


def test_sources_accumulate_unless_only_is_given(book: Book, small_book: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Kites\n\nA kite flies because the wind pushes against its sail.\n", "utf-8")
    book.ingest(small_book)
    report = book.ingest(other)
    assert (report.documents, report.chunks) == (DocumentCounts(added=1, unchanged=2), 4)
    assert titles(book) == ["Bread", "Tides", "Kites"]
    assert book.search("Why does a kite fly?", 1)[0].title == "Kites"
    report = book.ingest(other, only=True)
    assert report.documents == DocumentCounts(removed=2, unchanged=1)
    assert report.embeddings == EmbeddingCounts(reused=1)
    assert titles(book) == ["Kites"]


def test_files_with_the_same_name_are_kept_apart(book: Book, small_book: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "tides.md").write_text("# Tides of change\n\nA wholly different page.\n", "utf-8")
    book.ingest(small_book)
    book.ingest(second)
    assert [document.document_id for document in book.documents()] == ["bread.md", "tides.md", "second/tides.md"]
    assert book.ingest(small_book, second).generation == 2
    edit(second / "tides.md", "different", "other")
    book.ingest(second)
    texts = {document.document_id: document.text for document in book.documents()}
    assert "wholly other" in texts["second/tides.md"]
    assert "gravity of the Moon" in texts["tides.md"]


def test_only_the_current_and_the_previous_generation_are_kept(book: Book, data: Path, small_book: Path) -> None:
    for range_ in ("large", "larger", "largest of all", "vast"):
        (small_book / "tides.md").write_text(f"# Tides\n\nThe range is {range_}.\n", "utf-8")
        book.ingest(small_book)
    assert generations(data) == ["000003", "000004"]
    assert (data / "CURRENT").read_text() == "4\n3\n"


def test_leftovers_of_a_killed_ingest_are_removed(book: Book, data: Path, small_book: Path) -> None:
    book.ingest(small_book)
    for leftover in ("000002", ".building-2"):
        (data / "generations" / leftover).mkdir()
    edit(small_book / "tides.md", "46", "44")
    assert book.ingest(small_book).generation == 3
    assert generations(data) == ["000001", "000003"]


def test_open_book_sees_what_another_process_ingests(book: Book, data: Path, small_book: Path) -> None:
    book.ingest(small_book)
    assert "46 percent" in book.ask(MOON).text
    edit(small_book / "tides.md", "46", "44")
    with glossator.open(data) as other:
        other.ingest(small_book)
    assert "44 percent" in book.ask(MOON).text


def test_readers_never_see_a_partial_index(book: Book, data: Path, small_book: Path) -> None:
    book.ingest(small_book)
    done = Event()

    def read() -> set[str]:
        seen = set()
        while not done.is_set():
            passages = book.search(MOON, 3)
            assert len(passages) == 3
            for passage in passages:
                document = book.document(passage.document_id)
                assert document is not None
            seen.add(passages[0].text)
        return seen

    with ThreadPoolExecutor(4) as pool, glossator.open(data) as writer:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            for percent in range(46, 54):
                edit(small_book / "tides.md", f"{percent} percent", f"{percent + 1} percent")
                writer.ingest(small_book)
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    assert "54 percent" in book.search(MOON, 1)[0].text


def test_reader_keeps_its_generation_when_others_are_published(book: Book, small_book: Path) -> None:
    book.ingest(small_book)
    held = book.engine.generation()
    for percent in (46, 47, 48):
        edit(small_book / "tides.md", f"{percent} percent", f"{percent + 1} percent")
        book.ingest(small_book)
        assert f"{percent + 1} percent" in book.search(MOON, 1)[0].text
    assert held.index.count() == 3
    assert "46 percent" in held.page_text("tides.md")


async def test_answer_uses_the_generation_it_was_searched_in(book: Book, small_book: Path) -> None:
    (small_book / "tides.md").write_text("# Tides\n\nThe Moon causes tides on Earth.\n", "utf-8")
    await pipeline.ingest(book.engine, [str(small_book)])
    longer = " ".join(f"Filler sentence number {n} says nothing." for n in range(30))
    (small_book / "bread.md").write_text(f"# Bread\n\n{longer}\n", "utf-8")
    # One thread for both: the ingest runs between the question's search and its answer.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    before = await pipeline.ask(book.engine, Question(MOON))
    during, _ = await asyncio.gather(
        pipeline.ask(book.engine, Question(MOON)), pipeline.ingest(book.engine, [str(small_book)], only=True)
    )
    assert during == before


def test_index_of_another_model_is_rejected_until_ingested_again(
    book: Book, data: Path, small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.ingest(small_book)
    (tmp_path / "other-model").symlink_to(built_in_model())
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(tmp_path / "other-model"))
    with glossator.open(data) as other:
        with pytest.raises(IndexMismatch, match=r"local:other-model:.* Run `glossator ingest` again"):
            other.ask(MOON)
        assert other.ingest(small_book).embeddings == EmbeddingCounts(made=3)
        assert "Moon" in other.ask(MOON).text


def test_index_of_another_format_is_rejected_until_ingested_again(book: Book, data: Path, small_book: Path) -> None:
    book.ingest(small_book)
    edit(data / "generations" / "000001" / "manifest.json", '"format": ', '"format": 99')
    with glossator.open(data) as other:
        with pytest.raises(IndexMismatch, match="glossator ingest"):
            other.ask(MOON)
        assert other.ingest(small_book).generation == 2
        assert "Moon" in other.ask(MOON).text


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "CURRENT": lambda data: (data / "CURRENT").write_text("x"),
    "manifest.json": lambda data: truncate(data / "generations/000001/manifest.json"),
    "documents.sqlite": lambda data: truncate(data / "generations/000001/documents.sqlite"),
    "no documents": lambda data: (data / "generations/000001/documents.sqlite").unlink(),
    "rows.npy": lambda data: (data / "generations/000001/rows.npy").unlink(),
    "sentences.f16": lambda data: truncate(data / "generations/000001/sentences.f16"),
    "segments": lambda data: (data / "generations/000001/shard/segments").rename(data / "gone"),
    "generation": lambda data: (data / "generations/000001").rename(data / "gone"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_corrupted_index_is_reported_and_repaired_by_ingest(
    damage: str, book: Book, data: Path, small_book: Path
) -> None:
    book.ingest(small_book)
    book.close()
    DAMAGE[damage](data)
    with glossator.open(data) as other:
        with pytest.raises(IndexCorrupted, match="glossator ingest"):
            other.ask(MOON)
        assert other.ingest(small_book).embeddings == EmbeddingCounts(reused=3)
        assert "Moon" in other.ask(MOON).text


def test_lost_documents_of_another_source_are_reported(
    book: Book, data: Path, small_book: Path, tmp_path: Path
) -> None:
    book.ingest(small_book)
    book.close()
    DAMAGE["documents.sqlite"](data)
    other = tmp_path / "other.md"
    other.write_text("# Kites\n\nA kite flies because the wind pushes against its sail.\n", "utf-8")
    with pytest.raises(IndexCorrupted, match="--only"):
        book.ingest(other)
    assert book.ingest(other, small_book, only=True).chunks == 4


def test_deleted_cache_only_costs_embedding_again(book: Book, data: Path, small_book: Path) -> None:
    book.ingest(small_book)
    for file in (data / "cache").iterdir():
        file.unlink()
    edit(small_book / "tides.md", "46", "44")
    assert book.ingest(small_book).embeddings == EmbeddingCounts(made=3)


def test_corrupted_cache_is_named_in_the_error(book: Book, data: Path, small_book: Path) -> None:
    (data / "cache").mkdir(parents=True)
    (data / "cache" / "embeddings.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(StorageError, match=r"delete .*embeddings\.sqlite"):
        book.ingest(small_book)


def test_cache_evicts_what_no_recent_generation_used(book: Book, tmp_path: Path) -> None:
    page = tmp_path / "page.md"

    def made(word: str) -> int:
        page.write_text(f"# Page\n\nThe word of the day is {word}.\n", "utf-8")
        return book.ingest(page).embeddings.made

    words = [f"word{n}" for n in range(CACHED_GENERATIONS + 2)]
    assert [made(word) for word in words] == [1] * len(words)
    assert made(words[1]) == 0
    assert made(words[0]) == 1


def test_concurrent_ingest_is_rejected(book: Book, data: Path, small_book: Path) -> None:
    with Generations(data).ingest_lock(), pytest.raises(IngestRunning, match="Wait"):
        book.ingest(small_book)
    assert book.ingest(small_book).generation == 1


def test_failed_ingest_leaves_the_index_unchanged(book: Book, small_book: Path) -> None:
    book.ingest(small_book)
    for page in small_book.iterdir():
        page.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SourceError):
        book.ingest(small_book)
    assert "Moon" in book.ask(MOON).text


def test_missing_index_names_the_ingest_command(book: Book) -> None:
    with pytest.raises(IndexNotFound, match="glossator ingest FOLDER"):
        book.search(MOON)


@pytest.mark.parametrize("name", ["50% done?", "book #1", "کتاب", "a b&c=d;e", "quote'\"s"])
def test_data_directory_may_have_any_name(name: str, small_book: Path, data: Path) -> None:
    with glossator.open(data / name) as book:
        book.ingest(small_book)
        assert "Moon" in book.ask(MOON).text
