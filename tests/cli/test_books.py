"""Commands about one of several books, in the data directory and on shared servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glossator
from commands import run
from glossator.core.errors import IngestRunning, SessionNotFound, SettingsError
from glossator.core.files import file_lock
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import make_generations, wire
from postgres import Postgres
from qdrant_stand_in import running_stand_in

QUESTION = "What is the lamp fed with?"
OILS = {"": "whale oil", "north": "rapeseed oil", "south": "olive oil"}


def ingest_books(folder: Path, data: Path) -> None:
    for name, oil in OILS.items():
        (source := folder / f"{name}-source").mkdir()
        (source / "lamp.md").write_text(f"# Lamp\n\nThe lamp is fed with {oil}.\n", "utf-8")
        with glossator.open(data, book=name) as book:
            book.ingest(source)


def test_commands_are_about_the_book_they_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ingest_books(tmp_path, data)
    for name, oil in OILS.items():
        chosen = ["--data-dir", data, "--json", *(["--book", name] if name else [])]
        found = json.loads(run("ask", QUESTION, *chosen).out)
        assert oil in found["text"]
        (source,) = json.loads(run("sources", "list", *chosen).out)
        assert source["path"].endswith(f"/{name}-source")
        assert run("replay", found["receipt_id"], *chosen).code == 0


@pytest.mark.parametrize("name", ["..", "a/b", "A", "ä", "a_b", "a" * 33, "-a", "a\n", " "])
def test_name_that_no_book_can_have_is_refused(name: str, tmp_path: Path) -> None:
    for command in (["ingest", tmp_path], ["ask", "x"], ["sources", "list"], ["serve"], ["mcp"]):
        result = run(*command, "--data-dir", tmp_path / "data", "--book", name)
        assert result.failed_with(2, "is not the name of a book", "hyphens")
    assert list(tmp_path.iterdir()) == []


def test_books_are_listed_with_their_sizes_and_languages(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run("books", "list", "--data-dir", data).out == "Nothing has been ingested.\n"
    ingest_books(tmp_path, data)
    (tmp_path / "german").mkdir()
    (tmp_path / "german" / "lampe.md").write_text(
        "# Lampe\n\nDie Lampe des Turms wird mit dem Öl der Oliven gefüllt, und sie brennt die ganze Nacht.\n", "utf-8"
    )
    with glossator.open(data, book="south") as south:
        south.ingest(tmp_path / "german")
    listed = json.loads(run("books", "list", "--data-dir", data, "--json").out)
    assert [(book["name"], book["documents"], book["languages"]) for book in listed] == [
        ("", 1, ["en"]),
        ("north", 1, ["en"]),
        ("south", 2, ["en", "de"]),
    ]
    shown = run("books", "list", "--data-dir", data).out
    assert "north  Lamp" in shown
    (data / "books" / "north" / "generations" / "000001" / "manifest.json").write_text("{", "utf-8")
    assert "is incomplete" in run("books", "list", "--data-dir", data).out


def test_deleted_book_leaves_nothing_and_the_others_stay(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ingest_books(tmp_path, data)
    run("ask", QUESTION, "--session", "s", "--book", "north", "--data-dir", data)
    assert run("books", "delete", "east", "--yes", "--data-dir", data).failed_with(2, "no book 'east'", "books list")
    assert run("books", "delete", "", "--yes", "--data-dir", data).failed_with(2, "unnamed book", "sources remove")
    for answer in (b"n\n", b""):
        refused = run("books", "delete", "north", "--data-dir", data, stdin=answer)
        assert (refused.code, refused.out) == (2, "")
        assert "Nothing was deleted" in refused.err
    assert (data / "books" / "north" / "records.sqlite").exists()
    assert run("books", "delete", "north", "--data-dir", data, stdin=b"y\n").out == "Book north deleted.\n"
    assert [path.name for path in (data / "books").iterdir()] == ["south"]
    for name in ("", "south"):
        with glossator.open(data, book=name) as book:
            assert OILS[name] in book.ask(QUESTION).text
    with glossator.open(data, book="north") as north:
        assert north.ingest(tmp_path / "south-source").generation == 1
        assert "olive oil" in north.ask(QUESTION).text


def test_book_is_not_deleted_while_it_is_ingested(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ingest_books(tmp_path, data)
    with file_lock(data / "books" / "north" / "ingest.lock", IngestRunning("busy")):
        assert run("books", "delete", "north", "--yes", "--data-dir", data).failed_with(5, "Another ingest")
    assert run("ask", QUESTION, "--book", "north", "--data-dir", data).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "qdrant"])
def test_books_on_one_shared_server_are_apart(
    kind: str, server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_stand_in() as qdrant:
        monkeypatch.setenv("GLOSSATOR_INDEX", kind)
        monkeypatch.setenv("DATABASE_URL", server.url())
        monkeypatch.setenv("QDRANT_URL", qdrant.url)
        monkeypatch.setenv("GLOSSATOR_INDEX_NAME", f"{kind}_books")
        ingest_books(tmp_path, tmp_path / "data")
        beside = make_generations(load_settings(data_dir=tmp_path / "elsewhere"))
        assert beside.books() == ["north", "south"]
        beside.close()
        for name, oil in OILS.items():
            with glossator.open(tmp_path / "elsewhere", book=name) as book:
                assert oil in book.ask(QUESTION, session_id="shared").text
                assert len(book.history("shared")) == 1
        with glossator.open(tmp_path / "elsewhere", book="north") as north:
            north.delete("shared")
            with pytest.raises(SessionNotFound):
                north.history("shared")
        with glossator.open(tmp_path / "elsewhere", book="south") as south:
            assert len(south.history("shared")) == 1
            south.delete("shared")
        with glossator.open(tmp_path / "elsewhere") as main:
            main.delete("shared")
        elsewhere = ["--data-dir", tmp_path / "elsewhere", "--json"]
        assert json.loads(run("books", "delete", "north", "--yes", *elsewhere).out) == {"deleted": "north"}
        assert [book["name"] for book in json.loads(run("books", "list", *elsewhere).out)] == ["", "south"]
        assert run("ask", QUESTION, "--book", "north", *elsewhere).failed_with(4, "Nothing has been ingested")
        assert run("ask", QUESTION, "--book", "south", *elsewhere).code == 0


def test_names_that_are_too_long_together_are_refused(tmp_path: Path) -> None:
    settings = load_settings(
        data_dir=tmp_path,
        index="postgres",
        database_url="postgresql://localhost/x",
        index_name="i" * 40,
        book="b" * 32,
    )
    with pytest.raises(SettingsError, match="GLOSSATOR_INDEX_NAME"):
        wire(settings)
