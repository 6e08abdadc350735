"""The record store under faults: what was acknowledged is stored exactly once, and nothing is stored in part."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from counters import Counters
from glossator.core.conversations import session_key
from glossator.core.errors import DatabaseUnavailable
from glossator.core.question import Question
from glossator.store.records.database import Database, DatabaseTimings, database_url
from glossator.store.records.record_store import RecordStore
from paths import TESTS
from postgres import Postgres, running_postgres
from writers import exchange, receipt_of

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("GLOSSATOR_KILLS", "3"))
WRITER_COUNT = 50
SCRIPT = TESTS / "support" / "servers" / "writers.py"
TERMINATE_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'cut'"
)
STORED_KEYS = "SELECT request_key FROM conversations"


class Writers:
    """A process with many writers, whose acknowledgements are collected as they arrive."""

    def __init__(self, url: str, folder: Path, turns: int = 0) -> None:
        command = [sys.executable, str(SCRIPT), url, str(folder), str(WRITER_COUNT), str(turns)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.acknowledged: list[str] = []
        self._reader = threading.Thread(target=self._read_output)
        self._reader.start()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):
                self.acknowledged.append(line.decode().strip())

    def wait_for(self, number: int) -> None:
        """Wait until this many more exchanges are acknowledged."""
        wanted = len(self.acknowledged) + number
        for _ in range(1200):
            if len(self.acknowledged) >= wanted or self.process.poll() is not None:
                return
            time.sleep(0.05)
        raise AssertionError(f"{len(self.acknowledged)} of {wanted} acknowledged")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        self.process.wait(60)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def assert_none_lost_or_duplicated(acknowledged: list[str], stored: list[str], what: str, faults: int = KILLS) -> None:
    """Report how many exchanges were lost and duplicated, and check that none were."""
    counts_by_key = Counter(stored)
    lost = [name for name in acknowledged if not counts_by_key[name]]
    duplicated = [name for name, number in counts_by_key.items() if number > 1]
    assert acknowledged
    counters = Counters(what, faults, len(acknowledged), lost=len(lost), doubled=len(duplicated))
    counters.report()


def in_sqlite(folder: Path, statement: str = STORED_KEYS) -> list[str]:
    with closing(sqlite3.connect(folder / "records.sqlite")) as db:
        return [row[0] for row in db.execute(statement)]


def test_kill_9_with_fifty_writers_loses_nothing_on_sqlite(fast_tmp_path: Path) -> None:
    acknowledged: list[str] = []
    for _ in range(KILLS):
        writers = Writers("", fast_tmp_path)
        writers.wait_for(100)
        writers.kill()
        acknowledged += writers.acknowledged
    assert_none_lost_or_duplicated(sorted(set(acknowledged)), in_sqlite(fast_tmp_path), "SQLite, kill -9")
    assert in_sqlite(fast_tmp_path, "PRAGMA integrity_check") == ["ok"]


def test_kill_9_with_fifty_writers_loses_nothing_on_postgres(server: Postgres, fast_tmp_path: Path) -> None:
    url, acknowledged = server.create("killed"), set()
    for _ in range(KILLS):
        writers = Writers(url, fast_tmp_path)
        writers.wait_for(100)
        writers.kill()
        acknowledged |= set(writers.acknowledged)
    assert_none_lost_or_duplicated(sorted(acknowledged), server.sql(STORED_KEYS, "killed").split(), "Postgres, kill -9")


def test_message_counts_match_the_exchanges_after_a_kill(fast_tmp_path: Path) -> None:
    writers = Writers("", fast_tmp_path)
    writers.wait_for(100)
    writers.kill()
    exchanges = "2 * (SELECT count(*) FROM conversations c WHERE c.session_id = s.session_id)"
    assert in_sqlite(fast_tmp_path, f"SELECT name FROM sessions s WHERE message_count <> {exchanges}") == []  # noqa: S608
    orphans = "SELECT id FROM conversations WHERE receipt_id NOT IN (SELECT receipt_id FROM receipts)"
    assert in_sqlite(fast_tmp_path, orphans) == []


COUNT_IN_ANOTHER_PROCESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM conversations").fetchone()[0])
connection.close()
"""


async def test_exchanges_stored_after_another_program_used_the_database_are_not_lost(fast_tmp_path: Path) -> None:
    """SQLite deletes the write-ahead log when the last program closes it: our locks must show that we still use it."""
    path = fast_tmp_path / "records.sqlite"
    records = RecordStore(Database(database_url("", fast_tmp_path)))

    def count_elsewhere() -> int:
        command = [sys.executable, "-c", COUNT_IN_ANOTHER_PROCESS, str(path)]
        return int(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)

    for number in (1, 2):
        await exchange(records, "reader", f"Question {number}?")
        await records.history(session_key("reader"))
        assert await asyncio.to_thread(count_elsewhere) == number
        assert path.with_name(f"{path.name}-wal").exists()
    await records.close()


def test_postgres_restart_under_load_loses_nothing(fast_tmp_path: Path) -> None:
    with running_postgres() as server:
        url = server.create("restarted")
        writers = Writers(url, fast_tmp_path)
        for _ in range(KILLS):
            writers.wait_for(100)
            server.stop()
            time.sleep(0.3)
            server.start()
        writers.wait_for(100)
        writers.kill()
        assert_none_lost_or_duplicated(
            writers.acknowledged, server.sql(STORED_KEYS, "restarted").split(), "Postgres, stopped and started"
        )


async def test_connections_cut_during_transactions_lose_and_duplicate_nothing(
    server: Postgres, fast_tmp_path: Path
) -> None:
    records = RecordStore(Database(database_url(server.create("cut"), fast_tmp_path)))
    acknowledged: list[str] = []

    async def ask(writer: int) -> None:
        for number in range(10):
            name = f"{writer}-{number}"
            try:
                await exchange(records, f"writer-{writer}", f"What is {name}?", name)
            except DatabaseUnavailable:
                await asyncio.sleep(0.6)
                continue
            acknowledged.append(name)

    async def terminate_connections() -> None:
        while True:
            await asyncio.sleep(0.2)
            await asyncio.to_thread(server.sql, TERMINATE_CONNECTIONS)

    await exchange(records, "first", "Are the tables there?")
    terminating = asyncio.create_task(terminate_connections())
    await asyncio.gather(*(ask(writer) for writer in range(20)))
    terminating.cancel()
    await asyncio.gather(terminating, return_exceptions=True)
    await records.close()
    assert_none_lost_or_duplicated(acknowledged, server.sql(STORED_KEYS, "cut").split(), "Postgres, connections cut")


async def test_exchange_whose_commit_reply_was_lost_is_not_stored_twice(fast_tmp_path: Path) -> None:
    records = RecordStore(Database(database_url("", fast_tmp_path)))
    request = Question("Was it stored?")
    turn = await records.begin_turn(session_key("one"), request)
    first = await records.finish_turn(turn, request, receipt_of("Was it stored?"))
    assert await records.finish_turn(turn, request, receipt_of("Was it stored?")) == first
    assert len((await records.history(session_key("one"))).exchanges) == 1
    await records.close()


async def test_locked_sqlite_file_is_unavailable_until_it_is_released(fast_tmp_path: Path) -> None:
    timings = DatabaseTimings(connect_timeout_seconds=0.2, cooldown_seconds=0.2)
    records = RecordStore(Database(database_url("", fast_tmp_path), timings))
    await exchange(records, "one", "Before?")
    with closing(sqlite3.connect(fast_tmp_path / "records.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DatabaseUnavailable):
            await exchange(records, "one", "During?")
        with pytest.raises(DatabaseUnavailable):
            await exchange(records, "one", "At once again?")
        other.execute("ROLLBACK")
    await asyncio.sleep(0.3)
    await exchange(records, "one", "After?")
    questions = [e.question for e in (await records.history(session_key("one"))).exchanges]
    assert questions == ["Before?", "After?"]
    await records.close()


async def test_full_database_stores_no_partial_exchange(fast_tmp_path: Path) -> None:
    records = RecordStore(Database(database_url("", fast_tmp_path)))
    await exchange(records, "one", "Before?")

    def shrink(db: sa.Connection) -> None:
        pages = db.exec_driver_sql("PRAGMA page_count").scalar_one()
        db.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")

    await records.database.write(shrink)
    request = Question("During?")
    turn = await records.begin_turn(session_key("one"), request)
    with pytest.raises(DatabaseUnavailable):
        await records.finish_turn(turn, request, receipt_of("During?", "A very long answer. [1]" * 5000))
    await records.close()
    reopened = RecordStore(Database(database_url("", fast_tmp_path)))
    await reopened.cancel_turn(turn)
    history = await reopened.history(session_key("one"))
    assert [e.question for e in history.exchanges] == ["Before?"]
    assert history.session.message_count == 2
    await exchange(reopened, "one", "After?")
    await reopened.close()


async def test_unreachable_postgres_fails_quickly(fast_tmp_path: Path) -> None:
    records = RecordStore(Database(database_url("postgresql://nobody@127.0.0.1:9/none", fast_tmp_path)))
    for _ in range(3):
        with pytest.raises(DatabaseUnavailable) as caught:
            await exchange(records, "one", "Anyone?")
        assert "127.0.0.1" not in str(caught.value)
    await records.close()


def test_full_disk_is_reported_as_unavailable(fast_tmp_path: Path) -> None:
    disk = Path("/dev/full")
    if not disk.exists():
        pytest.skip("no /dev/full here")
    (fast_tmp_path / "records.sqlite").symlink_to(disk)
    records = RecordStore(Database(database_url("", fast_tmp_path)))
    with pytest.raises(DatabaseUnavailable):
        asyncio.run(exchange(records, "one", "Anyone?"))
