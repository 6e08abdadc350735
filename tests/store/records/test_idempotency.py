"""A request that is sent again is stored once."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

import pytest
import sqlalchemy as sa

from glossator.core.errors import BadInput, IdempotencyKeyReused
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.store.records.record_store import RecordStore
from glossator.store.records.schema import turns
from record_helpers import (
    KEY,
    OTHER_KEY,
    QUESTION,
    OpenStore,
    add_exchange,
    count_rows,
    execute,
    later,
    questions,
    sample_receipt,
)

pytestmark = pytest.mark.slow


async def test_same_key_returns_the_same_exchange(records: RecordStore) -> None:
    first = await add_exchange(records, idempotency_key="k")
    assert await add_exchange(records, idempotency_key="k") == first
    assert await count_rows(records, "conversations", "turns") == (1, 0)
    assert (await records.session(KEY)).message_count == 2


async def test_concurrent_requests_with_one_key_are_stored_once(open_records: OpenStore) -> None:
    processes = [await open_records(), await open_records()]
    found = await asyncio.gather(*(add_exchange(processes[number % 2], idempotency_key="k") for number in range(6)))
    assert all(exchange == found[0] for exchange in found)
    assert await count_rows(processes[0], "conversations", "turns") == (1, 0)


async def test_without_a_key_the_same_question_is_stored_again(records: RecordStore) -> None:
    assert (await add_exchange(records)).id != (await add_exchange(records)).id
    assert await questions(records) == [QUESTION, QUESTION]


@pytest.mark.parametrize(
    "other",
    [Question("another"), Question(QUESTION, "a selection"), Question(QUESTION, filters=Filters(chapter="Tides"))],
    ids=["question", "selection", "filter"],
)
async def test_key_reused_for_another_request_is_rejected(records: RecordStore, other: Question) -> None:
    await add_exchange(records, idempotency_key="k")
    with pytest.raises(IdempotencyKeyReused):
        await records.begin_turn(KEY, other, "k")
    assert await count_rows(records, "conversations", "turns") == (1, 0)


async def test_keys_are_separate_per_session(records: RecordStore) -> None:
    first = await add_exchange(records, idempotency_key="k")
    other = await add_exchange(records, OTHER_KEY, "another", idempotency_key="k")
    assert first.id != other.id
    assert await questions(records, OTHER_KEY) == ["another"]


async def test_reset_frees_the_keys_of_a_session(records: RecordStore) -> None:
    await add_exchange(records, idempotency_key="k")
    await records.reset(KEY)
    assert (await add_exchange(records, question="another", idempotency_key="k")).question == "another"


async def test_late_answer_to_a_retried_request_returns_the_stored_one(records: RecordStore) -> None:
    late = await records.begin_turn(KEY, Question(QUESTION), "k")
    await execute(records, sa.update(turns).values(expires_at=later(seconds=-1)))
    stored = await add_exchange(records, idempotency_key="k")
    assert await records.finish_turn(late, Question(QUESTION), sample_receipt()) == stored
    assert await count_rows(records, "conversations") == (1,)


async def test_long_key_is_accepted_or_rejected(records: RecordStore) -> None:
    named = secrets.token_hex(5_000)
    with suppress(BadInput):
        first = await add_exchange(records, idempotency_key=named)
        assert await add_exchange(records, idempotency_key=named) == first
