"""The database of the record store, SQLite or Postgres: connections, transactions, migrations before first use."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from glossator.core.errors import DatabaseUnavailable, RecordsError, SettingsError
from glossator.core.files import make_private_file, make_private_folder, restrict_to_owner
from glossator.core.resilience.pool import started_pool
from glossator.core.resilience.retry import Backoff

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

HEAD = "0003"
"""The schema revision that this version needs."""

_DRIVERS = {
    **dict.fromkeys(("sqlite", "sqlite+aiosqlite"), "sqlite"),
    **dict.fromkeys(("postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"), "postgresql+asyncpg"),
}
_BACKOFF = Backoff(first_seconds=0.05, max_seconds=0.5, attempts=4)
_MIGRATION_LOCK_ID = 0x676C6F73
"""The advisory lock that a migrating process holds on Postgres."""
_ALEMBIC_LOCK = threading.Lock()
"""Alembic keeps the running migration in globals: two at once would write to each other's connections."""
_POOL_SIZE = 10
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True, slots=True)
class DatabaseTimings:
    """How long to wait for the database."""

    connect_timeout_seconds: float = 5.0
    """For a connection, and on SQLite for another process that is writing."""
    migration_timeout_seconds: float = 60.0
    cooldown_seconds: float = 0.5
    """After a failure, how long requests fail at once instead of waiting for the database."""


def database_url(given: str, data_dir: Path) -> URL:
    """The address of the database; `sslmode`, which other drivers use, becomes this driver's `ssl`."""
    if not given:
        return URL.create("sqlite", database=str(data_dir / "records.sqlite"))
    try:
        url = make_url(given)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError):
        raise SettingsError(
            "DATABASE_URL is not the address of a supported database.",
            "Set it to postgresql://user:password@host/name, or unset it to use SQLite in the data directory.",
        ) from None
    query = {name: value for name, value in url.query.items() if name not in ("sslmode", "channel_binding")}
    if "sslmode" in url.query:
        query["ssl"] = url.query["sslmode"]
    return url.set(drivername=driver, query=query)


class Database:
    """Runs transactions on one database, and retries them when a connection is lost.

    The work of a transaction is plain, synchronous code. On Postgres it runs over an asynchronous driver. SQLite has
    none: a whole transaction runs in one thread, because switching threads costs more than a statement.
    """

    def __init__(self, url: URL, timings: DatabaseTimings | None = None, *, schema: str = "") -> None:
        """On Postgres, the tables are in `schema`, which is created if need be; by default in that of the user."""
        self.url = url
        self._schema = schema
        self._timings = timings or DatabaseTimings()
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._ready = False
        self._starting = asyncio.Lock()
        self._unavailable_until = 0.0
        self._checkpoint_due = False
        if self.is_sqlite:
            timeout = self._timings.connect_timeout_seconds
            self._writer: _Engine = _SqliteEngine(url, threads=1, begin="BEGIN IMMEDIATE", timeout=timeout)
            self._reader: _Engine = _SqliteEngine(url, threads=4, begin="BEGIN", timeout=timeout)
        else:
            self._writer = self._reader = _AsyncEngine(url, self._timings, schema)

    async def write(self, work: Work[T]) -> T:
        """Run a transaction; the work must be safe to repeat."""
        return await self._run(self._writer, work)

    async def read(self, work: Work[T]) -> T:
        """Run a read-only transaction."""
        return await self._run(self._reader, work)

    async def _run(self, engine: _Engine, work: Work[T]) -> T:
        if asyncio.get_running_loop().time() < self._unavailable_until:
            raise _unavailable()
        try:
            await self._start()
            return await self._with_retries(engine, work)
        except Exception as error:
            if not _is_from_database(error):
                raise
            if not isinstance(error, IntegrityError):
                self._unavailable_until = asyncio.get_running_loop().time() + self._timings.cooldown_seconds
            raise _unavailable() from error

    async def _with_retries(self, engine: _Engine, work: Work[T]) -> T:
        try:
            return await engine.run(work)
        except Exception as error:
            if not _is_transient(error):
                raise
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        attempts = AsyncRetrying(
            stop=stop_after_attempt(_BACKOFF.attempts),
            wait=lambda state: _BACKOFF.delay(state.attempt_number),
            retry=retry_if_exception(_is_transient),
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
        """Migrate the tables to a revision, one process at a time; the revision they had before."""
        engine = self._migration_engine()
        try:
            with _database_errors():
                return await engine.run(lambda connection: _migrate(connection, revision, self._schema))
        finally:
            await engine.close()

    def _migration_engine(self) -> _Engine:
        timeout = self._timings.migration_timeout_seconds
        if not self.is_sqlite:
            return _AsyncEngine(self.url, self._timings, self._schema, statement_timeout=timeout, poolclass=NullPool)
        return _SqliteEngine(
            self.url, threads=1, begin="BEGIN IMMEDIATE", timeout=timeout, foreign_keys=False, poolclass=NullPool
        )

    async def drop_schema(self) -> None:
        """Delete the schema with everything in it; nothing is done where there is none, as on SQLite."""
        if self.is_sqlite or not self._schema:
            return
        engine = self._migration_engine()
        try:
            with _database_errors():
                await engine.run(
                    lambda connection: connection.execute(
                        sa.schema.DropSchema(self._schema, cascade=True, if_exists=True)
                    )
                )
        finally:
            await engine.close()

    async def revision(self) -> str | None:
        """The revision of the tables; None where there are none."""
        with _database_errors():
            return await self._reader.run(_revision)

    async def checkpoint(self) -> None:
        """Remove deleted text from SQLite's write-ahead log; while it is being read, that is left to a retry."""
        if isinstance(self._writer, _SqliteEngine):
            with _database_errors():
                self._checkpoint_due = not await self._writer.in_thread(self._writer.checkpoint)

    async def retry_checkpoint(self) -> None:
        """Do what the last checkpoint could not."""
        if self._checkpoint_due:
            await self.checkpoint()

    async def close(self) -> None:
        """Close all connections."""
        await self._writer.close()
        await self._reader.close()


class _Engine(Protocol):
    """Runs transactions on one of the two databases."""

    async def run(self, work: Work[T]) -> T:
        """Run a transaction."""

    async def close(self) -> None:
        """Close all connections."""


class _AsyncEngine:
    """Connections over an asynchronous driver."""

    def __init__(
        self, url: URL, timings: DatabaseTimings, schema: str, *, statement_timeout: float | None = None, **pool: Any
    ) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        timeout = timings.connect_timeout_seconds
        pool = pool or {"pool_size": _POOL_SIZE, "max_overflow": 0, "pool_timeout": timeout}
        connect: dict[str, Any] = {"timeout": timeout, "command_timeout": statement_timeout or 2 * timeout}
        if schema:
            connect["server_settings"] = {"search_path": f'"{schema}"'}
        self._engine = create_async_engine(url, connect_args=connect, **pool)

    async def run(self, work: Work[T]) -> T:
        """Run a transaction."""
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


class _SqliteEngine:
    """Connections used by dedicated threads; with one thread, writers queue in order."""

    def __init__(
        self, url: URL, *, threads: int, begin: str, timeout: float, foreign_keys: bool = True, **pool: Any
    ) -> None:
        pool = pool or {"pool_size": threads, "max_overflow": 0}
        self._path = url.database or ""
        self._is_private = False
        self._threads = started_pool(threads, "records")
        self._engine = sa.create_engine(url, connect_args={"timeout": timeout, "check_same_thread": False}, **pool)
        prepare = partial(_prepare_sqlite, timeout=timeout, foreign_keys=foreign_keys)
        sa.event.listen(self._engine, "connect", lambda connection, _: prepare(connection))
        sa.event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql(begin))

    async def run(self, work: Work[T]) -> T:
        """Run a transaction."""
        return await self.in_thread(lambda: self._transact(work))

    async def in_thread(self, call: Callable[[], T]) -> T:
        """Run something else that uses the file."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _transact(self, work: Work[T]) -> T:
        if not self._is_private:
            self._make_private()
        with self._engine.begin() as connection:
            return work(connection)

    def _make_private(self) -> None:
        """Close the file to others; SQLite gives its journals the same permissions when it creates them."""
        path = Path(self._path)
        make_private_folder(path.parent)
        make_private_file(path)
        for journal in path.parent.glob(f"{path.name}-*"):
            with suppress(FileNotFoundError):
                restrict_to_owner(journal)
        self._is_private = True

    def checkpoint(self) -> bool:
        """Move the write-ahead log into the database file and truncate it, unless it is being read; whether it was."""
        with closing(sqlite3.connect(self._path, timeout=0)) as connection:
            (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    async def close(self) -> None:
        """Close all connections once no thread uses them: cancelling a wait does not stop its thread."""
        self._threads.shutdown()
        self._engine.dispose()


def _prepare_sqlite(connection: sqlite3.Connection, *, timeout: float, foreign_keys: bool) -> None:
    """Set the connection up so that a commit is on the disk, and that deleted data is overwritten."""
    connection.isolation_level = None
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # For this statement SQLite itself does not wait for a writer. Other errors, such as a read-only file, stay.
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    for pragma in ("synchronous=FULL", "secure_delete=ON", f"foreign_keys={int(foreign_keys)}"):
        connection.execute(f"PRAGMA {pragma}")


def _revision(connection: sa.Connection) -> str | None:
    """The revision of the tables; None where there are none."""
    if "alembic_version" not in sa.inspect(connection).get_table_names():
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: sa.Connection, revision: str, schema: str) -> str | None:
    # Postgres migrations share one thread: a lock held across their awaits would never be released.
    with _ALEMBIC_LOCK if connection.dialect.name == "sqlite" else nullcontext():
        return _migrate_exclusively(connection, revision, schema)


def _migrate_exclusively(connection: sa.Connection, revision: str, schema: str) -> str | None:
    from alembic import command
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK_ID)))
        if schema:
            connection.execute(sa.schema.CreateSchema(schema, if_not_exists=True))
    config = _alembic_config()
    config.attributes["connection"] = connection
    before = MigrationContext.configure(connection).get_current_revision()
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    if before is not None and before not in revisions:
        raise DatabaseUnavailable(
            "The database was created by a newer version of Glossator.",
            "Install that version, or use another database.",
        )
    is_downgrade = before is not None and (revision == "base" or revisions.index(revision) < revisions.index(before))
    try:
        (command.downgrade if is_downgrade else command.upgrade)(config, revision)
    except CommandError as error:
        raise RecordsError(f"The database cannot be migrated: {error}.", "Restore it from a backup.") from None
    return before


def _alembic_config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


@contextmanager
def _database_errors() -> Iterator[None]:
    """Report any failure of the database as one error."""
    try:
        yield
    except Exception as error:
        if not _is_from_database(error):
            raise
        raise _unavailable() from error


def _is_from_database(error: BaseException) -> bool:
    """SQLAlchemy does not wrap all errors of the drivers, above all not while connecting."""
    driver = type(error).__module__.partition(".")[0] in ("asyncpg", "sqlite3")
    return driver or isinstance(error, SQLAlchemyError | OSError | TimeoutError)


def _is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed: after a lost connection, a server restart, a conflict with another transaction."""
    if isinstance(error, IntegrityError) or getattr(error, "connection_invalidated", False):
        return True
    state = getattr(getattr(error, "orig", error), "sqlstate", None) or ""
    return state.startswith(("08", "40", "57P")) or isinstance(error, ConnectionError)


def _unavailable() -> DatabaseUnavailable:
    return DatabaseUnavailable("The database of conversations is unavailable.", "Run `glossator doctor` to see why.")
