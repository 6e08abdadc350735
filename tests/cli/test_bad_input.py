"""Bad input: one clear line that names the remedy, a documented exit code, and the index still answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import glossator
from commands import quick_folder, run, run_alone
from glossator.cli import main as cli
from glossator.core.errors import StorageProblem
from glossator.embed.local import built_in_model
from glossator.store.index.generations import Generations

MOON = "What causes tides?"
PAGE = "# Tides\n\nTides are caused mainly by the gravity of the Moon. The Sun helps a little.\n"
NOBODY = 65534


@pytest.fixture(scope="module")
def served() -> Iterator[Path]:
    """A data directory that holds a book; no bad input may change what it answers."""
    with quick_folder() as folder:
        (folder / "tides.md").write_text(PAGE, "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "tides.md")
        yield folder / "data"


@pytest.fixture
def data(served: Path) -> Iterator[Path]:
    """As above; afterwards it must answer as before, from the same generation."""
    yield served
    outcome = run("ask", MOON, "--data-dir", served, "--json")
    assert "gravity of the Moon" in json.loads(outcome.out)["text"]
    assert (served / "CURRENT").read_text() == "1\n"


def missing(folder: Path) -> Path:
    return folder / "nowhere"


def empty(folder: Path) -> Path:
    return folder


def unreadable_kinds(folder: Path) -> Path:
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


def links_in_a_loop(folder: Path) -> Path:
    (folder / "a.md").symlink_to(folder / "b.md")
    (folder / "b.md").symlink_to(folder / "a.md")
    return folder / "a.md"


def folders_in_a_loop(folder: Path) -> Path:
    (folder / "again").symlink_to(folder, target_is_directory=True)
    return folder


def a_name_of_two_lines(folder: Path) -> Path:
    return folder / "no\nwhere\x1b[31m"


def an_endless_name(folder: Path) -> Path:
    return folder / ("x" * 5000)


SOURCES: list[tuple[Callable[[Path], Path], str, str]] = [
    (missing, "does not exist", "Give a folder or file"),
    (empty, "holds nothing to read", ".md"),
    (unreadable_kinds, "holds nothing to read", ".md"),
    (binary, "binary file", ""),
    (broken_utf_8, "not UTF-8 text (byte 5)", "Save it as UTF-8"),
    (unclosed_front_matter, "front matter is not closed", "Add a line with ---"),
    (huge, "it has 50 MB, more than the limit of 10 MB", "GLOSSATOR_MAX_FILE_MB"),
    (blank, "no text", ""),
    (folders_in_a_loop, "holds nothing to read", ".md"),
    (a_name_of_two_lines, "no where [31m does not exist", "Give a folder or file"),
    (an_endless_name, "does not exist", "Give a folder or file"),
]


@pytest.mark.parametrize(("make", "problem", "remedy"), SOURCES, ids=[make.__name__ for make, *_ in SOURCES])
def test_a_source_that_cannot_be_read_is_one_line(
    make: Callable[[Path], Path], problem: str, remedy: str, data: Path, tmp_path: Path
) -> None:
    outcome = run("ingest", make(tmp_path), "--data-dir", data)
    assert outcome.failed_with(3, problem, remedy), outcome


def test_a_link_to_itself_is_no_source(data: Path, tmp_path: Path) -> None:
    outcome = run("ingest", links_in_a_loop(tmp_path), "--data-dir", data)
    assert outcome.failed_with(3, "does not exist", "Give a folder or file")


def test_an_address_is_no_source(data: Path) -> None:
    outcome = run("ingest", "https://example.org/book", "--data-dir", data)
    assert outcome.failed_with(3, "is an address", "download or build the site")


def test_one_bad_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    for make in (binary, links_in_a_loop, folders_in_a_loop):
        make(tmp_path)
    (tmp_path / "good.md").write_text(PAGE, "utf-8")
    with quick_folder() as folder:
        outcome = run("ingest", tmp_path, "--data-dir", folder, "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["documents"]["added"] == 1
    assert [Path(skip["path"]).name for skip in found["skipped"]] == ["page.md"]


def test_a_file_name_that_is_no_utf_8_is_no_crash(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text(PAGE, "utf-8")
    with quick_folder() as folder:
        assert run("ingest", tmp_path, "--data-dir", folder).code in (0, 3)


def test_a_title_with_a_lone_surrogate_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text('---\ntitle: "\\ud800"\n---\n\nSome words on this page.\n', "utf-8")
    with quick_folder() as folder:
        assert run("ingest", tmp_path, "--data-dir", folder).code in (0, 3)


QUESTIONS = [
    (("",), "The question is empty", "Ask something"),
    ((" \n",), "The question is empty", "Ask something"),
    (("why " * 10_000,), "39,999 characters", "Keep it within 32,000"),
    ((MOON, "--top-k", "0"), "--top-k", "glossator {command} --help"),
    ((MOON, "--top-k", "101"), "1<=x<=100", "glossator {command} --help"),
    ((MOON, "--top-k", "many"), "--top-k", "glossator {command} --help"),
    ((MOON, "--no-such-option"), "--no-such-option", "glossator {command} --help"),
    ((), "Missing argument", "glossator {command} --help"),
]


@pytest.mark.parametrize("command", ["ask", "search"])
@pytest.mark.parametrize(("arguments", "problem", "remedy"), QUESTIONS)
def test_a_bad_question_is_one_line(
    command: str, arguments: tuple[str, ...], problem: str, remedy: str, served: Path
) -> None:
    outcome = run(command, *arguments, "--data-dir", served)
    assert outcome.failed_with(2, problem, remedy.format(command=command)), outcome


def test_a_question_that_is_no_utf_8_is_one_line(served: Path) -> None:
    outcome = run_alone("ask", b"caf\xe9 tides?", "--data-dir", served)
    assert outcome.failed_with(2, "question"), outcome


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
def test_a_bad_selection_is_one_line(content: bytes | None, problem: str, served: Path, tmp_path: Path) -> None:
    file = tmp_path / "selection.txt"
    if content is not None:
        file.write_bytes(content)
    outcome = run("ask", "Explain this", "--selection", file, "--data-dir", served)
    assert outcome.failed_with(2, problem), outcome
    if content is not None:
        outcome = run("ask", "Explain this", "--selection", "-", "--data-dir", served, stdin=content)
        assert outcome.failed_with(2, problem), outcome


def test_a_folder_is_no_selection(served: Path, tmp_path: Path) -> None:
    outcome = run("ask", "Explain this", "--selection", tmp_path, "--data-dir", served)
    assert outcome.failed_with(2, "Is a directory", "Give a text file")


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
def test_a_bad_setting_is_named(
    command: tuple[str, ...], name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    outcome = run(*command)
    assert outcome.failed_with(2, f"{name} cannot be '{value}'", "Correct or remove it"), outcome


@pytest.mark.parametrize("command", [("ask", MOON), ("serve",), ("ingest", ".")])
def test_an_unknown_embedder_is_named(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "gpt-9")
    assert run(*command).failed_with(2, "GLOSSATOR_EMBEDDER is 'gpt-9'", "Set it to `local` or to a folder")


def test_a_folder_without_a_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(tmp_path))
    assert run("ask", MOON).failed_with(6, "lacks model.onnx and tokenizer.json", "Give a folder with both files")


@pytest.mark.parametrize("junk", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_no_model_is_one_line(
    junk: str, small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(built_in_model(), tmp_path / "model"))
    (folder / junk).write_text("{}")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(folder))
    with quick_folder() as data:
        outcome = run("ingest", small_book, "--data-dir", data)
    assert outcome.failed_with(6, junk, "Give another file"), outcome


def test_nothing_ingested_yet_is_one_line(tmp_path: Path) -> None:
    for command in ("ask", "search"):
        outcome = run(command, MOON, "--data-dir", tmp_path)
        assert outcome.failed_with(4, "Nothing has been ingested", "Run `glossator ingest FOLDER` first")


def test_a_data_directory_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "page.md").write_text(PAGE)
    outcome = run("ingest", tmp_path / "page.md", "--data-dir", tmp_path / "file")
    assert outcome.failed_with(5, "cannot be written", "Choose another --data-dir"), outcome
    assert run("ask", MOON, "--data-dir", tmp_path / "file").failed_with(4, "Not a directory"), outcome


def test_an_ingest_beside_another_is_one_line(data: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    with Generations(data).ingesting():
        outcome = run("ingest", tmp_path / "page.md", "--data-dir", data)
    assert outcome.failed_with(5, "Another ingest", "Wait for it to end")


AS_NOBODY = """
import os, sys
from glossator.cli.main import main

def run(*arguments):
    sys.argv = ["glossator", *arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    return 0

data, page, new = sys.argv[1:4]
# As root first, so that everything is imported: the interpreter itself may lie where nobody may read.
stdout, sys.stdout = sys.stdout, open(os.devnull, "w")
assert run("ask", "x", "--data-dir", data) == 0
assert run("ingest", page, "--data-dir", new) == 0
sys.stdout = stdout
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
asked = run("ask", "What causes tides?", "--data-dir", data)
ingested = run("ingest", page, "--data-dir", data)
examined = run("doctor", "--data-dir", data)
sys.exit(f"{asked} {ingested} {examined}")
"""


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A temporary folder that any user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _open_to_all(path: Path) -> bool:
    """Whether any user may enter every folder above a file."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.resolve().parents)


@pytest.mark.skipif(
    os.getuid() == 0
    and not all(_open_to_all(Path(file)) for file in (cli.__file__, str(built_in_model() / "model.onnx"))),
    reason="the project lies where the user nobody may not read it",
)
def test_a_read_only_data_directory_is_read_and_refused_in_one_line(served: Path, tmp_path: Path) -> None:
    with folder_for_all() as folder:
        data, page = folder / "data", folder / "page.md"
        subprocess.run(["cp", "-r", served, data], check=True)
        page.write_text("# Kites\n\nA kite flies because of the wind.\n", "utf-8")
        for path in (*data.rglob("*"), data):
            path.chmod(0o555 if path.is_dir() else 0o444)
        code = AS_NOBODY.replace("NOBODY", str(NOBODY))
        command = [sys.executable, "-c", code, data, page, tmp_path / "new"]
        done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=folder)
        for path in (data, *data.rglob("*")):
            path.chmod(0o755)
    refusal, codes = done.stderr.splitlines()
    assert "gravity of the Moon" in done.stdout
    assert "it cannot be written" in " ".join(done.stdout.split())
    assert refusal == f"glossator: {data} cannot be written (Permission denied). Choose another --data-dir."
    assert codes == "0 5 4"


@contextmanager
def small_disk(megabytes: float, *, real: bool = False) -> Iterator[Path]:
    """A disk of that size, in memory or as a file with a real file system; skips where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as image:
        size = f"size={int(megabytes * 1024)}k"
        commands = [["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder]]
        if real:
            os.truncate(image.name, int(megabytes * 1_048_576))
            commands = [["mkfs.ext4", "-q", "-F", image.name], ["mount", "-o", "loop", image.name, folder]]
        for command in commands:
            if not shutil.which(command[0]) or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip(f"{command[0]} cannot make a small disk here (it needs root, and loop devices)")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("megabytes", [0.004, 0.1, 1, 49])
def test_a_full_disk_is_one_line(megabytes: float, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    with small_disk(megabytes) as disk:
        outcome = run_alone("ingest", tmp_path / "page.md", "--data-dir", disk / "data")
        assert outcome.failed_with(5, "ree some"), outcome
        assert run("ask", MOON, "--data-dir", disk / "data").code == 4


@pytest.mark.parametrize("left", [20_000_000, 0], ids=["nearly full", "quite full"])
def test_a_disk_that_fills_up_leaves_the_index_serving(left: int, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    with small_disk(90, real=True) as disk:
        data = disk / "data"
        assert run("ingest", tmp_path / "page.md", "--data-dir", data).code == 0
        with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while shutil.disk_usage(disk).free > left:
                ballast.write(bytes(65_536))
        (tmp_path / "page.md").write_text(PAGE.replace("little", "lot"), "utf-8")
        outcome = run_alone("ingest", tmp_path / "page.md", "--data-dir", data)
        assert outcome.failed_with(5, "ree some"), outcome
        assert "gravity of the Moon" in run_alone("ask", MOON, "--data-dir", data).out
        assert [path.name for path in (data / "generations").iterdir()] == ["000001"]
        (disk / "ballast").unlink()
        assert run("ingest", tmp_path / "page.md", "--data-dir", data).code == 0
        assert "helps a lot" in run("ask", MOON, "--data-dir", data).out


def test_room_is_asked_for_by_the_chunk(tmp_path: Path) -> None:
    store = Generations(tmp_path)
    store._need_room(1)
    with pytest.raises(StorageProblem, match=r"nearly full .* Free some space"):
        store._need_room(10**12)


def test_every_exit_code_is_documented() -> None:
    assert cli.__doc__ is not None
    for code in (
        "0 done",
        "1 failed",
        "2 bad usage",
        "3 a source",
        "4 the index",
        "5 the data",
        "6 the embedding",
        "130",
    ):
        assert code in cli.__doc__
