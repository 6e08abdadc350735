"""Migrations run once, one process at a time, from every revision, with data, in both directions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from commands import run
from glossator.core.conversations import session_key
from glossator.core.errors import DatabaseUnavailable, RecordsError, SettingsError
from glossator.store.records import schema
from glossator.store.records.database import HEAD, Database, _alembic_config, database_url
from glossator.store.records.record_store import RecordStore
from paths import TESTS
from postgres import Postgres
from writers import exchange

pytestmark = pytest.mark.slow

ORIGINAL_SCHEMA = """
CREATE TABLE sessions (
    session_id UUID PRIMARY KEY,
    created_at TIMESTAMPTZ DEFAULT NOW(),
    last_active TIMESTAMPTZ DEFAULT NOW()
);
CREATE TABLE conversations (
    id SERIAL PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES sessions(session_id),
    timestamp TIMESTAMPTZ DEFAULT NOW(),
    query TEXT NOT NULL,
    response TEXT NOT NULL,
    sources JSONB DEFAULT '[]',
    metadata JSONB DEFAULT '{}',
    created_at TIMESTAMPTZ DEFAULT NOW()
);
CREATE INDEX idx_conversations_session ON conversations(session_id);
CREATE INDEX idx_conversations_timestamp ON conversations(timestamp DESC);
"""
SESSION_ID = uuid.UUID("0b9ff0a6-5a1f-4a54-8f6e-1a2b3c4d5e6f")
SOURCE = {
    "source_url": "https://book.example/ik#jacobian",
    "title": "Kinematics",
    "section": "The Jacobian",
    "chunk_position": 0,
    "similarity_score": 0.87,
    "snippet": "The Jacobian maps joint velocities to end-effector velocities.",
}
REVISIONS = ["0001", "0002"]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, fast_tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database(database_url("", fast_tmp_path))
    server: Postgres = request.getfixturevalue("server")
    return Database(database_url(server.create(f"m{uuid.uuid4().hex}"), fast_tmp_path))


def insert_old_exchanges(db: sa.Connection) -> None:
    """Insert two exchanges as the first revision stores them."""
    identity = SESSION_ID if db.dialect.name == "postgresql" else SESSION_ID.hex
    db.execute(sa.text("INSERT INTO sessions (session_id) VALUES (:id)"), {"id": identity})
    row = (
        "INSERT INTO conversations (session_id, query, response, sources) VALUES (:id, :query, 'The Jacobian. ü😀', {})"
    )
    json_value = "CAST(:sources AS JSONB)" if db.dialect.name == "postgresql" else ":sources"
    for query in ("What is it?", "And why?"):
        values = {"id": identity, "query": query, "sources": json.dumps([SOURCE])}
        db.execute(sa.text(row.format(json_value)), values)


def columns(db: sa.Connection) -> dict[str, set[str]]:
    inspector = sa.inspect(db)
    names = [name for name in inspector.get_table_names() if name != "alembic_version"]
    return {name: {column["name"] for column in inspector.get_columns(name)} for name in names}


def indexes(db: sa.Connection) -> set[str]:
    inspector = sa.inspect(db)
    return {str(index["name"]) for name in columns(db) for index in inspector.get_indexes(name)}


def test_head_is_the_newest_revision() -> None:
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_alembic_config())
    assert script.get_current_head() == HEAD
    assert [revision.revision for revision in script.walk_revisions()][::-1] == REVISIONS


async def test_migrations_create_exactly_the_tables_of_the_schema(database: Database) -> None:
    await database.upgrade()
    made = await database.read(columns)
    assert made == {table.name: {column.name for column in table.columns} for table in schema.metadata.sorted_tables}
    assert await database.read(indexes) >= {
        str(index.name) for table in schema.metadata.sorted_tables for index in table.indexes
    }
    await database.close()


@pytest.mark.parametrize("start", REVISIONS[:-1])
async def test_upgrade_from_every_earlier_revision_keeps_data(database: Database, start: str) -> None:
    await database.upgrade(start)
    await database._writer.run(insert_old_exchanges)
    records = RecordStore(database)
    history = await records.history(session_key(str(SESSION_ID)))
    assert [e.question for e in history.exchanges] == ["What is it?", "And why?"]
    answer = history.exchanges[0].answer
    assert answer.text == "The Jacobian. ü😀"
    assert (answer.citations[0].url, answer.citations[0].score) == (SOURCE["source_url"], 0.87)
    assert (history.session.message_count, history.session.state) == (4, "active")
    await exchange(records, str(SESSION_ID), "And now?")
    assert len((await records.history(session_key(str(SESSION_ID)))).exchanges) == 3
    await records.close()


async def test_downgrade_and_upgrade_keeps_conversations(database: Database) -> None:
    records = RecordStore(database)
    for question in ("One?", "Two?"):
        await exchange(records, "kept", question)
    before = [e.question for e in (await records.history(session_key("kept"))).exchanges]
    assert await database.upgrade("0001") == HEAD
    assert set(await database._writer.run(columns)) == {"sessions", "conversations"}
    assert await database.upgrade() == "0001"
    history = await records.history(session_key("kept"))
    assert [e.question for e in history.exchanges] == before
    assert history.exchanges[0].answer.citations
    await records.close()


async def test_downgrade_to_base_drops_all_tables(database: Database) -> None:
    await database.upgrade()
    await database.upgrade("base")
    assert await database._writer.run(columns) == {}
    await database.close()


async def test_database_of_the_original_chat_service_is_adopted(server: Postgres, fast_tmp_path: Path) -> None:
    name = f"m{uuid.uuid4().hex}"
    url = server.create(name)
    server.sql(ORIGINAL_SCHEMA, name)
    database = Database(database_url(url, fast_tmp_path))
    await database._writer.run(insert_old_exchanges)
    records = RecordStore(database)
    assert len((await records.history(session_key(str(SESSION_ID)))).exchanges) == 2
    await records.close()


async def test_postgres_columns_have_native_types(server: Postgres, fast_tmp_path: Path) -> None:
    name = f"m{uuid.uuid4().hex}"
    database = Database(database_url(server.create(name), fast_tmp_path))
    await database.upgrade()
    await database.close()
    types = "SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_name = 'conversations'"
    found = set(server.sql(types, name).splitlines())
    assert {"session_id uuid", "sources jsonb", "metadata jsonb", "timestamp timestamp with time zone"} <= found


def test_processes_that_start_at_once_migrate_once(database: Database, fast_tmp_path: Path) -> None:
    url = "" if database.is_sqlite else database.url.render_as_string(hide_password=False)
    script = TESTS / "support" / "servers" / "writers.py"
    command = [sys.executable, str(script), url, str(fast_tmp_path), "2", "1"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outputs = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], outputs

    async def revision() -> str | None:
        try:
            return await database.revision()
        finally:
            await database.close()

    assert asyncio.run(revision()) == HEAD


async def test_database_of_a_newer_version_is_rejected(fast_tmp_path: Path) -> None:
    database = Database(database_url("", fast_tmp_path))
    await database.upgrade()
    await database.close()
    with closing(sqlite3.connect(fast_tmp_path / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    newer = RecordStore(Database(database_url("", fast_tmp_path)))
    with pytest.raises(RecordsError, match="newer version"):
        await exchange(newer, "one", "Anyone?")
    await newer.close()


async def test_failed_migration_leaves_the_tables_unchanged(fast_tmp_path: Path) -> None:
    database = Database(database_url("", fast_tmp_path))
    await database.upgrade("0001")

    def create_conflicting_table(db: sa.Connection) -> None:
        db.execute(sa.text("CREATE TABLE feedback (something TEXT)"))

    await database._writer.run(create_conflicting_table)
    with pytest.raises(DatabaseUnavailable):
        await database.upgrade()
    assert await database.revision() == "0001"
    assert set(await database._reader.run(columns)) == {"sessions", "conversations", "feedback"}
    await database.close()


def test_db_upgrade_command(fast_tmp_path: Path) -> None:
    first = run("db", "upgrade", "--data-dir", fast_tmp_path, "--json")
    assert json.loads(first.out) == {"revision": HEAD, "before": None}
    assert f"at {HEAD}" in run("db", "upgrade", "--data-dir", fast_tmp_path).out


@pytest.mark.parametrize(
    ("given", "driver", "query"),
    [
        ("postgres://u:p@h/d", "postgresql+asyncpg", {}),
        ("postgresql://u:p@h:5433/d?sslmode=require&channel_binding=require", "postgresql+asyncpg", {"ssl": "require"}),
        ("postgresql+psycopg://u@h/d", "postgresql+asyncpg", {}),
        ("sqlite:////tmp/x.sqlite", "sqlite", {}),
    ],
)
def test_database_urls_of_other_tools_are_understood(given: str, driver: str, query: dict[str, str]) -> None:
    url = database_url(given, Path())
    assert (url.drivername, dict(url.query)) == (driver, query)


@pytest.mark.parametrize("given", ["mysql://u:secret@h/d", "nonsense", "postgresql", "://"])
def test_unsupported_database_url_is_rejected_without_its_password(given: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL") as caught:
        database_url(given, Path())
    assert "secret" not in str(caught.value)
