"""Sessions become inactive, expire and are deleted; old receipts too."""

from __future__ import annotations

import asyncio
import uuid

import pytest
import sqlalchemy as sa

from glossator.core.conversations import CleanupResult, Rating, SessionState, session_key
from glossator.core.errors import ReceiptNotFound, SessionNotFound
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.store.records.record_store import RecordStore
from glossator.store.records.schema import sessions
from record_helpers import KEY, QUESTION, OpenStore, add_exchange, count_rows, execute, later, questions, sample_receipt

pytestmark = pytest.mark.slow


async def test_session_without_an_answer_is_in_state_created(records: RecordStore) -> None:
    await records.cancel_turn(await records.begin_turn(KEY, Question(QUESTION)))
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.CREATED, 0)
    assert await count_rows(records) == (1, 0, 0, 0, 0)


async def test_session_becomes_inactive_and_active_again(records: RecordStore) -> None:
    await add_exchange(records)
    assert await records.clean(later(minutes=29)) == CleanupResult()
    assert (await records.session(KEY)).state is SessionState.ACTIVE
    assert await records.clean(later(minutes=31)) == CleanupResult(inactive=1)
    assert (await records.session(KEY)).state is SessionState.INACTIVE
    await add_exchange(records)
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.ACTIVE, 4)


async def test_quiet_session_is_inactive_before_cleanup(records: RecordStore) -> None:
    await add_exchange(records)
    await execute(records, sa.update(sessions).values(last_active=later(minutes=-31)))
    assert (await records.session(KEY)).state is SessionState.INACTIVE
    assert (await records.sessions())[0].state is SessionState.INACTIVE


async def test_expired_session_has_no_content(records: RecordStore) -> None:
    receipt_id = (await add_exchange(records, filters=Filters(chapter="Tides"))).answer.receipt_id
    await records.add_feedback(receipt_id, Rating.DOWN, "wrong", key=KEY)
    assert (await records.clean(later(hours=23.9))).expired == 0
    assert await records.clean(later(hours=24.1)) == CleanupResult(expired=1)
    history = await records.history(KEY)
    assert (history.exchanges, history.total, history.session.state) == ((), 0, SessionState.EXPIRED)
    assert (history.session.message_count, history.session.active_filters) == (0, {})
    assert await count_rows(records) == (1, 0, 0, 0, 0)
    with pytest.raises(ReceiptNotFound):
        await records.receipt(receipt_id)
    assert await records.clean(later(hours=24.2)) == CleanupResult()


async def test_expired_session_id_starts_a_new_conversation(records: RecordStore) -> None:
    await add_exchange(records, question="old")
    await records.clean(later(hours=25))
    turn = await records.begin_turn(KEY, Question("new"))
    assert turn.recent == ()
    assert (await records.session(KEY)).state is SessionState.CREATED
    await records.finish_turn(turn, Question("new"), sample_receipt("new"))
    assert await questions(records) == ["new"]
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.ACTIVE, 2)


async def test_expired_session_is_deleted_after_a_month(records: RecordStore) -> None:
    await add_exchange(records)
    await records.clean(later(hours=25))
    assert (await records.clean(later(days=30, hours=23))).forgotten == 0
    assert (await records.session(KEY)).state is SessionState.EXPIRED
    assert await records.clean(later(days=31, hours=1)) == CleanupResult(forgotten=1)
    with pytest.raises(SessionNotFound):
        await records.session(KEY)


async def test_unlimited_retention_expires_nothing(open_records: OpenStore) -> None:
    records = await open_records(None, None)
    await add_exchange(records)
    await records.store_receipt(sample_receipt("another"))
    assert await records.clean(later(days=36_500)) == CleanupResult(inactive=1)
    assert await questions(records) == [QUESTION]
    assert await count_rows(records, "receipts") == (2,)


async def test_old_receipts_are_deleted_unless_a_conversation_has_them(open_records: OpenStore) -> None:
    records = await open_records(None)
    held = (await add_exchange(records)).answer.receipt_id
    loose = sample_receipt("another")
    await records.store_receipt(loose)
    await records.add_feedback(loose.receipt_id, Rating.UP)
    assert (await records.clean(later(days=89))).receipts == 0
    assert (await records.clean(later(days=91))).receipts == 1
    assert (await records.receipt(held)).question == QUESTION
    with pytest.raises(ReceiptNotFound):
        await records.receipt(loose.receipt_id)
    assert await count_rows(records, "feedback") == (0,)


async def test_concurrent_cleanups_share_the_work(open_records: OpenStore) -> None:
    cleaners = [await open_records() for _ in range(4)]
    for number in range(3):
        await add_exchange(cleaners[0], session_key(f"session-{number}"))
    old = {"last_active": later(hours=-1), "state": "active"}
    await execute(cleaners[0], sa.insert(sessions), [{"session_id": uuid.uuid4(), **old} for _ in range(1200)])
    for number in range(30):
        await cleaners[0].store_receipt(sample_receipt(str(number)))
    done = await asyncio.gather(*(cleaner.clean(later(days=100)) for cleaner in cleaners))
    assert sum(each.inactive for each in done) == 1203
    assert sum(each.expired for each in done) == 1203
    assert sum(each.forgotten for each in done) == 1203
    assert sum(each.receipts for each in done) == 30
    assert await count_rows(cleaners[0]) == (0, 0, 0, 0, 0)
