"""Exchanges are stored and returned whole, and history is paged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite

from glossator.core.answers import Answer, Mode, Suggestion
from glossator.core.conversations import ContextMode, Rating, session_key
from glossator.core.errors import BadInput
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.core.validation import MAX_QUESTION_LENGTH
from glossator.store.records.record_store import RecordStore
from glossator.store.records.schema import UtcTime, sessions
from record_helpers import KEY, OTHER_KEY, QUESTION, UNUSUAL_TEXT, add_exchange, execute, receipt_for, sample_receipt

pytestmark = pytest.mark.slow

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


async def test_history_returns_answers_as_shown(records: RecordStore) -> None:
    begun = datetime.now(UTC)
    expected = sample_receipt()
    request = Question(QUESTION)
    stored = await records.finish_turn(await records.begin_turn(KEY, request), request, expected)
    await add_exchange(records, question="And neap tides?")
    history = await records.history(KEY)
    first, second = history.exchanges
    assert first == stored
    assert first.answer == replace(expected.answer, session_id="tides", stored=True)
    assert (first.question, second.question) == (QUESTION, "And neap tides?")
    assert (history.total, history.before) == (2, None)
    assert begun <= first.timestamp <= second.timestamp <= datetime.now(UTC)
    assert first.in_context
    assert await records.receipt(expected.receipt_id) == expected


async def test_abstention_is_stored(records: RecordStore) -> None:
    nothing = Answer("The book does not say.", (), (), True, Mode.NO_RESULTS, 0.0, "", (Suggestion("T", "", ""),))
    expected = receipt_for(QUESTION, nothing, [])
    request = Question(QUESTION)
    await records.finish_turn(await records.begin_turn(KEY, request), request, expected)
    answer = (await records.history(KEY)).exchanges[0].answer
    assert answer == replace(expected.answer, session_id="tides", stored=True)


@given(question=TEXT, text=TEXT, quote=TEXT, title=TEXT)
@example(question=UNUSUAL_TEXT, text=UNUSUAL_TEXT, quote=UNUSUAL_TEXT, title=UNUSUAL_TEXT)
@example(question="ط" * 64_000, text="🌊" * 64_000, quote="\\" * 64_000, title='"' * 64_000)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_round_trips(records: RecordStore, question: str, text: str, quote: str, title: str) -> None:
    key, question = (
        session_key(None),
        f"«{question[: MAX_QUESTION_LENGTH - 2]}»",
    )  # blanks at its ends would be stripped
    expected = sample_receipt(question, text, quote, title, claim=text)
    request = Question(question, filters=Filters(chapter=title))
    await records.finish_turn(await records.begin_turn(key, request), request, expected)
    history = await records.history(key)
    assert history.exchanges[0].question == question
    assert history.exchanges[0].answer == replace(expected.answer, session_id=key.name, stored=True)
    assert history.session.active_filters == {"chapter": title}
    assert await records.receipt(expected.receipt_id) == expected


async def test_times_are_timezone_aware_utc(records: RecordStore) -> None:
    exchange = await add_exchange(records)
    await records.add_feedback(exchange.answer.receipt_id, Rating.UP)
    session = await records.session(KEY)
    feedback_time = (await records.feedback())[0].created_at
    for moment in (exchange.timestamp, session.created_at, session.last_active, feedback_time):
        assert moment.tzinfo is UTC
        assert abs(moment - datetime.now(UTC)) < timedelta(minutes=1)


async def test_time_in_another_zone_is_stored_as_utc(records: RecordStore) -> None:
    await add_exchange(records)
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=-7)))
    await execute(records, sa.update(sessions).values(last_active=moment))
    found = (await records.session(KEY)).last_active
    assert (found, found.tzinfo) == (moment, UTC)


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)
def test_naive_time_is_rejected(dialect: sa.Dialect) -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        UtcTime().process_bind_param(datetime(2026, 1, 1), dialect)


async def test_session_stores_context_mode_and_filters(records: RecordStore) -> None:
    turn = await records.begin_turn(KEY, Question("What is this?", "a text"))
    await records.cancel_turn(turn)
    assert (await records.session(KEY)).context_mode is ContextMode.USER_PROVIDED
    await add_exchange(records, filters=Filters(chapter="Tides"))
    session = await records.session(KEY)
    assert (session.context_mode, session.active_filters) == (ContextMode.RETRIEVAL_PIPELINE, {"chapter": "Tides"})


async def test_history_pages_have_no_gaps_or_duplicates(records: RecordStore) -> None:
    for number in range(7):
        await add_exchange(records, question=str(number))
        await add_exchange(records, OTHER_KEY)
    for limit in (1, 3, 6, 7, 100):
        page = await records.history(KEY, limit)
        pages = [page]
        while page.before is not None:
            page = await records.history(KEY, limit, page.before)
            pages.append(page)
        asked = [exchange.question for page in reversed(pages) for exchange in page.exchanges]
        assert asked == list("0123456")
        assert {page.total for page in pages} == {7}
        assert {len(page.exchanges) for page in pages[:-1]} <= {limit}


async def test_history_cursor_need_not_be_an_existing_id(records: RecordStore) -> None:
    await add_exchange(records)
    await add_exchange(records)
    for before, found in ((-1, 0), (0, 0), (1_000_000, 2)):
        page = await records.history(KEY, before=before)
        assert (len(page.exchanges), page.total, page.before) == (found, 2, None)


async def test_history_cursor_may_exceed_any_id(records: RecordStore) -> None:
    await add_exchange(records)
    for before in (2**31, 2**70):
        assert len((await records.history(KEY, before=before)).exchanges) == 1


async def test_history_limit_zero_is_empty_or_rejected(records: RecordStore) -> None:
    await add_exchange(records)
    with suppress(BadInput):
        assert (await records.history(KEY, 0)).exchanges == ()


async def test_turn_carries_the_last_five_exchanges(records: RecordStore) -> None:
    turn = await records.begin_turn(KEY, Question("0"))
    assert turn.recent == ()
    await records.finish_turn(turn, Question("0"), sample_receipt("0"))
    for number in range(1, 7):
        await add_exchange(records, question=str(number))
    turn = await records.begin_turn(KEY, Question("7"))
    assert [exchange.question for exchange in turn.recent] == ["2", "3", "4", "5", "6"]
    assert turn.recent == (await records.history(KEY, 5)).exchanges
    assert (await records.begin_turn(OTHER_KEY, Question("0"))).recent == ()


async def test_only_the_last_hundred_messages_are_in_context(records: RecordStore) -> None:
    for number in range(50):
        await add_exchange(records, question=str(number))
    assert all(exchange.in_context for exchange in (await records.history(KEY)).exchanges)
    for number in range(50, 60):
        await add_exchange(records, question=str(number))
    history = await records.history(KEY)
    assert (history.session.message_count, history.session.messages_left_out, history.total) == (120, 20, 60)
    assert [exchange.in_context for exchange in history.exchanges] == [False] * 10 + [True] * 50
    oldest = await records.history(KEY, 12, history.exchanges[12].id)
    assert [exchange.in_context for exchange in oldest.exchanges] == [False] * 10 + [True] * 2
