"""Record stores on SQLite and on a real Postgres."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from glossator.store.records.database import Database, database_url
from glossator.store.records.record_store import RecordStore, TurnTimings
from postgres import Postgres
from record_helpers import DAY, MONTHS, TABLES, OpenStore, count_rows


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with all tables, and no rows."""
    folder = tmp_path_factory.mktemp("empty")
    asyncio.run(Database(database_url("", folder)).upgrade())
    return folder / "records.sqlite"


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest) -> Postgres | None:
    """The Postgres server to use; None for SQLite."""
    return request.getfixturevalue("server") if request.param == "postgres" else None


@pytest.fixture
async def url(backend: Postgres | None, empty_sqlite: Path, tmp_path: Path) -> AsyncIterator[str]:
    """An empty database; on Postgres one is emptied after each test, since creating it takes half a second."""
    if backend is None:
        shutil.copy(empty_sqlite, tmp_path)
        yield ""
        return
    yield backend.url()
    operator = await asyncpg.connect(backend.url())
    await operator.execute(f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY")
    await operator.close()


@pytest.fixture
async def open_records(url: str, tmp_path: Path) -> AsyncIterator[OpenStore]:
    """Opens the database, each time as another process would, and reads from it once."""
    opened: list[RecordStore] = []

    async def open_store(
        session_retention: timedelta | None = DAY,
        receipt_retention: timedelta | None = MONTHS,
        timings: TurnTimings | None = None,
    ) -> RecordStore:
        database = Database(database_url(url, tmp_path))
        opened.append(RecordStore(database, session_retention, receipt_retention, timings))
        await count_rows(opened[-1])
        return opened[-1]

    yield open_store
    for records in opened:
        await records.close()


@pytest.fixture
async def records(open_records: OpenStore) -> RecordStore:
    return await open_records()
