"""What the records promise, run over SQLite and over a real Postgres."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite

from glossator.core.answers import (
    Answer,
    Citation,
    Evidence,
    Mode,
    Sentence,
    Status,
    Suggestion,
    UnsupportedClaim,
    Verdict,
)
from glossator.core.conversations import (
    Cleaned,
    ContextMode,
    Exchange,
    Rating,
    Session,
    SessionKey,
    SessionState,
    Turn,
    session_key,
)
from glossator.core.errors import (
    BadInput,
    ConversationBusy,
    GlossatorError,
    ReceiptNotFound,
    RequestKeyReused,
    SessionIdError,
    SessionNotFound,
    TurnLost,
)
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.types import Filters, Passage
from glossator.core.validation import MAX_QUESTION
from glossator.pipeline.receipts import make_receipt
from glossator.store.records.database import HEAD, Database, database_url
from glossator.store.records.record_store import Records
from glossator.store.records.schema import UtcTime, conversations, sessions, turns
from postgres import Postgres

Open = Callable[..., Awaitable[Records]]

DAY, MONTHS = timedelta(hours=24), timedelta(days=90)
KEY = session_key("tides")
OTHER = session_key("bread")
QUESTION = "When do spring tides occur?"
TABLES = ("sessions", "conversations", "receipts", "turns", "feedback")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
STRANGE = (
    "'\"\\ \\u0000 \\' %s :x {} 🌊 \U0001f469\u200d\U0001f680 a\u0301\u0323 \u202eمدّ וגאות\u202c"
    " \x01\x1f\x7f\ufeff\uffff\U0010ffff\r\n\t\u2028 "
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file that has the tables already."""
    folder = tmp_path_factory.mktemp("empty")
    asyncio.run(Database(database_url("", folder)).upgrade())
    return folder / "records.sqlite"


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest) -> Postgres | None:
    """Where the records are; None means SQLite."""
    return request.getfixturevalue("server") if request.param == "postgres" else None


@pytest.fixture
async def url(backend: Postgres | None, empty: Path, tmp_path: Path) -> AsyncIterator[str]:
    """An empty database; on Postgres the same one is emptied after each test, for making one takes half a second."""
    if backend is None:
        shutil.copy(empty, tmp_path)
        yield ""
        return
    yield backend.url()
    operator = await asyncpg.connect(backend.url())
    await operator.execute(f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY")
    await operator.close()


@pytest.fixture
async def open_records(url: str, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the database, each time as another process would, and looks into it once."""
    opened: list[Records] = []

    async def make(keep: timedelta | None = DAY, keep_receipts: timedelta | None = MONTHS) -> Records:
        opened.append(Records(Database(database_url(url, tmp_path)), keep=keep, keep_receipts=keep_receipts))
        await rows(opened[-1])
        return opened[-1]

    yield make
    for records in opened:
        await records.close()


@pytest.fixture
async def records(open_records: Open) -> Records:
    return await open_records()


def receipt(
    question: str = QUESTION,
    text: str = "They occur at new moon and at full moon.",
    quote: str = "Spring tides occur at new moon and at full moon.",
    title: str = "Tides",
    claim: str = "They taste of salt.",
    made: datetime | None = None,
) -> Receipt:
    """An answer that has something of everything, in its receipt."""
    evidence = Evidence(1, 0, len(quote), quote, "tides#0", "tides.md", 12, 12 + len(quote))
    good = Verdict(Status.SUPPORTED, True, 0.1 + 0.2, evidence)
    bad = Verdict(Status.CONTRADICTED, False, 1e-7, Evidence(2, 3, 4, "x"), ("the number differs", "nobody says so"))
    answer = Answer(
        text=text,
        sentences=(Sentence(text, (1, 2), good), Sentence("They have the largest range.", (2,))),
        citations=(
            Citation(1, "http://a.org/t#:~:text=x", title, "Spring", quote, 12, 60, 0.91, "tides#0", "tides.md", 4),
            Citation(2, "", "Tides", "", "They have the largest range.", 61, 89, 1.0, "tides#1", "tides.md", 0),
        ),
        abstained=False,
        mode=Mode.RETRIEVAL_ONLY,
        confidence=2 / 3,
        receipt_id="",
        suggestions=(Suggestion(title, "Neap", "http://a.org/n"),),
        unsupported_claims=(UnsupportedClaim(claim, bad),),
    )
    passage = Passage("tides#0", "tides.md", "", title, "Spring", ("Tides", "Spring"), "spring", 4, 12, 60, quote, 0.9)
    return receipt_of(question, answer, [passage], made)


def receipt_of(question: str, answer: Answer, passages: list[Passage], made: datetime | None = None) -> Receipt:
    when = (made or datetime.now(UTC)).isoformat()
    names = {"corpus_hash": "c0ffee", "embedder": "e", "answerer": "a", "verifier": "v"}
    return make_receipt(question, answer, passages, when, generation=3, **names)


async def tell(
    records: Records,
    key: SessionKey = KEY,
    question: str = QUESTION,
    request_key: str | None = None,
    **asked: Any,
) -> Exchange:
    """One whole turn; the same request again gives the same exchange."""
    request = Question(question, **asked)
    turn = await records.begin(key, request, request_key)
    if turn.repeats:
        await records.end(turn)
        return turn.repeats[0]
    return await records.finish(turn, request, receipt(question))


async def questions(records: Records, key: SessionKey = KEY) -> list[str]:
    return [exchange.question for exchange in (await records.history(key)).exchanges]


async def rows(records: Records, *tables: str) -> tuple[int, ...]:
    """How many rows some tables have."""

    def read(db: sa.Connection) -> tuple[int, ...]:
        counts = [sa.select(sa.func.count()).select_from(sa.table(name)) for name in tables or TABLES]
        return tuple(db.execute(each).scalar_one() for each in counts)

    return await records.database.read(read)


async def execute(records: Records, statement: sa.Executable, values: Any = None) -> None:
    """Change something as another program would."""
    await records.database.write(lambda db: db.execute(statement, values).close())


async def until(records: Records, waiting: int) -> None:
    """Wait until so many turns are under way."""
    async with asyncio.timeout(30):
        while await rows(records, "turns") != (waiting,):  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.01)


def later(**time: float) -> datetime:
    return datetime.now(UTC) + timedelta(**time)


# An exchange is stored whole.


async def test_history_gives_back_what_was_shown(records: Records) -> None:
    begun = datetime.now(UTC)
    kept = receipt()
    request = Question(QUESTION)
    stored = await records.finish(await records.begin(KEY, request), request, kept)
    await tell(records, question="And neap tides?")
    history = await records.history(KEY)
    first, second = history.exchanges
    assert first == stored
    assert first.answer == replace(kept.answer, session_id="tides", stored=True)
    assert (first.question, second.question) == (QUESTION, "And neap tides?")
    assert (history.total, history.before) == (2, None)
    assert begun <= first.timestamp <= second.timestamp <= datetime.now(UTC)
    assert first.in_context
    assert await records.receipt(kept.receipt_id) == kept


async def test_an_abstention_is_stored_too(records: Records) -> None:
    nothing = Answer("The book does not say.", (), (), True, Mode.NO_RESULTS, 0.0, "", (Suggestion("T", "", ""),))
    kept = receipt_of(QUESTION, nothing, [])
    request = Question(QUESTION)
    await records.finish(await records.begin(KEY, request), request, kept)
    answer = (await records.history(KEY)).exchanges[0].answer
    assert answer == replace(kept.answer, session_id="tides", stored=True)


@given(question=TEXT, text=TEXT, quote=TEXT, title=TEXT)
@example(question=STRANGE, text=STRANGE, quote=STRANGE, title=STRANGE)
@example(question="ط" * 64_000, text="🌊" * 64_000, quote="\\" * 64_000, title='"' * 64_000)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_comes_back_unchanged(
    records: Records, question: str, text: str, quote: str, title: str
) -> None:
    key, question = session_key(None), f"«{question[: MAX_QUESTION - 2]}»"  # blanks at its ends would be stripped
    kept = receipt(question, text, quote, title, claim=text)
    request = Question(question, filters=Filters(chapter=title))
    await records.finish(await records.begin(key, request), request, kept)
    history = await records.history(key)
    assert history.exchanges[0].question == question
    assert history.exchanges[0].answer == replace(kept.answer, session_id=key.name, stored=True)
    assert history.session.active_filters == {"chapter": title}
    assert await records.receipt(kept.receipt_id) == kept


async def test_times_are_aware_and_in_utc(records: Records) -> None:
    exchange = await tell(records)
    await records.give_feedback(exchange.answer.receipt_id, Rating.UP)
    session = await records.session(KEY)
    said = (await records.feedback())[0].created_at
    for moment in (exchange.timestamp, session.created_at, session.last_active, said):
        assert moment.tzinfo is UTC
        assert abs(moment - datetime.now(UTC)) < timedelta(minutes=1)


async def test_a_moment_of_another_zone_is_the_same_moment(records: Records) -> None:
    await tell(records)
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=-7)))
    await execute(records, sa.update(sessions).values(last_active=moment))
    found = (await records.session(KEY)).last_active
    assert (found, found.tzinfo) == (moment, UTC)


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)
def test_a_time_without_a_zone_is_refused(dialect: sa.Dialect) -> None:
    with pytest.raises(ValueError, match="without a zone"):
        UtcTime().process_bind_param(datetime(2026, 1, 1), dialect)


async def test_a_session_knows_where_its_answers_come_from(records: Records) -> None:
    turn = await records.begin(KEY, Question("What is this?", "a text"))
    await records.end(turn)
    assert (await records.session(KEY)).context_mode is ContextMode.USER_PROVIDED
    await tell(records, filters=Filters(chapter="Tides"))
    session = await records.session(KEY)
    assert (session.context_mode, session.active_filters) == (ContextMode.RETRIEVAL_PIPELINE, {"chapter": "Tides"})


# Pages, and what a new turn is told.


async def test_pages_have_no_gap_and_no_repeat(records: Records) -> None:
    for number in range(7):
        await tell(records, question=str(number))
        await tell(records, OTHER)
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


async def test_an_id_that_nobody_has_is_a_place_too(records: Records) -> None:
    await tell(records)
    await tell(records)
    for before, found in ((-1, 0), (0, 0), (1_000_000, 2)):
        page = await records.history(KEY, before=before)
        assert (len(page.exchanges), page.total, page.before) == (found, 2, None)


async def test_a_place_may_be_further_than_any_id(records: Records) -> None:
    await tell(records)
    for before in (2**31, 2**70):
        assert len((await records.history(KEY, before=before)).exchanges) == 1


async def test_a_page_of_nothing_is_empty_or_refused(records: Records) -> None:
    await tell(records)
    with suppress(BadInput):
        assert (await records.history(KEY, 0)).exchanges == ()


async def test_a_turn_is_told_the_last_five_exchanges(records: Records) -> None:
    turn = await records.begin(KEY, Question("0"))
    assert turn.recent == ()
    await records.finish(turn, Question("0"), receipt("0"))
    for number in range(1, 7):
        await tell(records, question=str(number))
    turn = await records.begin(KEY, Question("7"))
    assert [exchange.question for exchange in turn.recent] == ["2", "3", "4", "5", "6"]
    assert turn.recent == (await records.history(KEY, 5)).exchanges
    assert (await records.begin(OTHER, Question("0"))).recent == ()


async def test_after_a_hundred_messages_the_oldest_leave_the_context(records: Records) -> None:
    for number in range(50):
        await tell(records, question=str(number))
    assert all(exchange.in_context for exchange in (await records.history(KEY)).exchanges)
    for number in range(50, 60):
        await tell(records, question=str(number))
    history = await records.history(KEY)
    assert (history.session.message_count, history.session.messages_left_out, history.total) == (120, 20, 60)
    assert [exchange.in_context for exchange in history.exchanges] == [False] * 10 + [True] * 50
    oldest = await records.history(KEY, 12, history.exchanges[12].id)
    assert [exchange.in_context for exchange in oldest.exchanges] == [False] * 10 + [True] * 2


# The life of a session.


async def test_a_session_without_an_answer_is_created(records: Records) -> None:
    await records.end(await records.begin(KEY, Question(QUESTION)))
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.CREATED, 0)
    assert await rows(records) == (1, 0, 0, 0, 0)


async def test_a_session_is_active_then_inactive_then_active_again(records: Records) -> None:
    await tell(records)
    assert await records.clean(later(minutes=29)) == Cleaned()
    assert (await records.session(KEY)).state is SessionState.ACTIVE
    assert await records.clean(later(minutes=31)) == Cleaned(inactive=1)
    assert (await records.session(KEY)).state is SessionState.INACTIVE
    await tell(records)
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.ACTIVE, 4)


async def test_a_quiet_session_is_inactive_before_anyone_cleans(records: Records) -> None:
    await tell(records)
    await execute(records, sa.update(sessions).values(last_active=later(minutes=-31)))
    assert (await records.session(KEY)).state is SessionState.INACTIVE
    assert (await records.sessions())[0].state is SessionState.INACTIVE


async def test_after_a_day_nothing_is_left_of_what_was_said(records: Records) -> None:
    told = (await tell(records, filters=Filters(chapter="Tides"))).answer.receipt_id
    await records.give_feedback(told, Rating.DOWN, "wrong", key=KEY)
    assert (await records.clean(later(hours=23.9))).expired == 0
    assert await records.clean(later(hours=24.1)) == Cleaned(expired=1)
    history = await records.history(KEY)
    assert (history.exchanges, history.total, history.session.state) == ((), 0, SessionState.EXPIRED)
    assert (history.session.message_count, history.session.active_filters) == (0, {})
    assert await rows(records) == (1, 0, 0, 0, 0)
    with pytest.raises(ReceiptNotFound):
        await records.receipt(told)
    assert await records.clean(later(hours=24.2)) == Cleaned()


async def test_an_expired_id_begins_anew(records: Records) -> None:
    await tell(records, question="old")
    await records.clean(later(hours=25))
    turn = await records.begin(KEY, Question("new"))
    assert turn.recent == ()
    assert (await records.session(KEY)).state is SessionState.CREATED
    await records.finish(turn, Question("new"), receipt("new"))
    assert await questions(records) == ["new"]
    session = await records.session(KEY)
    assert (session.state, session.message_count) == (SessionState.ACTIVE, 2)


async def test_that_a_session_expired_is_forgotten_a_month_later(records: Records) -> None:
    await tell(records)
    await records.clean(later(hours=25))
    assert (await records.clean(later(days=30, hours=23))).forgotten == 0
    assert (await records.session(KEY)).state is SessionState.EXPIRED
    assert await records.clean(later(days=31, hours=1)) == Cleaned(forgotten=1)
    with pytest.raises(SessionNotFound):
        await records.session(KEY)


async def test_what_is_kept_for_ever_never_expires(open_records: Open) -> None:
    records = await open_records(None, None)
    await tell(records)
    await records.keep(receipt("another"))
    assert await records.clean(later(days=36_500)) == Cleaned(inactive=1)
    assert await questions(records) == [QUESTION]
    assert await rows(records, "receipts") == (2,)


async def test_old_receipts_go_unless_a_conversation_holds_them(open_records: Open) -> None:
    records = await open_records(None)
    held = (await tell(records)).answer.receipt_id
    loose = receipt("another")
    await records.keep(loose)
    await records.give_feedback(loose.receipt_id, Rating.UP)
    assert (await records.clean(later(days=89))).receipts == 0
    assert (await records.clean(later(days=91))).receipts == 1
    assert (await records.receipt(held)).question == QUESTION
    with pytest.raises(ReceiptNotFound):
        await records.receipt(loose.receipt_id)
    assert await rows(records, "feedback") == (0,)


async def test_many_cleaners_share_the_work(open_records: Open) -> None:
    cleaners = [await open_records() for _ in range(4)]
    for number in range(3):
        await tell(cleaners[0], session_key(f"told-{number}"))
    old = {"last_active": later(hours=-1), "state": "active"}
    await execute(cleaners[0], sa.insert(sessions), [{"session_id": uuid.uuid4(), **old} for _ in range(1200)])
    for number in range(30):
        await cleaners[0].keep(receipt(str(number)))
    done = await asyncio.gather(*(cleaner.clean(later(days=100)) for cleaner in cleaners))
    assert sum(each.inactive for each in done) == 1203
    assert sum(each.expired for each in done) == 1203
    assert sum(each.forgotten for each in done) == 1203
    assert sum(each.receipts for each in done) == 30
    assert await rows(cleaners[0]) == (0, 0, 0, 0, 0)


# Reset and delete.


async def fill(records: Records) -> str:
    """A conversation with feedback and a turn under way; the id of its receipt, which no other has."""
    told = (await tell(records)).answer.receipt_id
    await records.give_feedback(told, Rating.DOWN, "wrong", "It is not so.", KEY)
    return told


async def test_a_deleted_session_leaves_no_row(records: Records) -> None:
    await fill(records)
    await records.begin(KEY, Question("under way"))
    assert await rows(records) == (1, 1, 1, 1, 1)
    await records.delete(KEY)
    assert await rows(records) == (0, 0, 0, 0, 0)
    for gone in (records.history(KEY), records.session(KEY), records.delete(KEY), records.reset(KEY)):
        with pytest.raises(SessionNotFound):
            await gone


async def test_a_session_that_is_reset_begins_anew(records: Records) -> None:
    await fill(records)
    await records.begin(KEY, Question("under way", filters=Filters(chapter="Tides")))
    await records.reset(KEY)
    assert await rows(records) == (1, 0, 0, 0, 0)
    history = await records.history(KEY)
    assert (history.exchanges, history.total, history.session.active_filters) == ((), 0, {})
    assert history.session.state is SessionState.CREATED
    assert (await records.begin(KEY, Question("again"))).recent == ()


@pytest.mark.parametrize("forget", [Records.delete, Records.reset])
async def test_a_receipt_that_two_sessions_share_stays_for_the_other(
    records: Records, forget: Callable[[Records, SessionKey], Awaitable[None]]
) -> None:
    mine, theirs = await fill(records), (await tell(records, OTHER)).answer.receipt_id
    assert mine == theirs
    await records.give_feedback(theirs, Rating.UP, key=OTHER)
    await forget(records, KEY)
    assert (await records.receipt(theirs)).question == QUESTION
    assert [said.session for said in await records.feedback()] == ["bread"]
    await forget(records, OTHER)
    with pytest.raises(ReceiptNotFound):
        await records.receipt(theirs)


@pytest.mark.parametrize("forget", [Records.delete, Records.reset])
async def test_an_answer_under_way_is_not_stored_in_a_session_that_is_gone(
    records: Records, forget: Callable[[Records, SessionKey], Awaitable[None]]
) -> None:
    turn = await records.begin(KEY, Question(QUESTION))
    await forget(records, KEY)
    with pytest.raises(TurnLost):
        await records.finish(turn, Question(QUESTION), receipt())
    assert await rows(records, "conversations", "receipts", "turns") == (0, 0, 0)
    await tell(records, question="new")
    with pytest.raises(TurnLost):
        await records.finish(turn, Question(QUESTION), receipt())
    assert await questions(records) == ["new"]
    assert (await records.session(KEY)).message_count == 2


@pytest.mark.parametrize("forget", [Records.delete, Records.reset])
async def test_who_waits_for_a_session_that_is_gone_is_told(
    records: Records, forget: Callable[[Records, SessionKey], Awaitable[None]]
) -> None:
    await records.begin(KEY, Question("first"))
    waiting = asyncio.create_task(records.begin(KEY, Question("second")))
    await until(records, 2)
    await forget(records, KEY)
    with pytest.raises(TurnLost):
        await waiting
    assert await rows(records, "turns") == (0,)


def found(words: list[bytes], folder: Path) -> set[bytes]:
    """Those of the words that stand in any of the database's files."""
    files = [file.read_bytes() for file in folder.glob("records.sqlite*")]
    return {word for word in words for written in files if word in written}


async def expire(records: Records, _key: SessionKey) -> None:
    await records.clean(later(hours=25))


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("forget", [Records.delete, Records.reset, expire])
async def test_no_byte_of_a_deleted_text_stays_in_the_files(
    open_records: Open, tmp_path: Path, forget: Callable[[Records, SessionKey], Awaitable[None]]
) -> None:
    records, reader = await open_records(), await open_records()
    words = [b"quagga", b"thylacine", b"dodo", b"moa", b"aurochs", b"tarpan"]
    question, text, quote, reason, chapter, named = (word.decode() * 300 for word in words)
    request = Question(question, filters=Filters(chapter=chapter))
    kept = receipt(question, text, quote)
    await records.finish(await records.begin(KEY, request, named[:250]), request, kept)
    await records.give_feedback(kept.receipt_id, Rating.DOWN, reason, key=KEY)
    assert (await reader.history(KEY)).total == 1
    assert found(words, tmp_path) == set(words)
    await forget(records, KEY)
    assert found(words, tmp_path) == set()


async def test_what_a_reader_kept_from_being_overwritten_is_overwritten_later(tmp_path: Path) -> None:
    records = Records(Database(database_url("", tmp_path)))
    await tell(records, question="quagga")
    reader = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT query FROM conversations").fetchall() == [("quagga",)]
    await records.delete(KEY)
    reader.execute("COMMIT")
    reader.close()
    await records.clean()
    assert found([b"quagga"], tmp_path) == set()
    await records.close()


# One turn at a time.


async def test_turns_of_two_processes_come_in_the_order_in_which_they_queued(open_records: Open) -> None:
    processes = (await open_records(), await open_records())
    served: list[int] = []
    everyone, inside = asyncio.Event(), 0

    async def take(number: int) -> None:
        nonlocal inside
        turn = await processes[number % 2].begin(KEY, Question(str(number)))
        inside += 1
        assert inside == 1
        served.append(number)
        await everyone.wait()
        await asyncio.sleep(0.01)
        inside -= 1
        await processes[number % 2].finish(turn, Question(str(number)), receipt(str(number)))

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(take(number))
            await until(processes[0], number + 1)
        for records in processes:
            with pytest.raises(ConversationBusy):
                await records.begin(KEY, Question("one too many"))
        everyone.set()
    assert served == list(range(8))
    assert await questions(processes[1]) == list("01234567")


async def test_a_crowd_is_served_one_by_one(open_records: Open) -> None:
    processes = (await open_records(), await open_records(), await open_records())
    inside, most = 0, 0

    async def take(number: int) -> None:
        nonlocal inside, most
        records = processes[number % 3]
        turn = await records.begin(KEY, Question(str(number)))
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        await (records.end(turn) if number % 2 else records.finish(turn, Question("x"), receipt(str(number))))

    async def patient(number: int) -> None:
        while True:
            with suppress(ConversationBusy):
                return await take(number)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(patient(number) for number in range(15)))
    assert most == 1
    assert len(await questions(processes[0])) == 8
    assert await rows(processes[0], "turns") == (0,)


async def test_one_who_is_turned_away_leaves_no_trace(records: Records) -> None:
    waiting = [asyncio.create_task(records.begin(KEY, Question(str(number)))) for number in range(8)]
    await until(records, 8)
    before = await records.session(KEY)
    with pytest.raises(ConversationBusy):
        await records.begin(KEY, Question("too many", filters=Filters(chapter="Tides")))
    assert await records.session(KEY) == before
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_different_sessions_do_not_wait_for_each_other(records: Records) -> None:
    await records.begin(KEY, Question("held"))
    async with asyncio.timeout(2):
        await asyncio.gather(*(tell(records, session_key(f"other-{number}")) for number in range(12)))
    assert len(await records.sessions()) == 13


async def test_a_waiter_who_is_cancelled_leaves_its_place(open_records: Open) -> None:
    records, other = await open_records(), await open_records()
    first = await records.begin(KEY, Question("first"))
    second = asyncio.create_task(records.begin(KEY, Question("second")))
    await until(records, 2)
    third = asyncio.create_task(other.begin(KEY, Question("third")))
    await until(records, 3)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await rows(records, "turns") == (2,)
    await records.end(first)
    async with asyncio.timeout(2):
        await other.end(await third)
    assert await rows(records, "turns") == (0,)


async def test_one_who_is_cancelled_at_any_moment_holds_up_nobody(records: Records) -> None:
    await tell(records)
    for moment in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        task = asyncio.create_task(records.begin(KEY, Question("never mind")))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await records.end(await task)
        await until(records, 0)
    async with asyncio.timeout(8):
        await tell(records)
    assert await questions(records) == [QUESTION, QUESTION]


async def test_a_holder_who_is_cancelled_gives_its_turn_back(records: Records) -> None:
    holding = asyncio.Event()

    async def hold() -> None:
        turn = await records.begin(KEY, Question("held"))
        try:
            holding.set()
            await asyncio.sleep(60)
        finally:
            await records.end(turn)

    holder = asyncio.create_task(hold())
    await holding.wait()
    next_one = asyncio.create_task(tell(records))
    await until(records, 2)
    holder.cancel()
    async with asyncio.timeout(2):
        await next_one
    with pytest.raises(asyncio.CancelledError):
        await holder
    assert await questions(records) == [QUESTION]


async def test_the_turn_of_a_process_that_died_holds_nobody_up_for_long(open_records: Open) -> None:
    records, dead = await open_records(), await open_records()
    await dead.begin(KEY, Question("dying"))
    waiting = asyncio.create_task(tell(records))
    await until(records, 2)
    assert not waiting.done()
    oldest = sa.select(sa.func.min(turns.c.ticket)).scalar_subquery()
    await execute(records, sa.update(turns).where(turns.c.ticket == oldest).values(expires_at=later(seconds=-1)))
    async with asyncio.timeout(2):
        await waiting
    await records.clean()
    assert await rows(records, "turns") == (0,)


async def test_a_long_answer_keeps_its_turn_while_its_process_lives(
    open_records: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glossator.store.records.queries.LEASE", timedelta(seconds=0.5))
    monkeypatch.setattr("glossator.store.records.record_store._RENEW", 0.1)
    records, other = await open_records(), await open_records()
    turn = await records.begin(KEY, Question("slow"))
    waiting = asyncio.create_task(tell(other, question="next"))
    await asyncio.sleep(1)
    assert not waiting.done()
    await records.finish(turn, Question("slow"), receipt("slow"))
    await waiting
    assert await questions(records) == ["slow", "next"]


async def test_nobody_waits_for_ever(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glossator.store.records.record_store.LONGEST_WAIT", 0.2)
    await records.begin(KEY, Question("held"))
    with pytest.raises(ConversationBusy):
        await records.begin(KEY, Question("waiting"))
    assert await rows(records, "turns") == (1,)


async def test_turns_leave_no_tasks_behind(records: Records) -> None:
    await tell(records)
    before = len(asyncio.all_tasks())
    for _ in range(10):
        await tell(records)
    assert len(asyncio.all_tasks()) == before


# A request that is sent again.


async def test_the_same_key_gives_the_same_exchange(records: Records) -> None:
    first = await tell(records, request_key="k")
    assert await tell(records, request_key="k") == first
    assert await rows(records, "conversations", "turns") == (1, 0)
    assert (await records.session(KEY)).message_count == 2


async def test_the_same_key_at_the_same_time_is_stored_once(open_records: Open) -> None:
    processes = [await open_records(), await open_records()]
    found = await asyncio.gather(*(tell(processes[number % 2], request_key="k") for number in range(6)))
    assert all(exchange == found[0] for exchange in found)
    assert await rows(processes[0], "conversations", "turns") == (1, 0)


async def test_without_a_key_the_same_question_is_asked_again(records: Records) -> None:
    assert (await tell(records)).id != (await tell(records)).id
    assert await questions(records) == [QUESTION, QUESTION]


@pytest.mark.parametrize(
    "other",
    [Question("another"), Question(QUESTION, "a selection"), Question(QUESTION, filters=Filters(chapter="Tides"))],
    ids=["question", "selection", "filter"],
)
async def test_a_key_names_one_request(records: Records, other: Question) -> None:
    await tell(records, request_key="k")
    with pytest.raises(RequestKeyReused):
        await records.begin(KEY, other, "k")
    assert await rows(records, "conversations", "turns") == (1, 0)


async def test_a_key_of_another_session_is_another_key(records: Records) -> None:
    first = await tell(records, request_key="k")
    other = await tell(records, OTHER, "another", request_key="k")
    assert first.id != other.id
    assert await questions(records, OTHER) == ["another"]


async def test_a_key_is_free_again_when_its_session_begins_anew(records: Records) -> None:
    await tell(records, request_key="k")
    await records.reset(KEY)
    assert (await tell(records, question="another", request_key="k")).question == "another"


async def test_a_late_answer_to_a_request_that_was_sent_again_is_the_stored_one(records: Records) -> None:
    late = await records.begin(KEY, Question(QUESTION), "k")
    await execute(records, sa.update(turns).values(expires_at=later(seconds=-1)))
    stored = await tell(records, request_key="k")
    assert await records.finish(late, Question(QUESTION), receipt()) == stored
    assert await rows(records, "conversations") == (1,)


async def test_a_long_key_is_taken_or_refused(records: Records) -> None:
    named = secrets.token_hex(5_000)
    with suppress(BadInput):
        first = await tell(records, request_key=named)
        assert await tell(records, request_key=named) == first


def test_a_retried_first_request_finds_its_session() -> None:
    assert session_key(None, request_key="k") == session_key(None, request_key="k")
    assert session_key(None, "ann", "k") == session_key(None, "ann", "k")
    names = {session_key(None, user, key).session_id for user in (None, "ann", "bob", "None") for key in ("k", "j")}
    assert len(names) == 8
    assert session_key(None) != session_key(None)


# Users.


def stolen(key: SessionKey, user: str | None) -> SessionKey:
    """The very id, in the hands of somebody else."""
    return SessionKey(key.session_id, key.name, user)


async def test_the_same_name_of_two_users_is_two_sessions(records: Records) -> None:
    for user in (None, "ann", "bob"):
        await tell(records, session_key("mine", user), f"from {user}")
    for user in (None, "ann", "bob"):
        assert await questions(records, session_key("mine", user)) == [f"from {user}"]
        assert (await records.session(session_key("mine", user))).key == session_key("mine", user)


@pytest.mark.parametrize(("owner", "thief"), [("ann", "bob"), ("ann", None), (None, "bob"), ("ann", "")])
async def test_the_session_of_somebody_else_is_not_there(
    records: Records, owner: str | None, thief: str | None
) -> None:
    key = session_key(str(uuid.uuid4()), owner)
    told = (await tell(records, key)).answer.receipt_id
    theirs = stolen(key, thief)
    for attempt in (
        records.history(theirs),
        records.session(theirs),
        records.delete(theirs),
        records.reset(theirs),
        records.begin(theirs, Question("mine?")),
        records.give_feedback(told, Rating.DOWN, key=theirs),
    ):
        with pytest.raises(SessionNotFound):
            await attempt
    assert await questions(records, key) == [QUESTION]
    assert await rows(records) == (1, 1, 1, 0, 0)


async def test_sessions_are_those_of_a_user_the_latest_first(records: Records) -> None:
    for name in ("one", "two", "three"):
        await tell(records, session_key(name, "ann"))
    await tell(records, session_key("one", "ann"))
    await tell(records, session_key("one", "bob"))
    await tell(records, session_key("nobody"))

    def names(found: list[Session]) -> list[str]:
        return [session.key.name for session in found]

    assert names(await records.sessions("ann")) == ["one", "three", "two"]
    assert names(await records.sessions("ann", limit=2)) == ["one", "three"]
    assert names(await records.sessions("bob")) == ["one"]
    assert names(await records.sessions()) == ["nobody"]
    assert await records.sessions("eve") == []


# Feedback.


async def test_feedback_comes_back_the_latest_first(records: Records) -> None:
    loose = receipt("Why?")
    await records.keep(loose)
    told = (await tell(records)).answer.receipt_id
    await records.give_feedback(told, Rating.UP, key=KEY)
    await records.give_feedback(loose.receipt_id, Rating.DOWN, "wrong", STRANGE)
    latest, first = await records.feedback()
    assert (latest.rating, latest.reason, latest.text) == (Rating.DOWN, "wrong", STRANGE)
    assert (latest.receipt_id, latest.question, latest.session) == (loose.receipt_id, "Why?", None)
    assert (first.rating, first.reason, first.text) == (Rating.UP, "", "")
    assert (first.receipt_id, first.question, first.session) == (told, QUESTION, "tides")
    assert [said.receipt_id for said in await records.feedback(1)] == [loose.receipt_id]


async def test_feedback_replaces_what_the_same_conversation_said(records: Records) -> None:
    told = (await tell(records)).answer.receipt_id
    await tell(records, OTHER)
    await records.give_feedback(told, Rating.DOWN, "wrong", key=KEY)
    await records.give_feedback(told, Rating.DOWN, "other", key=OTHER)
    await records.give_feedback(told, Rating.UP, "right after all", key=KEY)
    said = [(each.session, each.rating, each.reason) for each in await records.feedback()]
    assert said == [("tides", Rating.UP, "right after all"), ("bread", Rating.DOWN, "other")]


@pytest.mark.parametrize("name", ["", "unknown", "' OR 1=1 --", "\0", "\ud800", "x" * 10_000])
async def test_feedback_on_an_unknown_answer_is_refused(records: Records, name: str) -> None:
    await tell(records)
    for key in (None, KEY):
        with pytest.raises(ReceiptNotFound):
            await records.give_feedback(name, Rating.UP, key=key)
    assert await records.feedback() == []


async def test_feedback_is_on_an_answer_of_that_conversation(records: Records) -> None:
    await tell(records)
    other = (await tell(records, OTHER, "Why?")).answer.receipt_id
    with pytest.raises(ReceiptNotFound):
        await records.give_feedback(other, Rating.UP, key=KEY)
    assert await records.feedback() == []


# Bad input.


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 201, "é", "tides\n", "\0", "\ud800", "a/b", "a.b"])
@pytest.mark.parametrize("user", [None, "ann"])
def test_what_is_no_session_id_is_refused(name: str, user: str | None) -> None:
    with pytest.raises(SessionIdError, match="not valid"):
        session_key(name, user)


@pytest.mark.parametrize(
    "name", ["x" * 200, "a", "_", "-", "A-b_9", "0" * 36, "0" * 32 + "----", "----1" + "_1" * 15 + "1"]
)
def test_what_is_a_session_id_names_one_session(name: str) -> None:
    assert session_key(name) == session_key(name)
    assert session_key(name).name == name
    assert session_key(name, "ann").session_id != session_key(name).session_id


def test_a_uuid_is_the_same_in_capitals() -> None:
    name = "0b7f6f0e-3f0a-4c55-9a51-abcdefabcdef"
    assert session_key(name.upper()) == session_key(name) == SessionKey(uuid.UUID(name), name)
    assert session_key(name.upper(), "ann") == session_key(name, "ann")


NO_TEXTS = ("a\0b", "a\ud800b")


@pytest.mark.parametrize("place", ["question", "key", "filter", "user"])
async def test_what_is_no_text_begins_no_turn(records: Records, place: str) -> None:
    for bad in NO_TEXTS:
        user, key = (bad if place == name else None for name in ("user", "key"))
        text, chapter = (bad if place == "question" else QUESTION), (bad if place == "filter" else None)
        with pytest.raises(BadInput):
            await records.begin(session_key("tides", user), Question(text, filters=Filters(chapter=chapter)), key)
    assert await rows(records) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("place", ["text", "quote", "claim"])
async def test_what_is_no_text_is_not_stored(records: Records, place: str) -> None:
    turn = await records.begin(KEY, Question(QUESTION))
    for bad in NO_TEXTS:
        with pytest.raises(BadInput):
            await records.finish(turn, Question(QUESTION), spoilt(place, bad))
    await records.end(turn)
    assert await rows(records) == (1, 0, 0, 0, 0)


def spoilt(place: str, bad: str) -> Receipt:
    """A receipt whose answer holds something that is no text."""
    good = receipt()
    answer, citation, claim = good.answer, good.answer.citations[0], good.answer.unsupported_claims[0]
    if place == "text":
        answer = replace(answer, text=bad)
    elif place == "quote":
        answer = replace(answer, citations=(replace(citation, quote=bad),))
    else:
        answer = replace(answer, unsupported_claims=(replace(claim, text=bad),))
    return replace(good, answer=answer)


@pytest.mark.parametrize("place", ["reason", "text"])
async def test_what_is_no_text_is_no_feedback(records: Records, place: str) -> None:
    told = (await tell(records)).answer.receipt_id
    for bad in NO_TEXTS:
        with pytest.raises(BadInput):
            await records.give_feedback(told, Rating.UP, **{place: bad})
    assert await records.feedback() == []


@pytest.mark.parametrize("bad", NO_TEXTS, ids=["nul", "surrogate"])
def test_a_key_that_is_no_text_names_no_session(bad: str) -> None:
    with pytest.raises(BadInput):
        session_key(None, request_key=bad)


async def test_bad_input_does_not_make_the_records_seem_down(records: Records) -> None:
    await tell(records)
    with suppress(GlossatorError):
        await records.begin(KEY, Question(QUESTION, filters=Filters(chapter="\0")))
    assert (await records.session(KEY)).state is SessionState.ACTIVE


# Rows of others, and the first use.


SOURCE = {
    "source_url": "https://example.org/tides",
    "title": "Tides",
    "section": "Spring tides",
    "chunk_position": 3,
    "similarity_score": 0.75,
    "snippet": "Spring tides occur at new moon.",
}


async def write_as_a_chat_service(records: Records, key: SessionKey, *more: dict[str, Any]) -> None:
    """A session and an exchange, with that service's own columns alone."""

    def table(source: sa.Table, *names: str) -> sa.TableClause:
        return sa.table(source.name, *(sa.column(name, source.c[name].type) for name in names))

    await execute(records, sa.insert(table(sessions, "session_id")), {"session_id": key.session_id})
    said = {"session_id": key.session_id, "query": "When?", "response": "At new moon."}
    row = said | {"sources": [SOURCE, *more]}
    await execute(records, sa.insert(table(conversations, *row)), row)


async def check_foreign(records: Records, key: SessionKey) -> None:
    """The exchange is read, whoever wrote it."""
    history = await records.history(key)
    exchange = history.exchanges[0]
    assert (exchange.question, exchange.answer.text) == ("When?", "At new moon.")
    place = ("https://example.org/tides", "Tides", "Spring tides", "Spring tides occur at new moon.")
    assert exchange.answer.citations == (Citation(1, *place, 0, 0, 0.75, position=3),)
    assert (exchange.answer.session_id, exchange.answer.stored) == (key.name, True)
    assert abs(exchange.timestamp - datetime.now(UTC)) < timedelta(minutes=1)
    assert exchange.timestamp.tzinfo is UTC
    assert history.session.key == key


async def check_continued(records: Records, key: SessionKey) -> None:
    """The conversation goes on where it was, and can be deleted."""
    assert (await records.history(key)).total == 1
    turn = await records.begin(key, Question("And then?"))
    assert [each.question for each in turn.recent] == ["When?"]
    await records.finish(turn, Question("And then?"), receipt("And then?"))
    assert await questions(records, key) == ["When?", "And then?"]
    await records.delete(key)
    assert await rows(records) == (0, 0, 0, 0, 0)


async def test_conversations_from_before_are_taken_over(records: Records, open_records: Open) -> None:
    key = session_key(str(uuid.uuid4()))
    await rows(records)
    await records.database.upgrade("0001")
    await write_as_a_chat_service(records, key)
    await records.database.upgrade()
    await check_foreign(await open_records(), key)
    await check_continued(records, key)


async def test_rows_that_another_program_writes_beside_us_are_read(records: Records) -> None:
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key)
    await check_foreign(records, key)


async def test_what_a_source_does_not_say_is_left_empty(records: Records) -> None:
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key, {}, dict.fromkeys(SOURCE))
    _, *empty = (await records.history(key)).exchanges[0].answer.citations
    assert empty == [Citation(number, "", "", "", "", 0, 0, 0.0) for number in (2, 3)]


async def test_an_odd_row_does_not_hide_a_conversation(records: Records) -> None:
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key)
    texts = ["https://example.org/tides"]
    for sources in (None, [], texts, [None], SOURCE, [{"similarity_score": "high"}], [{"chunk_position": "first"}]):
        await execute(records, sa.update(conversations).values(sources=sources, metadata=None, timestamp=None))
        assert (await records.history(key)).exchanges[0].answer.text == "At new moon."
    await execute(records, sa.update(conversations).values(metadata=texts))
    assert (await records.history(key)).exchanges[0].answer.text == "At new moon."


async def test_what_another_program_noted_does_not_hide_its_sources(records: Records) -> None:
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key)
    for noted in ({"model": "m"}, {"mode": "rag"}, {"confidence": None}):
        await execute(records, sa.update(conversations).values(metadata=noted))
        await check_foreign(records, key)


async def test_a_session_without_times_does_not_hide_the_others(records: Records) -> None:
    await tell(records)
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key)
    timeless = sa.update(sessions).where(sessions.c.session_id == key.session_id)
    await execute(records, timeless.values(created_at=None, last_active=None))
    assert len(await records.sessions()) == 2


async def test_a_conversation_that_another_program_writes_beside_us_goes_on(records: Records) -> None:
    key = session_key(str(uuid.uuid4()))
    await write_as_a_chat_service(records, key)
    await check_continued(records, key)


async def test_processes_that_start_together_make_the_tables_once(backend: Postgres | None, tmp_path: Path) -> None:
    for number in range(1 if backend else 4):
        url = backend.create("untouched") if backend else ""
        processes = [Records(Database(database_url(url, tmp_path / str(number)))) for _ in range(4)]
        try:
            await asyncio.gather(*(tell(records, request_key="k") for records in processes))
            assert await rows(processes[0], "conversations") == (1,)
            assert await processes[0].database.revision() == HEAD
        finally:
            for records in processes:
                await records.close()


async def test_the_first_use_waits_for_another_program_that_is_writing(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    records = Records(Database(database_url("", tmp_path)))
    try:
        first = asyncio.create_task(tell(records))
        await asyncio.sleep(0.3)
        other.execute("COMMIT")
        assert (await first).answer.stored
    finally:
        other.close()
        await records.close()


async def test_a_turn_says_what_it_is(records: Records) -> None:
    turn = await records.begin(KEY, Question(QUESTION), "k")
    assert turn == Turn(KEY, turn.ticket, "k")
    await records.end(turn)
    await records.end(turn)
    assert await rows(records, "turns") == (0,)
