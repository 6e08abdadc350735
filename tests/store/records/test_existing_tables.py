"""Rows that other programs wrote, and the first use of a database."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from glossator.core.answers import Citation, Mode
from glossator.core.conversations import SessionKey, session_key
from glossator.core.question import Question
from glossator.store.records.database import HEAD, Database, database_url
from glossator.store.records.record_store import RecordStore
from glossator.store.records.schema import conversations, sessions
from postgres import Postgres
from record_helpers import OpenStore, add_exchange, count_rows, execute, questions, sample_receipt

pytestmark = pytest.mark.slow

SOURCE = {
    "source_url": "https://example.org/tides",
    "title": "Tides",
    "section": "Spring tides",
    "chunk_position": 3,
    "similarity_score": 0.75,
    "snippet": "Spring tides occur at new moon.",
}


SELECTED = {
    "source_type": "selected_text",
    "selection_length": 900,
    "snippet": "Spring tides occur at new moon.",
    "relevance_note": "All of it.",
}


async def insert_foreign_exchange(
    records: RecordStore, key: SessionKey, *more: dict[str, Any], first: dict[str, Any] = SOURCE
) -> None:
    """Insert a session and an exchange with only the columns of the chat service that had these tables before."""

    def table(source: sa.Table, *names: str) -> sa.TableClause:
        return sa.table(source.name, *(sa.column(name, source.c[name].type) for name in names))

    await execute(records, sa.insert(table(sessions, "session_id")), {"session_id": key.session_id})
    columns = {"session_id": key.session_id, "query": "When?", "response": "At new moon."}
    row = columns | {"sources": [first, *more]}
    await execute(records, sa.insert(table(conversations, *row)), row)


async def assert_foreign_exchange_is_read(records: RecordStore, key: SessionKey) -> None:
    """Check that the exchange of the other program can be read."""
    history = await records.history(key)
    exchange = history.exchanges[0]
    assert (exchange.question, exchange.answer.text) == ("When?", "At new moon.")
    source = ("https://example.org/tides", "Tides", "Spring tides", "Spring tides occur at new moon.")
    assert exchange.answer.citations == (Citation(1, *source, 0, 0, 0.75, position=3),)
    assert (exchange.answer.session_id, exchange.answer.stored) == (key.name, True)
    assert abs(exchange.timestamp - datetime.now(UTC)) < timedelta(minutes=1)
    assert exchange.timestamp.tzinfo is UTC
    assert history.session.key == key


async def assert_conversation_continues(records: RecordStore, key: SessionKey) -> None:
    """Check that the conversation can be continued and deleted."""
    assert (await records.history(key)).total == 1
    turn = await records.begin_turn(key, Question("And then?"))
    assert [each.question for each in turn.recent] == ["When?"]
    await records.finish_turn(turn, Question("And then?"), sample_receipt("And then?"))
    assert await questions(records, key) == ["When?", "And then?"]
    await records.delete(key)
    assert await count_rows(records) == (0, 0, 0, 0, 0)


async def test_existing_conversations_are_migrated(records: RecordStore, open_records: OpenStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await count_rows(records)
    await records.database.upgrade("0001")
    await insert_foreign_exchange(records, key)
    await records.database.upgrade()
    await assert_foreign_exchange_is_read(await open_records(), key)
    await assert_conversation_continues(records, key)


async def test_rows_of_another_program_are_read(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key)
    await assert_foreign_exchange_is_read(records, key)


async def test_selection_that_another_program_stored_is_a_source(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key, first=SELECTED)
    answer = (await records.history(key)).exchanges[0].answer
    assert answer.mode is Mode.SELECTED_TEXT
    assert answer.citations == (Citation(1, "", "Your selection", "", SELECTED["snippet"], 0, 0, 0.0),)
    assert answer.selection_note == "The answer is based on this selection only."


async def test_numbers_of_a_source_are_within_their_limits(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    odd = {"similarity_score": -0.2, "chunk_position": -1}
    await insert_foreign_exchange(records, key, odd, first={"similarity_score": 1.7})
    citations = (await records.history(key)).exchanges[0].answer.citations
    assert [(cited.number, cited.score, cited.position) for cited in citations] == [(1, 1.0, 0), (2, 0.0, 0)]


async def test_missing_fields_of_a_source_are_empty(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key, {}, dict.fromkeys(SOURCE))
    _, *empty = (await records.history(key)).exchanges[0].answer.citations
    assert empty == [Citation(number, "", "", "", "", 0, 0, 0.0) for number in (2, 3)]


async def test_malformed_row_does_not_hide_a_conversation(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key)
    texts = ["https://example.org/tides"]
    for sources in (None, [], texts, [None], SOURCE, [{"similarity_score": "high"}], [{"chunk_position": "first"}]):
        await execute(records, sa.update(conversations).values(sources=sources, metadata=None, timestamp=None))
        assert (await records.history(key)).exchanges[0].answer.text == "At new moon."
    await execute(records, sa.update(conversations).values(metadata=texts))
    assert (await records.history(key)).exchanges[0].answer.text == "At new moon."


async def test_foreign_metadata_does_not_hide_sources(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key)
    for noted in ({"model": "m"}, {"mode": "rag"}, {"confidence": None}):
        await execute(records, sa.update(conversations).values(metadata=noted))
        await assert_foreign_exchange_is_read(records, key)


async def test_session_without_times_does_not_hide_others(records: RecordStore) -> None:
    await add_exchange(records)
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key)
    timeless = sa.update(sessions).where(sessions.c.session_id == key.session_id)
    await execute(records, timeless.values(created_at=None, last_active=None))
    assert len(await records.sessions()) == 2


async def test_conversation_of_another_program_can_be_continued(records: RecordStore) -> None:
    key = session_key(str(uuid.uuid4()))
    await insert_foreign_exchange(records, key)
    await assert_conversation_continues(records, key)


async def test_concurrent_first_uses_create_the_tables_once(backend: Postgres | None, tmp_path: Path) -> None:
    for number in range(1 if backend else 4):
        url = backend.create("untouched") if backend else ""
        processes = [RecordStore(Database(database_url(url, tmp_path / str(number)))) for _ in range(4)]
        try:
            await asyncio.gather(*(add_exchange(records, idempotency_key="k") for records in processes))
            assert await count_rows(processes[0], "conversations") == (1,)
            assert await processes[0].database.revision() == HEAD
        finally:
            for records in processes:
                await records.close()


async def test_first_use_waits_for_another_writer(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    records = RecordStore(Database(database_url("", tmp_path)))
    try:
        first = asyncio.create_task(add_exchange(records))
        await asyncio.sleep(0.3)
        other.execute("COMMIT")
        assert (await first).answer.stored
    finally:
        other.close()
        await records.close()
