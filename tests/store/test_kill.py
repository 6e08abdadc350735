"""`kill -9` at random moments of an ingest: the index always answers, and the next ingest completes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import glossator
from commands import START
from glossator.facade import Book

KILLS = int(os.environ.get("GLOSSATOR_KILLS", "6"))
PAGES = 6
SIGNS = ("ingest.lock", "generations/.building-*")
CHANCE = random.SystemRandom()


def write_version(folder: Path, version: int) -> None:
    """Every page changes, so that every chunk is embedded anew."""
    for page in range(PAGES):
        text = f"# Beacon {page}\n\nBeacon number {page} shows the code {version:04d} to passing ships.\n"
        (folder / f"{page}.md").write_text(text, "utf-8")


def versions(book: Book) -> set[str]:
    """Which versions the pages found in the index have."""
    passages = book.search("Which code does the beacon show?", PAGES)
    assert len(passages) == PAGES
    return {passage.text.split("the code ")[1][:4] for passage in passages}


def start(folder: Path, data: Path, sign: str) -> subprocess.Popen[bytes]:
    """An ingest that has just made a file of that name: its lock as it begins, or the folder that it builds in."""
    (data / "ingest.lock").unlink(missing_ok=True)
    ingest = subprocess.Popen(
        [*START, "ingest", folder, "--data-dir", data],
        env={**os.environ, "TMPDIR": str(data.parent)},
        stdout=subprocess.DEVNULL,
    )
    while not any(data.glob(sign)) and ingest.poll() is None:
        time.sleep(0.001)
    return ingest


def test_a_killed_ingest_leaves_an_index_that_answers_and_the_next_one_completes(room: Path) -> None:
    folder, data = room / "book", room / "data"
    folder.mkdir()
    length = {}
    for version, sign in enumerate(SIGNS):
        write_version(folder, version)
        ingest = start(folder, data, sign)
        began = time.monotonic()
        assert ingest.wait() == 0
        length[sign] = time.monotonic() - began
    killed = 0
    with glossator.open(data) as book:
        for version in range(len(SIGNS), len(SIGNS) + KILLS):
            write_version(folder, version)
            sign = SIGNS[version % len(SIGNS)]
            ingest = start(folder, data, sign)
            time.sleep(CHANCE.uniform(0, length[sign]))
            ingest.kill()
            killed += ingest.wait() == -signal.SIGKILL
            assert versions(book) in ({f"{version - 1:04d}"}, {f"{version:04d}"})
            book.ingest(folder)
            assert versions(book) == {f"{version:04d}"}
        write_version(folder, 9999)
        book.ingest(folder)
        assert len(list((data / "generations").iterdir())) == 2
    assert killed
