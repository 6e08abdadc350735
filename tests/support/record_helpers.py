"""Helpers for tests of the record store: sample answers, whole turns, row counts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

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
from glossator.core.conversations import Exchange, SessionKey, session_key
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.types import Passage
from glossator.pipeline.receipts import make_receipt
from glossator.store.records.queries import find_session
from glossator.store.records.record_store import RecordStore
from glossator.store.records.schema import json_type

DAY, MONTHS = timedelta(hours=24), timedelta(days=90)

KEY = session_key("tides")

OTHER_KEY = session_key("bread")

QUESTION = "When do spring tides occur?"

TABLES = ("sessions", "conversations", "receipts", "turns", "feedback")

UNUSUAL_TEXT = (
    "'\"\\ \\u0000 \\' %s :x {} 🌊 \U0001f469\u200d\U0001f680 a\u0301\u0323 \u202eمدّ וגאות\u202c"
    " \x01\x1f\x7f\ufeff\uffff\U0010ffff\r\n\t\u2028 "
)

OpenStore = Callable[..., Awaitable[RecordStore]]


def sample_receipt(
    question: str = QUESTION,
    text: str = "They occur at new moon and at full moon.",
    quote: str = "Spring tides occur at new moon and at full moon.",
    title: str = "Tides",
    claim: str = "They taste of salt.",
    made: datetime | None = None,
) -> Receipt:
    """The receipt of an answer in which every field is filled."""
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
    return receipt_for(question, answer, [passage], made)


def receipt_for(question: str, answer: Answer, passages: list[Passage], made: datetime | None = None) -> Receipt:
    when = (made or datetime.now(UTC)).isoformat()
    names = {"corpus_hash": "c0ffee", "embedder": "e", "answerer": "a", "verifier": "v"}
    return make_receipt(question, answer, passages, when, generation=3, **names)


async def add_exchange(
    records: RecordStore,
    key: SessionKey = KEY,
    question: str = QUESTION,
    idempotency_key: str | None = None,
    **asked: Any,
) -> Exchange:
    """Run one whole turn; a repeated idempotency key returns the stored exchange."""
    request = Question(question, **asked)
    turn = await records.begin_turn(key, request, idempotency_key)
    if turn.duplicate_of:
        await records.cancel_turn(turn)
        return turn.duplicate_of[0]
    return await records.finish_turn(turn, request, sample_receipt(question))


async def questions(records: RecordStore, key: SessionKey = KEY) -> list[str]:
    return [exchange.question for exchange in (await records.history(key)).exchanges]


async def count_rows(records: RecordStore, *tables: str) -> tuple[int, ...]:
    """How many rows each of some tables has."""

    def read(db: sa.Connection) -> tuple[int, ...]:
        counts = [sa.select(sa.func.count()).select_from(sa.table(name)) for name in tables or TABLES]
        return tuple(db.execute(each).scalar_one() for each in counts)

    return await records.database.read(read)


async def read_rows(records: RecordStore, query: str) -> Sequence[sa.Row[Any]]:
    """Rows as another program would read them; `sources` and `metadata` are JSON."""
    typed = sa.text(query).columns(*(sa.column(name, json_type) for name in ("sources", "metadata") if name in query))
    return await records.database.read(lambda db: db.execute(typed).all())


def contract_source(citation: Citation) -> dict[str, Any]:
    """A citation as the chat contract defines it."""
    return {
        "source_url": citation.url,
        "title": citation.title,
        "section": citation.section,
        "chunk_position": citation.position,
        "similarity_score": citation.score,
        "snippet": citation.snippet or citation.quote,
    }


async def execute(records: RecordStore, statement: sa.Executable, values: Any = None) -> None:
    """Run a statement as another program would."""
    await records.database.write(lambda db: db.execute(statement, values).close())


async def wait_for_queued_turns(records: RecordStore, count: int) -> None:
    """Wait until this many turns are in the queue."""
    async with asyncio.timeout(30):
        while await count_rows(records, "turns") != (count,):  # noqa: ASYNC110 - the database sends no events
            await asyncio.sleep(0.01)


@asynccontextmanager
async def slow_write(records: RecordStore, key: SessionKey) -> AsyncIterator[None]:
    """A transaction of another process that holds a session's row, and on SQLite the database, until the block ends."""
    locked, release = threading.Event(), threading.Event()

    def work(db: sa.Connection) -> None:
        find_session(db, key, lock=True)
        locked.set()
        if db.dialect.name == "sqlite":
            release.wait(10)
        else:
            await_only(asyncio.to_thread(release.wait, 10))

    writing = asyncio.create_task(records.database.write(work))
    await asyncio.to_thread(locked.wait, 10)
    try:
        yield
    finally:
        release.set()
        await writing


def later(**time: float) -> datetime:
    return datetime.now(UTC) + timedelta(**time)
