"""`kill -9` at random moments of an ingest: the index keeps working, and the next ingest completes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

import glossator
from commands import COMMAND
from counters import Counters
from glossator.facade import Book

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("GLOSSATOR_KILLS", "6"))
PAGES = 6
MARKER_FILES = ("ingest.lock", "generations/.building-*")
RANDOM = random.SystemRandom()


def write_version(folder: Path, version: int) -> None:
    """Change every page, so that every chunk is embedded again."""
    for page in range(PAGES):
        text = f"# Beacon {page}\n\nBeacon number {page} shows the code {version:04d} to passing ships.\n"
        (folder / f"{page}.md").write_text(text, "utf-8")


def versions(book: Book) -> set[str]:
    """The versions of the pages in the index."""
    passages = book.search("Which code does the beacon show?", PAGES)
    assert len(passages) == PAGES
    return {passage.text.split("the code ")[1][:4] for passage in passages}


def start(folder: Path, data: Path, marker: str) -> subprocess.Popen[bytes]:
    """Start an ingest, and return once it has created a file of that name: its lock, or the folder it builds in."""
    (data / "ingest.lock").unlink(missing_ok=True)
    ingest = subprocess.Popen(
        [*COMMAND, "ingest", folder, "--data-dir", data],
        env={**os.environ, "TMPDIR": str(data.parent)},
        stdout=subprocess.DEVNULL,
    )
    while not any(data.glob(marker)) and ingest.poll() is None:
        time.sleep(0.001)
    return ingest


def test_killed_ingest_leaves_a_working_index_and_the_next_one_completes(fast_tmp_path: Path) -> None:
    folder, data = fast_tmp_path / "book", fast_tmp_path / "data"
    folder.mkdir()
    duration = {}
    for version, marker in enumerate(MARKER_FILES):
        write_version(folder, version)
        ingest = start(folder, data, marker)
        began = time.monotonic()
        assert ingest.wait() == 0
        duration[marker] = time.monotonic() - began
    counters = Counters("ingest killed (kill -9)")
    with glossator.open(data) as book:
        for version in range(len(MARKER_FILES), len(MARKER_FILES) + KILLS):
            write_version(folder, version)
            marker = MARKER_FILES[version % len(MARKER_FILES)]
            ingest = start(folder, data, marker)
            time.sleep(RANDOM.uniform(0, duration[marker]))
            ingest.kill()
            counters.tried += ingest.wait() == -signal.SIGKILL
            counters.checked += 2
            assert versions(book) in ({f"{version - 1:04d}"}, {f"{version:04d}"})
            book.ingest(folder)
            assert versions(book) == {f"{version:04d}"}
        write_version(folder, 9999)
        book.ingest(folder)
        assert len(list((data / "generations").iterdir())) == 2
    counters.report()
