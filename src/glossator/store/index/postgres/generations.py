"""Generations in Postgres: each has its own tables, and one transaction switches to the next."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from psycopg import errors, sql

from glossator.core.book.manifest import Manifest
from glossator.core.errors import IndexCorrupted, IngestRunning, StorageError
from glossator.core.ports import Generation, GenerationContents, no_check
from glossator.store.index.manifest import dump_manifest
from glossator.store.index.postgres.connections import Connection, PostgresConnections
from glossator.store.index.postgres.documents import PostgresDocuments
from glossator.store.index.postgres.index import PostgresIndex
from glossator.store.index.postgres.tables import PREPARE, GenerationTables
from glossator.store.index.postgres.writer import write_generation
from glossator.store.index.shared import ServerTimes, SharedGenerations, book_names

_LOCK_TIMEOUT_SECONDS = 2
"""How long to wait for searches before a table is dropped; if they take longer, the next ingest drops it."""


class PostgresGenerations(SharedGenerations):
    """The generations of one index in a database."""

    def __init__(self, url: str, name: str, times: ServerTimes | None = None) -> None:
        super().__init__()
        self._times = times or ServerTimes()
        self._connections = PostgresConnections(url, self._times.read_seconds)
        self._name = name
        self.place = self._connections.place
        self._lock: Connection | None = None

    def books(self) -> list[str]:
        """The names of the books whose schemas are beside this one."""
        rows = self._connections.read(
            lambda connection: connection.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (f"{self._name}-",)
            ).fetchall()
        )
        return book_names((str(name) for (name,) in rows), f"{self._name}-")

    def next_number(self) -> int:
        """A number higher than that of any generation, now or before."""
        row = self._connections.read(
            lambda connection: connection.execute(self._statement("SELECT last FROM {schema}.head")).fetchone()
        )
        return int(row[0]) + 1 if row else 1

    @contextmanager
    def ingest_lock(self) -> Iterator[None]:
        """Hold the lock that lets one process ingest at a time; the server releases it if the process dies."""
        with self._connections.connect() as connection:
            with self._connections.translated_errors():
                connection.execute("SELECT set_config('idle_session_timeout', '0', false)")
                row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock_id,)).fetchone()
                if not (row and row[0]):
                    raise IngestRunning(f"Another ingest is writing to {self.place}.", "Wait until it has finished.")
                self._prepare(connection)
            self._lock = connection
            try:
                yield
            finally:
                self._lock = None
                with suppress(errors.Error):  # the server would notice only later that the connection is closed
                    connection.execute("SELECT pg_advisory_unlock(%s)", (self._lock_id,))

    def build(
        self, manifest: Manifest, contents: GenerationContents, check: Callable[[Generation], None] = no_check
    ) -> None:
        """Write a generation into its own tables, then make it the current one.

        After a failure the tables stay, and the next build of the same contents continues with them.
        """
        tables = self._tables(manifest.generation)
        self._begin(tables, manifest)
        write_generation(self._connections, tables, manifest, contents, self._image_reader(contents.image))
        self._check_and_switch(manifest, check)
        self._delete_old()

    def clear(self) -> None:
        """Delete the index: nothing is left to search."""
        connection = self._locked()
        with self._connections.translated_errors():
            with connection.transaction():
                connection.execute(self._statement("UPDATE {schema}.head SET current = NULL"))
            self._current.refresh()
            for (number,) in connection.execute(self._statement("SELECT number FROM {schema}.generations")).fetchall():
                self._drop(connection, number)

    def drop_all(self) -> None:
        """Delete everything that this index has in the database."""
        with self._connections.connect() as connection, self._connections.translated_errors():
            connection.execute(self._statement("DROP SCHEMA IF EXISTS {schema} CASCADE"))

    def close(self) -> None:
        """Close all connections; they are opened again when they are needed."""
        self._current.close()
        self._connections.close()

    def _read_current(self) -> int | None:
        try:
            statement = self._statement("SELECT current FROM {schema}.head")
            row = self._connections.read(lambda connection: connection.execute(statement).fetchone())
        except IndexCorrupted:  # no tables yet
            return None
        return int(row[0]) if row and row[0] is not None else None

    def _read_manifest(self, number: int) -> str | None:
        statement = self._statement("SELECT manifest FROM {schema}.generations WHERE number = %s AND is_complete")
        row = self._connections.read(lambda connection: connection.execute(statement, (number,)).fetchone())
        return str(row[0]) if row else None

    def _load(self, manifest: Manifest) -> Generation:
        tables = self._tables(manifest.generation)
        return Generation(
            manifest,
            PostgresIndex(self._connections, tables, manifest),
            PostgresDocuments(self._connections, tables, manifest),
        )

    def _prepare(self, connection: Connection) -> None:
        """Create what all generations share."""
        with suppress(errors.UniqueViolation):  # another process creates it at this moment
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        for statement in PREPARE.split(";\n"):
            if statement.strip():
                connection.execute(self._statement(statement))

    def _begin(self, tables: GenerationTables, manifest: Manifest) -> None:
        """Create the tables of a generation, or continue an earlier attempt to build the same."""
        connection = self._locked()
        with self._connections.translated_errors(), connection.transaction():
            attempts = connection.execute(
                self._statement("SELECT number, manifest FROM {schema}.generations WHERE NOT is_complete")
            ).fetchall()
            same = [number for number, text in attempts if self._is_attempt_at(manifest, text)]
            for number, _ in attempts:
                if number not in same[:1]:
                    self._drop(connection, number)
            connection.execute(self._statement("UPDATE {schema}.head SET last = greatest(last, %s)"), (tables.number,))
            if not same:
                connection.execute(tables.create(manifest.dimension))
            elif same[0] != tables.number:
                for statement in self._tables(same[0]).renamed_to(tables.number):
                    connection.execute(statement)
            connection.execute(self._statement("DELETE FROM {schema}.generations WHERE number = ANY(%s)"), (same,))
            connection.execute(
                self._statement("INSERT INTO {schema}.generations VALUES (%s, false, %s, NULL)"),
                (tables.number, dump_manifest(manifest)),
            )

    def _previous(self) -> int | None:
        statement = self._statement(
            "SELECT number FROM {schema}.generations WHERE replaced_at IS NOT NULL ORDER BY replaced_at DESC LIMIT 1"
        )
        row = self._connections.read(lambda connection: connection.execute(statement).fetchone())
        return int(row[0]) if row else None

    def _switch(self, number: int) -> None:
        """Make a generation the current one, on the connection that holds the lock: without the lock, it fails."""
        connection = self._locked()
        with self._connections.translated_errors(), connection.transaction():
            connection.execute(
                self._statement(
                    "UPDATE {schema}.generations SET replaced_at = now()"
                    " WHERE number = (SELECT current FROM {schema}.head)"
                )
            )
            connection.execute(
                self._statement(
                    "UPDATE {schema}.generations SET is_complete = true, replaced_at = NULL WHERE number = %s"
                ),
                (number,),
            )
            connection.execute(self._statement("UPDATE {schema}.head SET current = %s"), (number,))
        self._current.refresh()

    def _delete_old(self) -> None:
        """Delete generations that no process can still be using; the previous one is kept."""
        connection = self._locked()
        previous = self._previous()
        old = self._statement(
            "SELECT number FROM {schema}.generations WHERE replaced_at < now() - make_interval(secs => %s)"
        )
        with self._connections.translated_errors():
            for (number,) in connection.execute(old, (self._times.retention_seconds,)).fetchall():
                if number != previous:
                    self._drop(connection, number)

    def _drop(self, connection: Connection, number: int) -> None:
        """Drop the tables of a generation, unless searches hold them too long."""
        with suppress(errors.LockNotAvailable), connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{_LOCK_TIMEOUT_SECONDS}s",))
            connection.execute(self._tables(number).drop())
            connection.execute(self._statement("DELETE FROM {schema}.generations WHERE number = %s"), (number,))

    def _locked(self) -> Connection:
        if self._lock is None:
            raise StorageError("The ingest lock is not held.", "Use `ingest_lock`.")
        return self._lock

    def _tables(self, number: int) -> GenerationTables:
        return GenerationTables(self._name, number)

    @property
    def _lock_id(self) -> int:
        digest = hashlib.sha256(f"glossator ingest {self._name}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _statement(self, template: str) -> sql.Composed:
        return sql.SQL(template).format(schema=sql.Identifier(self._name))
