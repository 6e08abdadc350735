"""Commands about one of several books, in the data directory and on shared servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glossator
from commands import run
from glossator.core.errors import SessionNotFound, SettingsError
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
