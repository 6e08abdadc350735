"""The tables: made by steps that run once, one process at a time, from every revision, with data in them, and back."""

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
from glossator.core.errors import RecordsDown, RecordsProblem, SettingsError
from glossator.store.records import schema
from glossator.store.records.database import HEAD, Database, _alembic, database_url
from glossator.store.records.record_store import Records
from postgres import Postgres
from writers import exchange

SEED = """
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
READER = uuid.UUID("0b9ff0a6-5a1f-4a54-8f6e-1a2b3c4d5e6f")
SOURCE = {
    "source_url": "https://book.example/ik#jacobian",
    "title": "Kinematics",
    "section": "The Jacobian",
    "chunk_position": 0,
    "similarity_score": 0.87,
    "snippet": "The Jacobian maps joint velocities to end-effector velocities.",
}
STEPS = ["0001", "0002"]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, room: Path) -> Database:
    if request.param == "sqlite":
        return Database(database_url("", room))
    server: Postgres = request.getfixturevalue("server")
    return Database(database_url(server.create(f"m{uuid.uuid4().hex}"), room))


def put_old_exchanges(db: sa.Connection) -> None:
    """Two exchanges as the first revision keeps them."""
    identity = READER if db.dialect.name == "postgresql" else READER.hex
    db.execute(sa.text("INSERT INTO sessions (session_id) VALUES (:id)"), {"id": identity})
    row = (
        "INSERT INTO conversations (session_id, query, response, sources) VALUES (:id, :query, 'The Jacobian. ü😀', {})"
    )
    json_value = "CAST(:sources AS JSONB)" if db.dialect.name == "postgresql" else ":sources"
    for query in ("What is it?", "And why?"):
        values = {"id": identity, "query": query, "sources": json.dumps([SOURCE])}
        db.execute(sa.text(row.format(json_value)), values)


def columns(db: sa.Connection) -> dict[str, set[str]]:
    looked = sa.inspect(db)
    names = [name for name in looked.get_table_names() if name != "alembic_version"]
    return {name: {column["name"] for column in looked.get_columns(name)} for name in names}


def indexes(db: sa.Connection) -> set[str]:
    looked = sa.inspect(db)
    return {str(index["name"]) for name in columns(db) for index in looked.get_indexes(name)}


def test_the_code_speaks_the_newest_revision() -> None:
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_alembic())
    assert script.get_current_head() == HEAD
    assert [step.revision for step in script.walk_revisions()][::-1] == STEPS


async def test_the_steps_make_exactly_the_tables_that_the_code_describes(database: Database) -> None:
    await database.upgrade()
    made = await database.read(columns)
    assert made == {table.name: {column.name for column in table.columns} for table in schema.metadata.sorted_tables}
    assert await database.read(indexes) >= {
        str(index.name) for table in schema.metadata.sorted_tables for index in table.indexes
    }
    await database.close()


@pytest.mark.parametrize("start", STEPS[:-1])
async def test_from_every_earlier_revision_with_data_in_it(database: Database, start: str) -> None:
    await database.upgrade(start)
    await database._writer.run(put_old_exchanges)
    records = Records(database)
    history = await records.history(session_key(str(READER)))
    assert [e.question for e in history.exchanges] == ["What is it?", "And why?"]
    answer = history.exchanges[0].answer
    assert answer.text == "The Jacobian. ü😀"
    assert (answer.citations[0].url, answer.citations[0].score) == (SOURCE["source_url"], 0.87)
    assert (history.session.message_count, history.session.state) == (4, "active")
    await exchange(records, str(READER), "And now?")
    assert len((await records.history(session_key(str(READER)))).exchanges) == 3
    await records.close()


async def test_back_to_the_first_revision_and_up_again_keeps_the_conversations(database: Database) -> None:
    records = Records(database)
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


async def test_back_to_nothing(database: Database) -> None:
    await database.upgrade()
    await database.upgrade("base")
    assert await database._writer.run(columns) == {}
    await database.close()


async def test_a_database_made_from_the_chat_services_own_sql_is_taken_over(server: Postgres, room: Path) -> None:
    name = f"m{uuid.uuid4().hex}"
    url = server.create(name)
    server.sql(SEED, name)
    database = Database(database_url(url, room))
    await database._writer.run(put_old_exchanges)
    records = Records(database)
    assert len((await records.history(session_key(str(READER)))).exchanges) == 2
    await records.close()


async def test_postgres_has_its_own_types(server: Postgres, room: Path) -> None:
    name = f"m{uuid.uuid4().hex}"
    database = Database(database_url(server.create(name), room))
    await database.upgrade()
    await database.close()
    types = "SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_name = 'conversations'"
    found = set(server.sql(types, name).splitlines())
    assert {"session_id uuid", "sources jsonb", "metadata jsonb", "timestamp timestamp with time zone"} <= found


def test_many_processes_that_start_at_once_migrate_once(database: Database, room: Path) -> None:
    url = "" if database.is_sqlite else database.url.render_as_string(hide_password=False)
    script = Path(__file__).parents[1] / "support" / "writers.py"
    command = [sys.executable, str(script), url, str(room), "2", "1"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outputs = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], outputs

    async def revision() -> str | None:
        try:
            return await database.revision()
        finally:
            await database.close()

    assert asyncio.run(revision()) == HEAD


async def test_records_of_a_newer_version_are_refused_by_name(room: Path) -> None:
    database = Database(database_url("", room))
    await database.upgrade()
    await database.close()
    with closing(sqlite3.connect(room / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    newer = Records(Database(database_url("", room)))
    with pytest.raises(RecordsProblem, match="newer version"):
        await exchange(newer, "one", "Anyone?")
    await newer.close()


async def test_a_failed_step_leaves_the_tables_as_they_were(room: Path) -> None:
    database = Database(database_url("", room))
    await database.upgrade("0001")

    def in_the_way(db: sa.Connection) -> None:
        db.execute(sa.text("CREATE TABLE feedback (something TEXT)"))

    await database._writer.run(in_the_way)
    with pytest.raises(RecordsDown):
        await database.upgrade()
    assert await database.revision() == "0001"
    assert set(await database._reader.run(columns)) == {"sessions", "conversations", "feedback"}
    await database.close()


def test_the_command_upgrades(room: Path) -> None:
    first = run("db", "upgrade", "--data-dir", room, "--json")
    assert json.loads(first.out) == {"revision": HEAD, "before": None}
    assert f"at {HEAD}" in run("db", "upgrade", "--data-dir", room).out


@pytest.mark.parametrize(
    ("given", "driver", "query"),
    [
        ("postgres://u:p@h/d", "postgresql+asyncpg", {}),
        ("postgresql://u:p@h:5433/d?sslmode=require&channel_binding=require", "postgresql+asyncpg", {"ssl": "require"}),
        ("postgresql+psycopg://u@h/d", "postgresql+asyncpg", {}),
        ("sqlite:////tmp/x.sqlite", "sqlite", {}),
    ],
)
def test_addresses_of_other_tools_are_understood(given: str, driver: str, query: dict[str, str]) -> None:
    url = database_url(given, Path())
    assert (url.drivername, dict(url.query)) == (driver, query)


@pytest.mark.parametrize("given", ["mysql://u:secret@h/d", "nonsense", "postgresql", "://"])
def test_another_address_is_refused_without_its_password(given: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL") as caught:
        database_url(given, Path())
    assert "secret" not in str(caught.value)
