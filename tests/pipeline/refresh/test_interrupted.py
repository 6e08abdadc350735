"""Ingests that are stopped: they continue where they were, and end with the index that a new one would build."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glossator
from commands import COMMAND, quick_folder
from glossator.core.errors import IngestRunning
from glossator.core.files import file_lock
from glossator.core.settings import load_settings
from glossator.core.types import Chunk, Document
from glossator.embed.cache import CHUNKS_PER_WRITE
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from index_stores import opened_kind

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("GLOSSATOR_EDITS", "3"))
PAGES = 160
RANDOM = random.Random(7)  # noqa: S311 - what a test edits
WORDS = "anchor beacon cargo deck engine flag galley harbour island jetty keel lantern mast".split()


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        (found / "book").mkdir()
        yield found


def page(number: int, version: int = 0) -> str:
    words = " ".join(RANDOM.choices(WORDS, k=12))
    return f"# Page {number}\n\nIn version {version}, page {number} tells of {words}.\n"


def start(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "data" / "ingest.lock").unlink(missing_ok=True)
    return subprocess.Popen(
        [*COMMAND, "ingest", folder / "book", "--data-dir", folder / "data"],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(ingest: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code and the error output."""
    errors = ingest.communicate()[1]
    return ingest.returncode, errors


def cached(folder: Path) -> int:
    """The number of embeddings on disk."""
    try:
        with closing(sqlite3.connect(f"file:{folder}/data/cache/embeddings.sqlite?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM embeddings").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_ingest_continues_without_embedding_again(folder: Path, number: signal.Signals, code: int) -> None:
    for each in range(PAGES):
        (folder / "book" / f"{each}.md").write_text(page(each), "utf-8")
    ingest = start(folder)
    while not (made := cached(folder)) and ingest.poll() is None:
        time.sleep(0.005)
    ingest.send_signal(number)
    assert finish(ingest) == (code, b"glossator: interrupted.\n")
    made = cached(folder)
    assert CHUNKS_PER_WRITE <= made < PAGES
    with glossator.open(folder / "data") as book:
        report = book.ingest(folder / "book")
    assert (report.embeddings.made, report.embeddings.reused) == (PAGES - made, made)


def everything(book: Book) -> tuple[list[Chunk], list[Document], list[np.ndarray]]:
    """All that an index has, in its order: chunks, documents, and the vectors of chunks and sentences."""
    generation = book.engine.generation()
    numbers = range(generation.manifest.chunks)
    vectors = [part for each in generation.index.embeddings(numbers) for part in (each.vector, each.sentences)]
    return generation.index.chunks(numbers), list(generation.documents.all()), vectors


SAME_TEXT = 0.98
"""The model's activations are quantised for a batch at a time: an embedding depends a little on the texts beside it
(0.994 for the pages here); those of two pages are less alike (0.89)."""


def similarity(one: np.ndarray, other: np.ndarray) -> float:
    rows = (np.asarray(each, np.float64).reshape(-1, each.shape[-1]) for each in (one, other))
    return float(min(np.sum(np.multiply(*rows), axis=1), default=1.0))


MOMENTS = ("ingest.lock", "cache/embeddings.sqlite-wal", "generations/.building-*")
"""Files that tell how far an ingest is: it reads the sources, it embeds, it writes."""


def wait_for(moment: str, folder: Path, ingest: subprocess.Popen[bytes]) -> None:
    while not any((folder / "data").glob(moment)) and ingest.poll() is None:
        time.sleep(0.001)


def edit(folder: Path, version: int) -> None:
    """Change, add, remove and rename pages at random."""
    pages = sorted(folder.glob("*.md"))
    for path in RANDOM.sample(pages, min(5, len(pages))):
        action = RANDOM.choice(("change", "remove", "rename"))
        if action == "change":
            path.write_text(page(version, version), "utf-8")
        elif action == "remove":
            path.unlink()
        else:
            path.rename(path.with_name(f"{version}-{path.name[-20:]}"))
    for number in range(5):
        (folder / f"new-{version}-{number}.md").write_text(page(number, version), "utf-8")


def test_rounds_of_edits_and_kills_end_with_the_index_of_a_new_ingest(folder: Path) -> None:
    for each in range(20):
        (folder / "book" / f"{each}.md").write_text(page(each), "utf-8")
    assert finish(start(folder)) == (0, b"")
    killed = 0
    for version in range(1, ROUNDS + 1):
        edit(folder / "book", version)
        ingest = start(folder)
        wait_for(MOMENTS[version % len(MOMENTS)], folder, ingest)
        time.sleep(RANDOM.uniform(0, 0.1))
        ingest.kill()
        killed += finish(ingest)[0] == -signal.SIGKILL
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "book")
    assert killed
    with glossator.open(folder / "data") as book, glossator.open(folder / "new") as new:
        new.ingest(folder / "book")
        (chunks, documents, vectors), (expected, pages, others) = everything(book), everything(new)
    assert [replace(chunk, row=-1) for chunk in chunks] == [replace(chunk, row=-1) for chunk in expected]
    assert documents == pages
    assert [each.shape for each in vectors] == [each.shape for each in others]
    assert min(similarity(*pair) for pair in zip(vectors, others, strict=True)) > SAME_TEXT


def test_one_ingest_at_a_time_uses_a_data_directory_whatever_its_index(folder: Path, small_book: Path) -> None:
    busy = IngestRunning("busy")
    with opened_kind("qdrant in process") as make_store:
        engine = wire(load_settings(data_dir=folder / "data"))
        engine.generations = make_store("shared")
        with Book(engine) as book, glossator.open(folder / "data") as embedded:
            with file_lock(folder / "data" / "ingest.lock", busy):
                for each in (book, embedded):
                    with pytest.raises(IngestRunning, match="Wait until it has finished"):
                        each.ingest(small_book)
            assert (book.ingest(small_book).embeddings.made, embedded.ingest(small_book).embeddings.made) == (3, 0)
