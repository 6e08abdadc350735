"""Conversations are readable by their owner only, also those that an earlier version stored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from glossator.core.errors import SessionNotFound
from glossator.core.files import DATA_FILES
from glossator.facade import Book
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from tides import PAGE, SPRING_TIDES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")]

RECORDS = ("records.sqlite", "records.sqlite-wal", "records.sqlite-shm")


@pytest.fixture(autouse=True)
def ordinary_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path, *names: str) -> set[int]:
    return {stat.S_IMODE((folder / name).stat().st_mode) for name in names}


def ask(book: Book) -> None:
    assert book.ask(SPRING_TIDES, session_id="tides").stored


def test_data_directory_and_records_are_private(tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text(PAGE, "utf-8")
    data = tmp_path / "new" / "data"
    with glossator.open(data) as book:
        book.ingest(tmp_path / "tides.md")
        ask(book)
        assert modes(data, ".") == {0o700}
        assert modes(data, *RECORDS) == {0o600}


def test_data_directory_made_by_keys_or_records_is_private(tmp_path: Path) -> None:
    KeyStore(tmp_path / "keys" / KEYS_FILE).create("reader", ["read"])
    with glossator.open(tmp_path / "records") as book, pytest.raises(SessionNotFound):
        book.history("tides")
    assert modes(tmp_path, "keys", "records") == {0o700}
    assert modes(tmp_path, "records/records.sqlite") == {0o600}


def open_to_all(data: Path) -> None:
    """Give files the permissions that an earlier version gave them."""
    data.chmod(0o755)
    for name in RECORDS:
        (data / name).chmod(0o644)


def test_records_of_an_earlier_version_become_private(tides_data: Path) -> None:
    with glossator.open(tides_data) as running:
        ask(running)
        open_to_all(tides_data)
        with glossator.open(tides_data) as book:
            ask(book)
            assert modes(tides_data, ".") == {0o700}
            assert modes(tides_data, *RECORDS) == {0o600}


def test_folder_with_other_files_keeps_its_permissions(tides_data: Path) -> None:
    (tides_data / "index.html").write_text("served by somebody else")
    tides_data.chmod(0o755)
    with glossator.open(tides_data) as book:
        ask(book)
        assert modes(tides_data, ".") == {0o755}
        assert modes(tides_data, *RECORDS) == {0o600}


def test_every_file_of_a_data_directory_is_known(tides_data: Path) -> None:
    KeyStore(tides_data / KEYS_FILE).create("reader", ["read"])
    with glossator.open(tides_data) as book:
        ask(book)
        assert {path.name for path in tides_data.iterdir()} <= DATA_FILES
