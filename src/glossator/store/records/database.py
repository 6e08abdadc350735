"""A database for the records: SQLite or Postgres, its connections, and the migrations that run before its first use."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from glossator.core.errors import RecordsDown, RecordsProblem, SettingsError

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

HEAD = "0002"
"""The revision that this code speaks."""

_DRIVERS = {
    **dict.fromkeys(("sqlite", "sqlite+aiosqlite"), "sqlite"),
    **dict.fromkeys(("postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"), "postgresql+asyncpg"),
}
_WAIT = 5.0
"""Seconds to wait for a connection, and for another process that is writing."""
_WAIT_FOR_MIGRATION = 60.0
_ATTEMPTS = 4
_PAUSE = 0.5
"""How long a database that did not answer is left alone, so that its failure costs no request its time."""
_MIGRATING = 0x676C6F73
"""Names the lock that one migrating process holds on Postgres."""


def database_url(given: str, data_dir: Path) -> URL:
    """Where the records are; `sslmode`, which other drivers know, is said in this one's words."""
    if not given:
        return URL.create("sqlite", database=str(data_dir / "records.sqlite"))
    try:
        url = make_url(given)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError):
        raise SettingsError(
            "DATABASE_URL does not name a database that can be used.",
            "Write postgresql://user:password@host/name, or remove it for SQLite in the data directory.",
        ) from None
    query = {name: value for name, value in url.query.items() if name not in ("sslmode", "channel_binding")}
    if "sslmode" in url.query:
        query["ssl"] = url.query["sslmode"]
    return url.set(drivername=driver, query=query)


_ALEMBIC = threading.Lock()
"""Alembic keeps the migration that runs in globals: two at once would write to each other's connections."""


class Database:
    """Connections to one database; transactions run on them, and are run again when a connection is lost.

    The work of a transaction is plain, synchronous code. On Postgres it runs over an asynchronous driver. SQLite has
    none: its work runs in a thread from beginning to end, for a hop between threads costs more than a statement.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._ready = False
        self._starting = asyncio.Lock()
        self._down_until = 0.0
        if self.is_sqlite:
            self._writer: _SqliteEngine | _AsyncEngine = _SqliteEngine(url, threads=1, begin="BEGIN IMMEDIATE")
            self._reader: _SqliteEngine | _AsyncEngine = _SqliteEngine(url, threads=4, begin="BEGIN")
        else:
            self._writer = self._reader = _AsyncEngine(url)

    async def write(self, work: Work[T]) -> T:
        """One transaction; the work must be safe to run again."""
        return await self._run(self._writer, work)

    async def read(self, work: Work[T]) -> T:
        """One transaction that changes nothing."""
        return await self._run(self._reader, work)

    async def _run(self, engine: _SqliteEngine | _AsyncEngine, work: Work[T]) -> T:
        if asyncio.get_running_loop().time() < self._down_until:
            raise _down()
        try:
            await self._start()
            return await self._persistently(engine, work)
        except Exception as error:
            if not _is_from_database(error):
                raise
            if not isinstance(error, IntegrityError):
                self._down_until = asyncio.get_running_loop().time() + _PAUSE
            raise _down() from error

    async def _persistently(self, engine: _SqliteEngine | _AsyncEngine, work: Work[T]) -> T:
        try:
            return await engine.run(work)
        except Exception as error:
            if not _is_passing(error):
                raise
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

        attempts = AsyncRetrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(0.05, max=0.5),
            retry=retry_if_exception(_is_passing),
            reraise=True,
        )
        return await attempts(engine.run, work)

    async def _start(self) -> None:
        if self._ready:
            return
        async with self._starting:
            if not self._ready:
                if await self._reader.run(_revision) != HEAD:
                    await self.upgrade()
                self._ready = True

    async def upgrade(self, revision: str = HEAD) -> str | None:
        """Bring the tables to a revision, one process at a time; what they were before."""
        options: dict[str, Any] = {"poolclass": NullPool, "waiting": _WAIT_FOR_MIGRATION}
        engine: _SqliteEngine | _AsyncEngine
        if self.is_sqlite:
            engine = _SqliteEngine(self.url, threads=1, begin="BEGIN IMMEDIATE", keys=False, **options)
        else:
            engine = _AsyncEngine(self.url, **options)
        try:
            return await engine.run(lambda connection: _migrate(connection, revision))
        except Exception as error:
            if not _is_from_database(error):
                raise
            raise _down() from error
        finally:
            await engine.close()

    async def revision(self) -> str | None:
        """What the tables are now, or that the database cannot be reached."""
        try:
            return await self._reader.run(_revision)
        except Exception as error:
            if not _is_from_database(error):
                raise
            raise _down() from error

    async def tidy(self) -> None:
        """Let no deleted word linger in SQLite's journal; readers in its way make it wait for the next time."""
        if isinstance(self._writer, _SqliteEngine):
            await self._writer.in_thread(self._writer.tidy)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._writer.close()
        await self._reader.close()


class _AsyncEngine:
    """Connections over an asynchronous driver."""

    def __init__(self, url: URL, waiting: float = 2 * _WAIT, **options: Any) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        pool = options or {"pool_size": 10, "max_overflow": 0, "pool_timeout": _WAIT}
        self._engine = create_async_engine(url, connect_args={"timeout": _WAIT, "command_timeout": waiting}, **pool)

    async def run(self, work: Work[T]) -> T:
        """One transaction."""
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._engine.dispose()


class _SqliteEngine:
    """Connections of threads of its own; a single thread makes a queue of writers, each served in its turn."""

    def __init__(
        self, url: URL, *, threads: int, begin: str, keys: bool = True, waiting: float = _WAIT, **options: Any
    ) -> None:
        pool = options or {"pool_size": threads, "max_overflow": 0}
        self._path = url.database or ""
        self._threads = ThreadPoolExecutor(threads, "records")
        self._engine = sa.create_engine(url, connect_args={"timeout": waiting, "check_same_thread": False}, **pool)
        sa.event.listen(self._engine, "connect", lambda connection, _: _prepare_sqlite(connection, waiting, keys=keys))
        sa.event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql(begin))

    async def run(self, work: Work[T]) -> T:
        """One transaction."""
        return await self.in_thread(lambda: self._transact(work))

    async def in_thread(self, call: Callable[[], T]) -> T:
        """Something else that touches the file."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _transact(self, work: Work[T]) -> T:
        Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        with self._engine.begin() as connection:
            return work(connection)

    def tidy(self) -> None:
        """Write the journal into the file and empty it, unless somebody is reading it."""
        with closing(sqlite3.connect(self._path, timeout=0)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Let go of all connections, when nothing uses them any more: a cancelled wait stops no thread."""
        self._threads.shutdown()
        self._engine.dispose()


def _prepare_sqlite(connection: sqlite3.Connection, waiting: float, *, keys: bool) -> None:
    """What is acknowledged is on the disk, and what is deleted is overwritten."""
    connection.isolation_level = None
    deadline = time.monotonic() + waiting
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            # SQLite itself does not wait here for one who is writing.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    for pragma in ("synchronous=FULL", "secure_delete=ON", f"foreign_keys={int(keys)}"):
        connection.execute(f"PRAGMA {pragma}")


def _revision(connection: sa.Connection) -> str | None:
    """What the tables are now; None where there are none of ours."""
    if "alembic_version" not in sa.inspect(connection).get_table_names():
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: sa.Connection, revision: str) -> str | None:
    # Of Postgres there is one thread, where a lock that is held across its waits would never be let go.
    with _ALEMBIC if connection.dialect.name == "sqlite" else nullcontext():
        return _migrate_alone(connection, revision)


def _migrate_alone(connection: sa.Connection, revision: str) -> str | None:
    from alembic import command
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
    config = _alembic()
    config.attributes["connection"] = connection
    before = MigrationContext.configure(connection).get_current_revision()
    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    if before is not None and before not in steps:
        raise RecordsDown(
            "The records were made by a newer version of Glossator.", "Install that version, or use another database."
        )
    back = before is not None and (revision == "base" or steps.index(revision) < steps.index(before))
    try:
        (command.downgrade if back else command.upgrade)(config, revision)
    except CommandError as error:
        raise RecordsProblem(f"The records cannot be migrated: {error}.", "Restore them from a backup.") from None
    return before


def _alembic() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _is_from_database(error: BaseException) -> bool:
    """Drivers' own errors are not all dressed as SQLAlchemy's, above all while a connection is being made."""
    driver = type(error).__module__.partition(".")[0] in ("asyncpg", "sqlite3")
    return driver or isinstance(error, SQLAlchemyError | OSError | TimeoutError)


def _is_passing(error: BaseException) -> bool:
    """Whether the same work may well succeed in a moment: a lost connection, a restarting server, a lost race."""
    if isinstance(error, IntegrityError) or getattr(error, "connection_invalidated", False):
        return True
    state = getattr(getattr(error, "orig", error), "sqlstate", None) or ""
    return state.startswith(("08", "40", "57P")) or isinstance(error, ConnectionError)


def _down() -> RecordsDown:
    return RecordsDown(
        "The conversations cannot be read or written now.", "Look at the database; `glossator doctor` tells more."
    )
