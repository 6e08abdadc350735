"""Text that the database cannot store is rejected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from glossator.core.conversations import Rating, SessionState, session_key
from glossator.core.errors import BadInput, GlossatorError
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.types import Filters
from glossator.store.records.record_store import RecordStore
from record_helpers import KEY, QUESTION, add_exchange, count_rows, sample_receipt

pytestmark = pytest.mark.slow

INVALID_TEXTS = ("a\0b", "a\ud800b")


@pytest.mark.parametrize("field", ["question", "key", "filter", "user"])
async def test_invalid_text_begins_no_turn(records: RecordStore, field: str) -> None:
    for bad in INVALID_TEXTS:
        user, key = (bad if field == name else None for name in ("user", "key"))
        text, chapter = (bad if field == "question" else QUESTION), (bad if field == "filter" else None)
        with pytest.raises(BadInput):
            await records.begin_turn(session_key("tides", user), Question(text, filters=Filters(chapter=chapter)), key)
    assert await count_rows(records) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("field", ["text", "quote", "claim"])
async def test_invalid_text_is_not_stored(records: RecordStore, field: str) -> None:
    turn = await records.begin_turn(KEY, Question(QUESTION))
    for bad in INVALID_TEXTS:
        with pytest.raises(BadInput):
            await records.finish_turn(turn, Question(QUESTION), receipt_with(field, bad))
    await records.cancel_turn(turn)
    assert await count_rows(records) == (1, 0, 0, 0, 0)


def receipt_with(field: str, bad: str) -> Receipt:
    """A receipt whose answer contains an invalid text."""
    good = sample_receipt()
    answer, citation, claim = good.answer, good.answer.citations[0], good.answer.unsupported_claims[0]
    if field == "text":
        answer = replace(answer, text=bad)
    elif field == "quote":
        answer = replace(answer, citations=(replace(citation, quote=bad),))
    else:
        answer = replace(answer, unsupported_claims=(replace(claim, text=bad),))
    return replace(good, answer=answer)


@pytest.mark.parametrize("field", ["reason", "text"])
async def test_invalid_text_in_feedback_is_rejected(records: RecordStore, field: str) -> None:
    receipt_id = (await add_exchange(records)).answer.receipt_id
    for bad in INVALID_TEXTS:
        with pytest.raises(BadInput):
            await records.add_feedback(receipt_id, Rating.UP, **{field: bad})
    assert await records.feedback() == []


async def test_invalid_input_does_not_make_the_database_seem_unavailable(records: RecordStore) -> None:
    await add_exchange(records)
    with suppress(GlossatorError):
        await records.begin_turn(KEY, Question(QUESTION, filters=Filters(chapter="\0")))
    assert (await records.session(KEY)).state is SessionState.ACTIVE
