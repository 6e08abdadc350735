"""Connections to Postgres for threads: pooled, with timeouts, retries and a circuit breaker."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import BoundedSemaphore
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from glossator.core.errors import GlossatorError, IndexCorrupted, IndexUnavailable, SettingsError, StorageError
from glossator.core.resilience.breaker import CircuitBreaker
from glossator.core.resilience.retry import Backoff
from glossator.store.index.postgres.watchdog import Watchdog

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
Work = Callable[[Connection], T]

_CONNECT_SECONDS = 4
_POOL_SIZE = 10
_COOLDOWN_SECONDS = 2.0
_BACKOFF = Backoff(first_seconds=0.05, max_seconds=0.5, attempts=4)
_OPTIONS = {"sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "channel_binding", "target_session_attrs"}
"""Parameters of a database URL that the driver of the records and this one share."""
_CONNECTION_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


def connection_parameters(url: str) -> dict[str, Any]:
    """The parameters of a connection; `ssl`, as the driver of the records calls it, is `sslmode` here."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or not parsed.drivername.startswith("postgres"):
        raise SettingsError(
            "GLOSSATOR_INDEX is `postgres`, but DATABASE_URL is not the address of a Postgres database.",
            "Set DATABASE_URL to postgresql://user:password@host/name.",
        )
    query = {"sslmode" if name == "ssl" else name: value for name, value in parsed.query.items()}
    given = {
        "host": parsed.host,
        "port": parsed.port,
        "user": parsed.username,
        "password": parsed.password,
        "dbname": parsed.database,
        **{name: value for name, value in query.items() if name in _OPTIONS},
    }
    return {name: value for name, value in given.items() if value is not None}


class PostgresConnections:
    """Runs work in the calling thread, which opens a connection if none is idle, and so sees errors at once.

    Statements are not prepared: connection poolers such as PgBouncer hand every transaction to another server process.
    """

    def __init__(self, url: str, read_seconds: float) -> None:
        self._read_seconds = read_seconds
        self._parameters = connection_parameters(url) | {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "glossator",
            "tcp_user_timeout": int(1000 * read_seconds),
            "prepare_threshold": None,
            "autocommit": True,
        }
        self.place = f"Postgres at {self._parameters.get('host', 'localhost')}"
        self.breaker = CircuitBreaker(cooldown_seconds=_COOLDOWN_SECONDS)
        self._idle: list[Connection] = []
        weakref.finalize(self, _close_all, self._idle)
        self._slots = BoundedSemaphore(_POOL_SIZE)
        self._watchdog = Watchdog()

    def read(self, work: Work[T]) -> T:
        """Run statements that can be repeated, within a time limit."""
        if not self.breaker.allow_call():
            raise self._unavailable("it did not respond")
        deadline = time.monotonic() + self._read_seconds
        try:
            result = self._with_retries(work, deadline)
        except _CONNECTION_LOST as error:
            self.breaker.record_failure()
            late = time.monotonic() > deadline
            raise self._unavailable("it did not respond in time" if late else type(error).__name__) from error
        except (psycopg.Error, GlossatorError) as error:
            self.breaker.record_cancelled()
            raise self._translated(error) from error
        self.breaker.record_success()
        return result

    def write(self, work: Work[T]) -> T:
        """Run a transaction that can be repeated, however long it takes."""
        try:
            return self._with_retries(lambda connection: _transact(connection, work), None)
        except psycopg.Error as error:
            raise self._translated(error) from error

    def connect(self) -> Connection:
        """A dedicated connection, for a lock that lasts as long as the connection."""
        try:
            return psycopg.connect(**self._parameters)
        except psycopg.Error as error:
            raise self._translated(error) from error

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Report errors of a dedicated connection."""
        try:
            yield
        except psycopg.Error as error:
            raise self._translated(error) from error

    def close(self) -> None:
        """Close all connections that are not in use; the next call opens new ones."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop().close()

    def _with_retries(self, work: Work[T], deadline: float | None) -> T:
        attempt = 1
        while True:
            try:
                return self._on_connection(work, deadline)
            except _CONNECTION_LOST as error:
                delay = _BACKOFF.delay(attempt)
                late = deadline is not None and time.monotonic() + delay > deadline
                self.close()  # those that are idle were lost as well
                if attempt >= _BACKOFF.attempts or late or not _is_transient(error):
                    raise
            time.sleep(delay)
            attempt += 1

    def _on_connection(self, work: Work[T], deadline: float | None) -> T:
        if not self._slots.acquire(timeout=_CONNECT_SECONDS):
            raise psycopg.OperationalError("all connections are in use")
        try:
            connection = self._take()
            try:
                with self._watchdog.limit(connection, deadline) if deadline else nullcontext():
                    result = work(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            return result
        finally:
            self._slots.release()

    def _take(self) -> Connection:
        with suppress(IndexError):
            return self._idle.pop()
        return psycopg.connect(**self._parameters)

    def _translated(self, error: Exception) -> GlossatorError:
        """One of our errors; the database's own message may contain names, and stays in the log."""
        if isinstance(error, GlossatorError):
            return error
        if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName | errors.UndefinedColumn):
            return IndexCorrupted(f"The index in {self.place} is incomplete.", "Run `glossator ingest` again.")
        if isinstance(error, errors.DiskFull):
            return StorageError(f"{self.place} has no free disk space.", "Free disk space and retry.")
        if isinstance(error, errors.InsufficientPrivilege | errors.FeatureNotSupported | errors.UndefinedFile):
            return StorageError(
                f"{self.place} denied permission ({_first_line(error)}).",
                "Grant the user CREATE on the database, and let an administrator run: CREATE EXTENSION vector.",
            )
        if isinstance(error, _CONNECTION_LOST):
            return self._unavailable(_first_line(error))
        return StorageError(f"{self.place} cannot store the index ({_first_line(error)}).", "See the database's log.")

    def _unavailable(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(f"The index in {self.place} is unavailable ({reason}).", "Check DATABASE_URL.")


def _close_all(connections: list[Connection]) -> None:
    """Close what a pool that was never closed leaves."""
    for connection in connections:
        connection.close()


def _transact(connection: Connection, work: Work[T]) -> T:
    with connection.transaction():
        return work(connection)


def _is_transient(error: Exception) -> bool:
    """Whether a retry may succeed: not after a wrong password or a missing database."""
    state = getattr(error, "sqlstate", None) or ""
    return not state.startswith(("28", "3D"))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].strip() or type(error).__name__
