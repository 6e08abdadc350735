"""Migrations run once, one process at a time, from every revision, with data, in both directions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import TypeAdapter

from commands import run
from glossator.core.answers import Answer
from glossator.core.conversations import Rating, session_key
from glossator.core.errors import DatabaseUnavailable, RecordsError, SettingsError
from glossator.core.receipts import Receipt
from glossator.store.records import schema
from glossator.store.records.database import HEAD, Database, _alembic_config, database_url
from glossator.store.records.record_store import RecordStore
from paths import TESTS
from postgres import Postgres
from record_helpers import KEY, QUESTION, add_exchange, contract_source, read_rows, sample_receipt
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
_POSTGRES_INDEX = "SELECT indexdef FROM pg_indexes WHERE indexname = "
REVISIONS = ["0001", "0002", "0003"]


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


def insert_second_revision_rows(db: sa.Connection, in_conversation: list[Receipt], loose: list[Receipt]) -> None:
    """Insert receipts, and a conversation with some of them, as the second revision stores them."""
    tables = sa.MetaData()
    for name in ("sessions", "receipts", "conversations"):
        sa.Table(name, tables, autoload_with=db)
    receipts, conversations = tables.tables["receipts"], tables.tables["conversations"]
    identity = KEY.session_id if db.dialect.name == "postgresql" else KEY.session_id.hex
    db.execute(sa.insert(tables.tables["sessions"]).values(session_id=identity, name=KEY.name, message_count=2))
    for receipt in (*in_conversation, *loose):
        body = TypeAdapter(Receipt).dump_python(receipt, mode="json")
        db.execute(sa.insert(receipts).values(receipt_id=receipt.receipt_id, body=body))
    for receipt in in_conversation:
        fields = TypeAdapter(Answer).dump_python(receipt.answer, mode="json")
        row = {"query": receipt.question, "response": fields.pop("text"), "sources": fields.pop("citations")}
        row |= {"session_id": identity, "metadata": fields | {"request": "f"}, "receipt_id": receipt.receipt_id}
        db.execute(sa.insert(conversations).values(row))


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


async def test_upgrade_from_the_first_revision_keeps_data(database: Database) -> None:
    await database.upgrade("0001")
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


async def test_upgrade_from_the_second_revision_keeps_answers_and_receipts(database: Database) -> None:
    await database.upgrade("0002")
    shared, loose = sample_receipt(), sample_receipt("Why?")
    await database._writer.run(lambda db: insert_second_revision_rows(db, [shared], [loose]))
    assert await database.upgrade() == "0002"
    records = RecordStore(database)
    (stored,) = (await records.history(KEY)).exchanges
    assert stored.answer == replace(shared.answer, session_id=KEY.name, stored=True)
    assert (stored.question, stored.selection) == (QUESTION, None)
    (row,) = await read_rows(records, "SELECT sources, metadata FROM conversations")
    assert row.sources == [contract_source(shared.answer.citations[0])]
    assert row.metadata["citations"][1]["quote"] == "They have the largest range."
    await records.delete(KEY)
    assert await records.stored_receipts([shared.receipt_id, loose.receipt_id]) == {loose.receipt_id}
    await records.add_feedback(loose.receipt_id, Rating.UP)
    await records.close()


@pytest.mark.parametrize("start", REVISIONS)
async def test_index_of_times_is_descending(database: Database, start: str) -> None:
    await database.upgrade(start)
    await database.upgrade()

    def definition(db: sa.Connection) -> str:
        source = "SELECT sql FROM sqlite_master WHERE name = " if database.is_sqlite else _POSTGRES_INDEX
        return str(db.execute(sa.text(f"{source}'idx_conversations_timestamp'")).scalar_one())

    assert "timestamp desc" in (await database.read(definition)).lower().replace('"', "")
    await database.close()


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


async def test_downgrade_by_one_revision_keeps_answers(database: Database) -> None:
    records = RecordStore(database)
    stored = await add_exchange(records)
    await database.upgrade("0002")
    await database.upgrade()
    assert (await records.history(KEY)).exchanges == (stored,)
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
