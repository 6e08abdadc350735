"""Resetting and deleting sessions leaves nothing behind."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from glossator.core.conversations import Rating, SessionKey, SessionState, session_key
from glossator.core.errors import ConversationChanged, ReceiptNotFound, SessionNotFound
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.store.records.database import Database, database_url
from glossator.store.records.record_store import RecordStore
from record_helpers import (
    KEY,
    OTHER_KEY,
    QUESTION,
    OpenStore,
    add_exchange,
    count_rows,
    later,
    questions,
    sample_receipt,
    wait_for_queued_turns,
)

pytestmark = pytest.mark.slow


async def fill(records: RecordStore) -> str:
    """Store an exchange with feedback; the id of its receipt."""
    receipt_id = (await add_exchange(records)).answer.receipt_id
    await records.add_feedback(receipt_id, Rating.DOWN, "wrong", "It is not so.", KEY)
    return receipt_id


async def test_deleted_session_leaves_no_rows(records: RecordStore) -> None:
    await fill(records)
    await records.begin_turn(KEY, Question("under way"))
    assert await count_rows(records) == (1, 1, 1, 1, 1)
    await records.delete(KEY)
    assert await count_rows(records) == (0, 0, 0, 0, 0)
    for gone in (records.history(KEY), records.session(KEY), records.delete(KEY), records.reset(KEY)):
        with pytest.raises(SessionNotFound):
            await gone


async def test_reset_session_is_empty(records: RecordStore) -> None:
    await fill(records)
    await records.begin_turn(KEY, Question("under way", filters=Filters(chapter="Tides")))
    await records.reset(KEY)
    assert await count_rows(records) == (1, 0, 0, 0, 0)
    history = await records.history(KEY)
    assert (history.exchanges, history.total, history.session.active_filters) == ((), 0, {})
    assert history.session.state is SessionState.CREATED
    assert (await records.begin_turn(KEY, Question("again"))).recent == ()


@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset])
async def test_receipt_shared_by_two_sessions_stays_for_the_other(
    records: RecordStore, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    mine, theirs = await fill(records), (await add_exchange(records, OTHER_KEY)).answer.receipt_id
    assert mine == theirs
    await records.add_feedback(theirs, Rating.UP, key=OTHER_KEY)
    await remove(records, KEY)
    assert (await records.receipt(theirs)).question == QUESTION
    assert [item.session for item in await records.feedback()] == ["bread"]
    await remove(records, OTHER_KEY)
    with pytest.raises(ReceiptNotFound):
        await records.receipt(theirs)


async def expire(records: RecordStore, _key: SessionKey) -> None:
    await records.clean(later(hours=25))


@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset, expire])
async def test_receipt_given_outside_conversations_stays(
    records: RecordStore, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    receipt_id = await fill(records)
    await records.store_receipt(sample_receipt())
    await remove(records, KEY)
    assert (await records.receipt(receipt_id)).question == QUESTION
    assert await count_rows(records, "conversations", "turns", "feedback") == (0, 0, 0)


@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset, expire])
async def test_feedback_that_names_no_conversation_is_removed_with_its_own(
    records: RecordStore, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    receipt_id = (await add_exchange(records)).answer.receipt_id
    await add_exchange(records, session_key("theirs", "bob"))
    await records.add_feedback(receipt_id, Rating.DOWN, text="It is not so.")
    await remove(records, KEY)
    assert await count_rows(records, "feedback") == (0,)


@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset])
async def test_turn_in_progress_is_not_stored_after_removal(
    records: RecordStore, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    turn = await records.begin_turn(KEY, Question(QUESTION))
    await remove(records, KEY)
    with pytest.raises(ConversationChanged):
        await records.finish_turn(turn, Question(QUESTION), sample_receipt())
    assert await count_rows(records, "conversations", "receipts", "turns") == (0, 0, 0)
    await add_exchange(records, question="new")
    with pytest.raises(ConversationChanged):
        await records.finish_turn(turn, Question(QUESTION), sample_receipt())
    assert await questions(records) == ["new"]
    assert (await records.session(KEY)).message_count == 2


@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset])
async def test_waiting_turn_fails_when_its_session_is_removed(
    records: RecordStore, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    await records.begin_turn(KEY, Question("first"))
    waiting = asyncio.create_task(records.begin_turn(KEY, Question("second")))
    await wait_for_queued_turns(records, 2)
    await remove(records, KEY)
    with pytest.raises(ConversationChanged):
        await waiting
    assert await count_rows(records, "turns") == (0,)


def words_in_files(words: list[bytes], folder: Path) -> set[bytes]:
    """The words that occur in any file of the database."""
    files = [file.read_bytes() for file in folder.glob("records.sqlite*")]
    return {word for word in words for written in files if word in written}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("remove", [RecordStore.delete, RecordStore.reset, expire])
async def test_deleted_text_leaves_no_bytes_in_the_files(
    open_records: OpenStore, tmp_path: Path, remove: Callable[[RecordStore, SessionKey], Awaitable[None]]
) -> None:
    records, reader = await open_records(), await open_records()
    words = [b"quagga", b"thylacine", b"dodo", b"moa", b"aurochs", b"tarpan", b"huia"]
    question, text, quote, reason, chapter, key, selection = (word.decode() * 300 for word in words)
    request = Question(question, selection, filters=Filters(chapter=chapter))
    expected = sample_receipt(question, text, quote)
    await records.finish_turn(await records.begin_turn(KEY, request, key[:250]), request, expected)
    await records.add_feedback(expected.receipt_id, Rating.DOWN, reason, key=KEY)
    assert (await reader.history(KEY)).total == 1
    assert words_in_files(words, tmp_path) == set(words)
    await remove(records, KEY)
    assert words_in_files(words, tmp_path) == set()


@pytest.mark.parametrize("retry", [RecordStore.clean, RecordStore.finish_deletions])
async def test_text_still_read_by_another_process_is_removed_later(
    tmp_path: Path, retry: Callable[[RecordStore], Awaitable[None]]
) -> None:
    records = RecordStore(Database(database_url("", tmp_path)))
    await add_exchange(records, question="quagga")
    reader = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT query FROM conversations").fetchall() == [("quagga",)]
    await records.delete(KEY)
    reader.execute("COMMIT")
    reader.close()
    await retry(records)
    assert words_in_files([b"quagga"], tmp_path) == set()
    await records.close()
