"""The Makefile: `make run` adds the sample book to an empty index, and leaves the user's own books alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import ROOT

GLOSSATOR = """#!/bin/sh
if [ "$1" = sources ]; then cat "$(dirname "$0")/sources.json"; exit; fi
printf '%s|' "$@" >> "$(dirname "$0")/commands"
printf '\\n' >> "$(dirname "$0")/commands"
"""


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A project folder whose `glossator` only writes down how it is called; gives its folder of programs."""
    for name in ("Makefile", "pyproject.toml", "requirements"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "glossator").write_text(GLOSSATOR, "utf-8")
    (programs / "glossator").chmod(0o755)
    for stamp in (".python", ".runtime"):
        (tmp_path / ".venv" / stamp).touch()
    later = (tmp_path / ".venv" / ".runtime").stat().st_mtime + 10
    os.utime(tmp_path / ".venv" / ".runtime", (later, later))
    return programs


def make_run(programs: Path, paths: list[Path]) -> tuple[list[str], str]:
    """The commands that `make run` calls, and its output, with these sources in the index."""
    (programs / "sources.json").write_text(json.dumps([{"path": str(path)} for path in paths], indent=2), "utf-8")
    folder = programs.parent.parent
    done = subprocess.run(["make", "run"], cwd=folder, capture_output=True, text=True, check=True)
    return (programs / "commands").read_text("utf-8").splitlines(), done.stdout


SERVE = "serve|--host|127.0.0.1|--port|8000|"
INGEST = "ingest|book|--base-url||"


def test_sample_book_is_added_to_an_empty_index_and_updated(commands: Path) -> None:
    assert make_run(commands, [])[0] == [INGEST, SERVE]
    (commands / "commands").unlink()
    project = commands.parent.parent.resolve()
    assert make_run(commands, [project / "book", project / "mydocs"])[0] == [INGEST, SERVE]


def test_sample_book_is_not_mixed_into_other_books(commands: Path) -> None:
    called, out = make_run(commands, [Path("/home/reader/mydocs"), Path("/home/reader/book")])
    assert called == [SERVE]
    assert "The index has other books, so the sample book is not added" in out


def test_programs_write_bytecode_where_the_environment_forbids_it() -> None:
    rule = 'show: ; @echo "[$$PYTHONDONTWRITEBYTECODE]"'
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["make", "--eval", rule, "show"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert "[]" in done.stdout
