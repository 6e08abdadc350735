"""A database that cannot be written is reported at once; only one that is busy is waited for."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from glossator.store.records import database


def test_read_only_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records.sqlite"
    with closing(sqlite3.connect(path)) as created:
        created.execute("CREATE TABLE t (x)")
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        database._prepare_sqlite(connection, timeout=0.2, foreign_keys=True)
    assert waits == []


@pytest.mark.slow
def test_busy_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer, closing(sqlite3.connect(path)) as connection:
        writer.execute("CREATE TABLE t (x)")
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            database._prepare_sqlite(connection, timeout=0.0, foreign_keys=True)
        writer.execute("COMMIT")
        database._prepare_sqlite(connection, timeout=5.0, foreign_keys=True)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
