"""Feedback on stored answers."""

from __future__ import annotations

import pytest

from glossator.core.conversations import Rating, session_key
from glossator.core.errors import ReceiptNotFound
from glossator.store.records.record_store import RecordStore
from record_helpers import KEY, OTHER_KEY, QUESTION, UNUSUAL_TEXT, add_exchange, sample_receipt

pytestmark = pytest.mark.slow


async def test_feedback_is_listed_latest_first(records: RecordStore) -> None:
    loose = sample_receipt("Why?")
    await records.store_receipt(loose)
    receipt_id = (await add_exchange(records)).answer.receipt_id
    await records.add_feedback(receipt_id, Rating.UP, key=KEY)
    await records.add_feedback(loose.receipt_id, Rating.DOWN, "wrong", UNUSUAL_TEXT)
    latest, first = await records.feedback()
    assert (latest.rating, latest.reason, latest.text) == (Rating.DOWN, "wrong", UNUSUAL_TEXT)
    assert (latest.receipt_id, latest.question, latest.session) == (loose.receipt_id, "Why?", None)
    assert (first.rating, first.reason, first.text) == (Rating.UP, "", "")
    assert (first.receipt_id, first.question, first.session) == (receipt_id, QUESTION, "tides")
    assert [item.receipt_id for item in await records.feedback(1)] == [loose.receipt_id]


async def test_feedback_replaces_earlier_feedback_of_the_same_conversation(records: RecordStore) -> None:
    receipt_id = (await add_exchange(records)).answer.receipt_id
    await add_exchange(records, OTHER_KEY)
    await records.add_feedback(receipt_id, Rating.DOWN, "wrong", key=KEY)
    await records.add_feedback(receipt_id, Rating.DOWN, "other", key=OTHER_KEY)
    await records.add_feedback(receipt_id, Rating.UP, "right after all", key=KEY)
    stored = [(each.session, each.rating, each.reason) for each in await records.feedback()]
    assert stored == [("tides", Rating.UP, "right after all"), ("bread", Rating.DOWN, "other")]


@pytest.mark.parametrize("name", ["", "unknown", "' OR 1=1 --", "\0", "\ud800", "x" * 10_000])
async def test_feedback_on_an_unknown_answer_is_rejected(records: RecordStore, name: str) -> None:
    await add_exchange(records)
    for key in (None, KEY):
        with pytest.raises(ReceiptNotFound):
            await records.add_feedback(name, Rating.UP, key=key)
    assert await records.feedback() == []


@pytest.mark.parametrize("user", [None, "eve"])
async def test_feedback_on_an_answer_to_another_user_is_rejected(records: RecordStore, user: str | None) -> None:
    receipt_id = (await add_exchange(records, session_key("tides", "ada"))).answer.receipt_id
    with pytest.raises(ReceiptNotFound) as refused:
        await records.add_feedback(receipt_id, Rating.UP, user_id=user)
    with pytest.raises(ReceiptNotFound) as unknown:
        await records.add_feedback("unknown", Rating.UP, user_id=user)
    assert str(refused.value).replace(receipt_id, "unknown") == str(unknown.value)
    assert await records.feedback() == []
    await records.add_feedback(receipt_id, Rating.UP, user_id="ada")
    assert [each.session for each in await records.feedback()] == ["tides"]


async def test_answers_outside_conversations_are_rated_by_callers_without_a_user(records: RecordStore) -> None:
    await records.store_receipt(sample_receipt())
    receipt_id = sample_receipt().receipt_id
    with pytest.raises(ReceiptNotFound):
        await records.add_feedback(receipt_id, Rating.UP, user_id="ada")
    await records.add_feedback(receipt_id, Rating.DOWN)
    assert [each.rating for each in await records.feedback()] == [Rating.DOWN]


async def test_feedback_on_an_answer_of_another_conversation_is_rejected(records: RecordStore) -> None:
    await add_exchange(records)
    other = (await add_exchange(records, OTHER_KEY, "Why?")).answer.receipt_id
    with pytest.raises(ReceiptNotFound):
        await records.add_feedback(other, Rating.UP, key=KEY)
    assert await records.feedback() == []
