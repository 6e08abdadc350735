"""Records under faults: what was acknowledged is there, once; what was not is nowhere by half."""

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

from glossator.core.conversations import session_key
from glossator.core.errors import RecordsDown
from glossator.core.question import Question
from glossator.store.records.database import Database, database_url
from glossator.store.records.record_store import Records
from postgres import Postgres, running_postgres
from writers import exchange, receipt_of

KILLS = int(os.environ.get("GLOSSATOR_KILLS", "3"))
WRITERS = 50
SCRIPT = Path(__file__).parents[1] / "support" / "writers.py"
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'cut'"
COUNT = "SELECT request_key FROM conversations"


class Writers:
    """A process with many writers, whose acknowledgements are heard as they come."""

    def __init__(self, url: str, folder: Path, turns: int = 0) -> None:
        command = [sys.executable, str(SCRIPT), url, str(folder), str(WRITERS), str(turns)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.heard: list[str] = []
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):
                self.heard.append(line.decode().strip())

    def wait_for(self, number: int) -> None:
        """Until so many more exchanges were acknowledged."""
        wanted = len(self.heard) + number
        for _ in range(1200):
            if len(self.heard) >= wanted or self.process.poll() is not None:
                return
            time.sleep(0.05)
        raise AssertionError(f"{len(self.heard)} of {wanted} acknowledged")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        self.process.wait(60)
        self._listener.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def check(heard: list[str], stored: list[str], what: str) -> None:
    """Print the counts that matter, and hold them to zero."""
    kept = Counter(stored)
    lost = [name for name in heard if not kept[name]]
    twice = [name for name, number in kept.items() if number > 1]
    counts = f"{what}: {len(heard)} acknowledged, {len(stored)} stored, {len(lost)} lost, {len(twice)} twice"
    print(counts)  # noqa: T201 - `make torture` shows it
    assert heard
    assert (lost, twice) == ([], [])


def in_sqlite(folder: Path, statement: str = COUNT) -> list[str]:
    with closing(sqlite3.connect(folder / "records.sqlite")) as db:
        return [row[0] for row in db.execute(statement)]


def test_kill_9_of_a_server_with_fifty_writers_loses_nothing_on_sqlite(room: Path) -> None:
    heard: list[str] = []
    for _ in range(KILLS):
        writers = Writers("", room)
        writers.wait_for(100)
        writers.kill()
        heard += writers.heard
    check(sorted(set(heard)), in_sqlite(room), "SQLite, kill -9")
    assert in_sqlite(room, "PRAGMA integrity_check") == ["ok"]


def test_kill_9_of_a_server_with_fifty_writers_loses_nothing_on_postgres(server: Postgres, room: Path) -> None:
    url, heard = server.create("killed"), set()
    for _ in range(KILLS):
        writers = Writers(url, room)
        writers.wait_for(100)
        writers.kill()
        heard |= set(writers.heard)
    check(sorted(heard), server.sql(COUNT, "killed").split(), "Postgres, kill -9")


def test_message_counts_agree_with_the_exchanges_after_a_kill(room: Path) -> None:
    writers = Writers("", room)
    writers.wait_for(100)
    writers.kill()
    exchanges = "2 * (SELECT count(*) FROM conversations c WHERE c.session_id = s.session_id)"
    assert in_sqlite(room, f"SELECT name FROM sessions s WHERE message_count <> {exchanges}") == []  # noqa: S608
    orphans = "SELECT id FROM conversations WHERE receipt_id NOT IN (SELECT receipt_id FROM receipts)"
    assert in_sqlite(room, orphans) == []


def test_postgres_stopped_and_started_again_under_load_loses_nothing(room: Path) -> None:
    with running_postgres() as server:
        url = server.create("restarted")
        writers = Writers(url, room)
        for _ in range(KILLS):
            writers.wait_for(100)
            server.stop()
            time.sleep(0.3)
            server.start()
        writers.wait_for(100)
        writers.kill()
        check(writers.heard, server.sql(COUNT, "restarted").split(), "Postgres, stopped and started")


async def test_connections_cut_in_the_middle_of_transactions_lose_and_repeat_nothing(
    server: Postgres, room: Path
) -> None:
    records = Records(Database(database_url(server.create("cut"), room)))
    heard: list[str] = []

    async def ask(writer: int) -> None:
        for number in range(10):
            name = f"{writer}-{number}"
            try:
                await exchange(records, f"writer-{writer}", f"What is {name}?", name)
            except RecordsDown:
                await asyncio.sleep(0.6)
                continue
            heard.append(name)

    async def cut() -> None:
        while True:
            await asyncio.sleep(0.2)
            await asyncio.to_thread(server.sql, CUT)

    await exchange(records, "first", "Are the tables there?")
    cutting = asyncio.create_task(cut())
    await asyncio.gather(*(ask(writer) for writer in range(20)))
    cutting.cancel()
    await asyncio.gather(cutting, return_exceptions=True)
    await records.close()
    check(heard, server.sql(COUNT, "cut").split(), "Postgres, connections cut")


async def test_a_commit_whose_answer_was_lost_is_not_stored_twice(room: Path) -> None:
    records = Records(Database(database_url("", room)))
    request = Question("Was it stored?")
    turn = await records.begin(session_key("one"), request)
    first = await records.finish(turn, request, receipt_of("Was it stored?"))
    assert await records.finish(turn, request, receipt_of("Was it stored?")) == first
    assert len((await records.history(session_key("one"))).exchanges) == 1
    await records.close()


async def test_a_locked_sqlite_file_is_said_to_be_down_and_serves_again(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glossator.store.records.database._WAIT", 0.2)
    records = Records(Database(database_url("", room)))
    await exchange(records, "one", "Before?")
    with closing(sqlite3.connect(room / "records.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RecordsDown):
            await exchange(records, "one", "During?")
        with pytest.raises(RecordsDown):
            await exchange(records, "one", "At once again?")
        other.execute("ROLLBACK")
    await asyncio.sleep(0.6)
    await exchange(records, "one", "After?")
    questions = [e.question for e in (await records.history(session_key("one"))).exchanges]
    assert questions == ["Before?", "After?"]
    await records.close()


async def test_a_full_database_stores_nothing_by_half(room: Path) -> None:
    records = Records(Database(database_url("", room)))
    await exchange(records, "one", "Before?")

    def shrink(db: sa.Connection) -> None:
        pages = db.exec_driver_sql("PRAGMA page_count").scalar_one()
        db.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")

    await records.database.write(shrink)
    request = Question("During?")
    turn = await records.begin(session_key("one"), request)
    with pytest.raises(RecordsDown):
        await records.finish(turn, request, receipt_of("During?", "A very long answer. [1]" * 5000))
    await records.close()
    roomy = Records(Database(database_url("", room)))
    await roomy.end(turn)
    history = await roomy.history(session_key("one"))
    assert [e.question for e in history.exchanges] == ["Before?"]
    assert history.session.message_count == 2
    await exchange(roomy, "one", "After?")
    await roomy.close()


async def test_a_postgres_that_is_not_there_is_said_to_be_down_quickly(room: Path) -> None:
    records = Records(Database(database_url("postgresql://nobody@127.0.0.1:9/none", room)))
    for _ in range(3):
        with pytest.raises(RecordsDown) as caught:
            await exchange(records, "one", "Anyone?")
        assert "127.0.0.1" not in str(caught.value)
    await records.close()


def test_a_full_disk_costs_the_memory_and_not_the_answer(room: Path) -> None:
    disk = Path("/dev/full")
    if not disk.exists():
        pytest.skip("no /dev/full here")
    (room / "records.sqlite").symlink_to(disk)
    records = Records(Database(database_url("", room)))
    with pytest.raises(RecordsDown):
        asyncio.run(exchange(records, "one", "Anyone?"))
