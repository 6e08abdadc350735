"""Data directories for tests: a book is ingested once per process, and its embeddings are kept for later runs."""

from __future__ import annotations

import atexit
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

import glossator
from commands import quick_folder
from glossator import embed
from glossator.verification.version import hash_files
from paths import ROOT

_folders = ExitStack()
atexit.register(_folders.close)


def copy_data(source: Path, target: Path) -> Path:
    """A copy that a test may change; `cp` keeps the holes of which an index mostly consists."""
    subprocess.run(["cp", "-a", source, target], check=True)
    return target


@contextmanager
def book_data(pages: Mapping[str, str], base_url: str) -> Iterator[Path]:
    """A data directory with a book of these pages."""
    with quick_folder() as folder:
        yield copy_data(_ingested(tuple(pages.items()), base_url), folder / "data")


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


@cache
def _ingested(pages: tuple[tuple[str, str], ...], base_url: str) -> Path:
    folder = _folders.enter_context(quick_folder())
    write_pages(folder / "book", dict(pages))
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book", base_url=base_url)
    return folder / "data"


def ingest_with_kept_embeddings(data: Path, source: Path, base_url: str) -> None:
    """Ingest a book. Embedding the sample book takes half a minute: one process does it, and keeps the result."""
    kept = ROOT / "build" / f"test-embeddings-{hash_files([Path(embed.__file__).parent])}.sqlite"
    kept.parent.mkdir(exist_ok=True)
    embeddings = data / "cache" / "embeddings.sqlite"
    embeddings.parent.mkdir(parents=True)
    with kept.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if kept.exists():
            shutil.copy(kept, embeddings)
        with glossator.open(data) as book:
            report = book.ingest(source, base_url=base_url)
        if report.embeddings.made:
            shutil.copy(embeddings, kept.with_suffix(".new"))
            kept.with_suffix(".new").replace(kept)


def contents_of(folder: Path) -> dict[str, bytes]:
    """All files and folders below a folder, with their contents."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}
