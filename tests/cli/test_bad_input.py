"""Invalid input: one line that names the remedy, a documented exit code, and an index that still answers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import glossator
from commands import quick_folder, run, run_in_subprocess
from glossator.cli import main as cli
from glossator.embed.local import built_in_model
from glossator.store.index.generations import Generations

MOON = "What causes tides?"
PAGE = "# Tides\n\nTides are caused mainly by the gravity of the Moon. The Sun helps a little.\n"


@pytest.fixture(scope="module")
def indexed() -> Iterator[Path]:
    """A data directory with a book; treat it as read-only."""
    with quick_folder() as folder:
        (folder / "tides.md").write_text(PAGE, "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "tides.md")
        yield folder / "data"


@pytest.fixture
def data(indexed: Path) -> Iterator[Path]:
    """The data directory; checks afterwards that it still answers from the same generation."""
    yield indexed
    result = run("ask", MOON, "--data-dir", indexed, "--json")
    assert "gravity of the Moon" in json.loads(result.out)["text"]
    assert (indexed / "CURRENT").read_text() == "1\n"


def missing(folder: Path) -> Path:
    return folder / "nowhere"


def empty(folder: Path) -> Path:
    return folder


def unsupported_formats(folder: Path) -> Path:
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    return folder


def binary(folder: Path) -> Path:
    (folder / "page.md").write_bytes(bytes(range(256)) * 40)
    return folder / "page.md"


def broken_utf_8(folder: Path) -> Path:
    (folder / "page.md").write_bytes(b"# Caf\xe9\n\nLatin-1 text.\n")
    return folder


def unclosed_front_matter(folder: Path) -> Path:
    (folder / "page.md").write_text("---\ntitle: Open\n\n# Heading\n\nText.\n")
    return folder


def huge(folder: Path) -> Path:
    (folder / "page.md").write_text("All work and no play makes a long page.\n" * 1_250_000)
    return folder


def blank(folder: Path) -> Path:
    (folder / "page.md").write_text(" \n\n")
    return folder


def symlink_loop(folder: Path) -> Path:
    (folder / "a.md").symlink_to(folder / "b.md")
    (folder / "b.md").symlink_to(folder / "a.md")
    return folder / "a.md"


def folder_loop(folder: Path) -> Path:
    (folder / "again").symlink_to(folder, target_is_directory=True)
    return folder


def name_with_a_line_end(folder: Path) -> Path:
    return folder / "no\nwhere\x1b[31m"


def very_long_name(folder: Path) -> Path:
    return folder / ("x" * 5000)


SOURCES: list[tuple[Callable[[Path], Path], str, str]] = [
    (missing, "does not exist", "Pass a folder or file"),
    (empty, "contains no readable files", ".md"),
    (unsupported_formats, "contains no readable files", ".md"),
    (binary, "binary file", ""),
    (broken_utf_8, "not UTF-8 text (byte 5)", "Save it as UTF-8"),
    (unclosed_front_matter, "front matter is not closed", "Add a line with ---"),
    (huge, "the file is larger than the limit of 10 MB", "GLOSSATOR_MAX_FILE_MB"),
    (blank, "no text", ""),
    (folder_loop, "contains no readable files", ".md"),
    (name_with_a_line_end, "no where [31m does not exist", "Pass a folder or file"),
    (very_long_name, "does not exist", "Pass a folder or file"),
]


@pytest.mark.parametrize(("make", "problem", "remedy"), SOURCES, ids=[make.__name__ for make, *_ in SOURCES])
def test_unreadable_source_fails_with_one_line(
    make: Callable[[Path], Path], problem: str, remedy: str, data: Path, tmp_path: Path
) -> None:
    result = run("ingest", make(tmp_path), "--data-dir", data)
    assert result.failed_with(3, problem, remedy), result


def test_symlink_loop_is_rejected_as_a_source(data: Path, tmp_path: Path) -> None:
    result = run("ingest", symlink_loop(tmp_path), "--data-dir", data)
    assert result.failed_with(3, "does not exist", "Pass a folder or file")


def test_url_of_an_unknown_scheme_is_rejected_as_a_source(data: Path) -> None:
    result = run("ingest", "ftp://example.org/book", "--data-dir", data)
    assert result.failed_with(3, "ftp://example.org/book cannot be read", "Use http or https for a site")


def test_unreadable_file_is_skipped(tmp_path: Path) -> None:
    for make in (binary, symlink_loop, folder_loop):
        make(tmp_path)
    (tmp_path / "good.md").write_text(PAGE, "utf-8")
    with quick_folder() as folder:
        result = run("ingest", tmp_path, "--data-dir", folder, "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert found["documents"]["added"] == 1
    assert [Path(skip["path"]).name for skip in found["skipped"]] == ["a.md", "again", "b.md", "page.md"]


def test_file_name_that_is_not_utf_8(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text(PAGE, "utf-8")
    with quick_folder() as folder:
        assert run("ingest", tmp_path, "--data-dir", folder).code in (0, 3)


def test_title_with_a_lone_surrogate(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text('---\ntitle: "\\ud800"\n---\n\nSome words on this page.\n', "utf-8")
    with quick_folder() as folder:
        assert run("ingest", tmp_path, "--data-dir", folder).code in (0, 3)


QUESTIONS = [
    (("",), "The question is empty", "Enter a question"),
    ((" \n",), "The question is empty", "Enter a question"),
    (("why " * 10_000,), "39,999 characters", "The limit is 32,000"),
    ((MOON, "--top-k", "0"), "--top-k", "glossator {command} --help"),
    ((MOON, "--top-k", "101"), "1<=x<=100", "glossator {command} --help"),
    ((MOON, "--top-k", "many"), "--top-k", "glossator {command} --help"),
    ((MOON, "--no-such-option"), "--no-such-option", "glossator {command} --help"),
    ((), "Missing argument", "glossator {command} --help"),
]


@pytest.mark.parametrize("command", ["ask", "search"])
@pytest.mark.parametrize(("arguments", "problem", "remedy"), QUESTIONS)
def test_invalid_question_fails_with_one_line(
    command: str, arguments: tuple[str, ...], problem: str, remedy: str, indexed: Path
) -> None:
    result = run(command, *arguments, "--data-dir", indexed)
    assert result.failed_with(2, problem, remedy.format(command=command)), result


@pytest.mark.slow
def test_question_that_is_not_utf_8_fails_with_one_line(indexed: Path) -> None:
    result = run_in_subprocess("ask", b"caf\xe9 tides?", "--data-dir", indexed)
    assert result.failed_with(2, "question"), result


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"\xff\xfe\x00binary", "is not UTF-8 text"),
        (b"", "The selection is empty"),
        (b" \n ", "The selection is empty"),
        (b"x" * 64_001, "64,001 characters"),
    ],
)
def test_invalid_selection_fails_with_one_line(
    content: bytes | None, problem: str, indexed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "selection.txt"
    if content is not None:
        file.write_bytes(content)
    result = run("ask", "Explain this", "--selection", file, "--data-dir", indexed)
    assert result.failed_with(2, problem), result
    if content is not None:
        result = run("ask", "Explain this", "--selection", "-", "--data-dir", indexed, stdin=content)
        assert result.failed_with(2, problem), result


def test_folder_is_rejected_as_a_selection(indexed: Path, tmp_path: Path) -> None:
    result = run("ask", "Explain this", "--selection", tmp_path, "--data-dir", indexed)
    assert result.failed_with(2, "Is a directory", "Use a text file")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GLOSSATOR_PORT", "abc"),
        ("GLOSSATOR_PORT", "70000"),
        ("GLOSSATOR_THREADS", "-1"),
        ("GLOSSATOR_MAX_FILE_MB", "0"),
        ("GLOSSATOR_MAX_FILE_MB", "nan"),
    ],
)
@pytest.mark.parametrize("command", [("ask", MOON), ("doctor",), ("serve",), ("ingest", ".")])
def test_error_names_the_invalid_setting(
    command: tuple[str, ...], name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    result = run(*command)
    assert result.failed_with(2, f"{name} cannot be '{value}'", "Correct or remove it"), result


@pytest.mark.parametrize("command", [("ask", MOON), ("serve",), ("ingest", ".")])
def test_error_names_the_unknown_embedder(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "gpt-9")
    assert run(*command).failed_with(2, "GLOSSATOR_EMBEDDER is 'gpt-9'", "Set it to `local` or to a folder")


def test_error_names_the_folder_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(tmp_path))
    assert run("ask", MOON).failed_with(6, "does not contain model.onnx and tokenizer.json", "a folder with both files")


@pytest.mark.parametrize("junk", ["model.onnx", "tokenizer.json"])
def test_invalid_model_file_fails_with_one_line(
    junk: str, small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(built_in_model(), tmp_path / "model"))
    (folder / junk).write_text("{}")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(folder))
    with quick_folder() as data:
        result = run("ingest", small_book, "--data-dir", data)
    assert result.failed_with(6, junk, "Replace it, or set GLOSSATOR_EMBEDDER"), result


def test_missing_index_fails_with_one_line(tmp_path: Path) -> None:
    for command in ("ask", "search"):
        result = run(command, MOON, "--data-dir", tmp_path)
        assert result.failed_with(4, "Nothing has been ingested", "Run `glossator ingest FOLDER` first")


def test_data_directory_that_is_a_file_fails_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "page.md").write_text(PAGE)
    result = run("ingest", tmp_path / "page.md", "--data-dir", tmp_path / "file")
    assert result.failed_with(5, "cannot be written", "Choose another --data-dir"), result
    assert run("ask", MOON, "--data-dir", tmp_path / "file").failed_with(4, "Not a directory"), result


def test_missing_source_leaves_no_data_directory(tmp_path: Path) -> None:
    result = run("ingest", tmp_path / "nowhere", "--data-dir", tmp_path / "data")
    assert result.failed_with(3, "does not exist", "Pass a folder or file that exists"), result
    assert not (tmp_path / "data").exists()


def test_concurrent_ingest_fails_with_one_line(data: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    with Generations(data).ingest_lock():
        result = run("ingest", tmp_path / "page.md", "--data-dir", data)
    assert result.failed_with(5, "Another ingest", "Wait until it has finished")


def test_every_exit_code_is_documented() -> None:
    assert cli.__doc__ is not None
    for code in (
        "0 success",
        "1 golden questions failed",
        "2 invalid usage",
        "3 a source",
        "4 the index",
        "5 the data",
        "6 the embedding",
        "7 conversations",
        "130",
    ):
        assert code in cli.__doc__
