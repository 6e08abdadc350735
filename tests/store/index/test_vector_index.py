"""The files of Qdrant Edge: read by many processes, never changed, and reported if they are damaged."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from test_index_contract import CHUNKS, found

from glossator.core.errors import IndexCorrupted, StorageError
from glossator.core.types import Chunk, Embedding, Filters
from glossator.store.index.qdrant_index import QdrantEdgeIndex, QdrantEdgeWriter, _filter
from index_stores import DIMENSION, embedding


def build_edge(folder: Path, chunks: Sequence[Chunk]) -> QdrantEdgeIndex:
    with QdrantEdgeWriter(folder, DIMENSION) as writer:
        writer.add(chunks, [embedding(i, item) for i, item in enumerate(chunks)], "2026-01-01T00:00:00+00:00")
    return QdrantEdgeIndex(folder, DIMENSION)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("finished")
    build_edge(made, CHUNKS).close()
    return made


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """The folder of a finished shard that nobody is reading."""
    subprocess.run(["cp", "-a", finished, tmp_path / "copy"], check=True)
    return tmp_path / "copy"


def search_hands(folder: Path) -> list[int]:
    index = QdrantEdgeIndex(folder, DIMENSION)
    try:
        return found(index, Filters(section="Hands"))
    finally:
        index.close()


def open_descriptors() -> int:
    """How many files are open; sockets and pipes of other tests' servers come and go."""
    targets = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            targets.append(str(descriptor.readlink()))
    return sum(target.startswith("/") and not target.startswith(("/dev/", "/proc/")) for target in targets)


def tree_hash(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_filter_field_has_a_payload_index(folder: Path) -> None:
    index = QdrantEdgeIndex(folder, DIMENSION)
    indexed = index._shard.info().payload_schema
    for field in fields(Filters):
        for value in ("/path", "https://address"):
            condition = _filter(Filters(**{field.name: value}))
            assert condition is not None
            assert {item.key for item in condition.must} <= indexed.keys()


@pytest.mark.slow
def test_processes_can_read_one_index_at_the_same_time(folder: Path) -> None:
    held = QdrantEdgeIndex(folder, DIMENSION)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(search_hands, [folder] * 6))
    assert results == [[0, 1]] * 6
    assert found(held, Filters(section="Hands")) == [0, 1]


def test_reading_does_not_change_the_files(folder: Path) -> None:
    before = tree_hash(folder)
    assert search_hands(folder) == [0, 1]
    assert tree_hash(folder) == before


def test_unreferenced_index_closes_its_files(folder: Path) -> None:
    search_hands(folder)
    before = open_descriptors()
    for _ in range(5):
        index = QdrantEdgeIndex(folder, DIMENSION)
        assert open_descriptors() > before
        del index
    assert open_descriptors() == before


def test_closed_index_leaves_nothing_in_the_temporary_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    index = QdrantEdgeIndex(folder, DIMENSION)
    assert not any(temporary.iterdir())
    index.close()
    index.close()
    del index
    assert search_hands(folder) == [0, 1]
    assert not any(temporary.iterdir())


def test_index_can_be_closed_when_the_temporary_folder_is_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    index = QdrantEdgeIndex(folder, DIMENSION)
    temporary.rmdir()
    index.close()
    assert not temporary.exists()


def test_killed_reader_leaves_nothing_in_the_temporary_folder(folder: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from glossator.store.index.qdrant_index import QdrantEdgeIndex;"
        f"index = QdrantEdgeIndex(Path(sys.argv[1]), {DIMENSION}); assert index.count() == {len(CHUNKS)};"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder], check=False, env={**os.environ, "TMPDIR": str(temporary)}
    )
    assert done.returncode == -signal.SIGKILL
    assert list(temporary.iterdir()) == []


def test_leftovers_of_a_reader_killed_while_opening_are_removed_later(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, fresh, other = (tmp_path / name for name in ("glossator-view-old", "glossator-view-new", "other"))
    for view in (old, fresh, other):
        view.mkdir()
        (view / "segments").symlink_to(folder / "shard" / "segments")
    for view in (old, other):
        os.utime(view, (0, 0))
    assert search_hands(folder) == [0, 1]
    assert {view.name for view in tmp_path.iterdir()} == {"copy", "glossator-view-new", "other"}


@pytest.mark.parametrize("lost", ["rows.npy", "sentences.f16", "shard/segments"])
def test_missing_file_is_reported_as_corruption(folder: Path, lost: str) -> None:
    (folder / lost).rename(folder / "lost")
    with pytest.raises(IndexCorrupted, match="glossator ingest"):
        QdrantEdgeIndex(folder, DIMENSION)


@pytest.mark.parametrize("cut", ["rows.npy", "sentences.f16"])
def test_truncated_file_is_reported_as_corruption(folder: Path, cut: str) -> None:
    os.truncate(folder / cut, 6)
    with pytest.raises(IndexCorrupted, match="glossator ingest"):
        QdrantEdgeIndex(folder, DIMENSION)


def test_missing_temporary_folder_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StorageError, match="TMPDIR"):
        QdrantEdgeIndex(folder, DIMENSION)


def test_failed_write_closes_its_files(tmp_path: Path) -> None:
    before = open_descriptors()
    with pytest.raises(StorageError), QdrantEdgeWriter(tmp_path, DIMENSION) as writer:
        writer.add(CHUNKS[:1], [Embedding(np.ones(3, np.float32), np.zeros((2, 3), np.float16))], "")
    assert open_descriptors() == before
