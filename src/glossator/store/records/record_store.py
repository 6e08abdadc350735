"""The records: conversations, receipts and feedback in one database, stored once or not at all."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import sqlalchemy as sa

from glossator.core.conversations import (
    Cleaned,
    Exchange,
    Feedback,
    History,
    Rating,
    Session,
    SessionKey,
    SessionState,
    Turn,
)
from glossator.core.errors import (
    GlossatorError,
    QuestionError,
    ReceiptNotFound,
    RecordsDown,
    RequestKeyReused,
    TurnLost,
)
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.validation import checked_text
from glossator.store.records.database import Database
from glossator.store.records.queries import (
    LEASE,
    busy,
    check_heard,
    drop_receipts,
    erase,
    expire_some,
    find_repeated,
    find_session,
    forget,
    keep_receipt,
    leave,
    now,
    put_to_rest,
    queue_up,
    read_history,
    renew,
    store_exchange,
    turn_if_first,
)
from glossator.store.records.row_mapping import as_feedback, as_receipt, as_session
from glossator.store.records.schema import feedback, receipts, sessions

LONGEST_WAIT = 30.0
"""Seconds that a turn waits for those before it."""
FORGET_AFTER = timedelta(days=30)
"""How long it stays known that a session was there and has expired."""

LARGEST_ID = 2**31 - 1
LONGEST_KEY = 255

_POLL = 0.1
_RENEW = LEASE.total_seconds() / 4


class Records:
    """What is remembered of readers' conversations; `keep` is how long without activity, None for ever."""

    def __init__(
        self, database: Database, keep: timedelta | None = None, keep_receipts: timedelta | None = None
    ) -> None:
        self.database = database
        self._keep = keep
        self._keep_receipts = keep_receipts
        self._ended: WeakValueDictionary[uuid.UUID, asyncio.Event] = WeakValueDictionary()
        self._places: set[int] = set()
        self._dropped: set[int] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def begin(
        self,
        key: SessionKey,
        question: Question,
        request_key: str | None = None,
    ) -> Turn:
        """Wait for the turns before this one, in the order in which they came to any process.

        The session is made if there is none. A request key that the conversation knows gives back its exchange.
        """
        named = _checked_key(request_key) if request_key else None
        ticket, turn = await self._queue(key, question, named)
        if turn is None:
            turn = await self._wait(key, ticket, named)
        if turn.repeats and turn.repeats[1] != question.fingerprint:
            await self.end(turn)
            raise RequestKeyReused("The idempotency key named another request.", "Use a new key for a new question.")
        return turn

    async def _queue(self, key: SessionKey, question: Question, named: str | None) -> tuple[int, Turn | None]:
        """Take a place; one who is cancelled just then leaves it again."""
        dropped = frozenset(self._dropped)
        placed = asyncio.ensure_future(self.database.write(lambda db: queue_up(db, key, question, named, dropped)))
        try:
            found = await asyncio.shield(placed)
        except asyncio.CancelledError:
            self._do(self._leave(key, placed))
            raise
        self._dropped -= dropped
        self._places.add(found[0])
        if self._renewing is None or self._renewing.done():
            self._renewing = self._do(self._renew())
        return found

    def _do(self, chore: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        return task

    async def _renew(self) -> None:
        """As long as this process has places, waiting or answering, nobody takes them for abandoned."""
        await asyncio.sleep(_RENEW)
        while self._places:
            with suppress(RecordsDown):
                await self.database.write(partial(renew, tickets=sorted(self._places)))
            await asyncio.sleep(_RENEW)

    async def _leave(self, key: SessionKey, placed: asyncio.Future[tuple[int, Turn | None]]) -> None:
        with suppress(GlossatorError):
            await self.end(Turn(key, (await placed)[0], ""))

    async def _wait(self, key: SessionKey, ticket: int, named: str | None) -> Turn:
        """Look again whenever a turn of this process ends, and now and then for those of others."""
        ended = self._ended.setdefault(key.session_id, asyncio.Event())
        deadline = asyncio.get_running_loop().time() + LONGEST_WAIT
        try:
            while asyncio.get_running_loop().time() < deadline:
                ended.clear()
                turn = await self.database.read(lambda db: turn_if_first(db, key, ticket, named))
                if turn is not None:
                    return turn
                try:
                    await asyncio.wait_for(ended.wait(), _POLL)
                except TimeoutError:
                    continue
            raise busy()
        except BaseException:
            await self.end(Turn(key, ticket, ""))
            raise

    async def finish(self, turn: Turn, question: Question, receipt: Receipt) -> Exchange:
        """Store the exchange with its receipt, and let the next turn begin."""
        try:
            return await self.database.write(lambda db: store_exchange(db, turn, question, receipt))
        except TurnLost:
            # A connection that was lost while it committed does not tell whether it did.
            stored = await self.database.read(lambda db: find_repeated(db, turn.key, turn.request_key))
            if stored is None:
                raise
            return stored[0]
        except RecordsDown:
            self._dropped.add(turn.ticket)
            raise
        finally:
            self._wake(turn)

    async def end(self, turn: Turn) -> None:
        """Give a turn back with nothing stored, even when the one who held it is cancelled.

        While the database is down this cannot be done; the next turn to begin does it.
        """

        try:
            await asyncio.shield(self.database.write(lambda db: leave(db, turn.ticket)))
        except RecordsDown:
            self._dropped.add(turn.ticket)
            raise
        finally:
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        self._places.discard(turn.ticket)
        if waiting := self._ended.get(turn.key.session_id):
            waiting.set()

    async def session(self, key: SessionKey) -> Session:
        """A session, of this user."""
        return as_session(await self.database.read(lambda db: find_session(db, key)), now())

    async def sessions(self, user_id: str | None = None, limit: int = 100) -> list[Session]:
        """The sessions of a user, or those of nobody in particular; the latest first."""
        found = sa.select(sessions).where(sessions.c.user_id.is_not_distinct_from(user_id))
        newest = found.order_by(sessions.c.last_active.desc(), sessions.c.session_id).limit(limit)

        def read(db: sa.Connection) -> Sequence[sa.Row[Any]]:
            return db.execute(newest).all()

        return [as_session(row, now()) for row in await self.database.read(read)]

    async def history(self, key: SessionKey, limit: int = 100, before: int | None = None) -> History:
        """The latest exchanges, or the latest before one of them; oldest first."""
        if limit < 1:
            raise QuestionError(f"The limit is {limit}.", "Give a number from 1.")
        place = None if before is None else max(0, min(before, LARGEST_ID))
        return await self.database.read(lambda db: read_history(db, key, limit, place))

    async def reset(self, key: SessionKey) -> None:
        """The session begins anew: its exchanges and their receipts are gone, and so is an answer under way."""

        def work(db: sa.Connection) -> None:
            find_session(db, key, lock=True)
            erase(db, [key.session_id])
            fresh = {"state": SessionState.CREATED, "message_count": 0, "active_filters": {}, "last_active": now()}
            db.execute(sa.update(sessions).where(sessions.c.session_id == key.session_id).values(fresh))

        await self.database.write(work)
        await self.database.tidy()

    async def delete(self, key: SessionKey) -> None:
        """Everything of a session is gone."""

        def work(db: sa.Connection) -> None:
            find_session(db, key, lock=True)
            erase(db, [key.session_id])
            db.execute(sa.delete(sessions).where(sessions.c.session_id == key.session_id))

        await self.database.write(work)
        await self.database.tidy()

    async def keep(self, receipt: Receipt) -> None:
        """Write the receipt of an answer that belongs to no conversation."""
        await self.database.write(lambda db: keep_receipt(db, receipt))

    async def receipt(self, receipt_id: str) -> Receipt:
        """The receipt with an id."""
        unknown = ReceiptNotFound(f"There is no receipt {receipt_id!r}.", "Use an id that an answer carried.")
        if not receipt_id.isalnum() or not receipt_id.isascii():
            raise unknown
        wanted = sa.select(receipts.c.body).where(receipts.c.receipt_id == receipt_id)

        def read(db: sa.Connection) -> Any:
            return db.execute(wanted).scalar()

        body = await self.database.read(read)
        if body is None:
            raise unknown
        return as_receipt(body, receipt_id)

    async def give_feedback(
        self, receipt_id: str, rating: Rating, reason: str = "", text: str = "", key: SessionKey | None = None
    ) -> None:
        """What a reader says of an answer; said again in the same conversation, it replaces what was said before."""
        await self.receipt(receipt_id)
        said = {"rating": rating, "reason": checked_text(reason, "reason"), "text": checked_text(text, "text")}

        def work(db: sa.Connection) -> None:
            if key is not None:
                check_heard(db, key, receipt_id)
                same = (feedback.c.receipt_id == receipt_id) & (feedback.c.session_id == key.session_id)
                db.execute(sa.delete(feedback).where(same))
            row = said | {
                "receipt_id": receipt_id,
                "session_id": key.session_id if key else None,
                "created_at": now(),
            }
            db.execute(sa.insert(feedback).values(row))

        await self.database.write(work)

    async def feedback(self, limit: int = 100) -> list[Feedback]:
        """What readers said, the latest first."""
        question = receipts.c.body["question"].as_string().label("question")
        joined = feedback.join(receipts).outerjoin(sessions, feedback.c.session_id == sessions.c.session_id)
        latest = sa.select(feedback, question, sessions.c.name).select_from(joined).order_by(feedback.c.id.desc())

        def read(db: sa.Connection) -> Sequence[sa.Row[Any]]:
            return db.execute(latest.limit(limit)).all()

        return [as_feedback(row) for row in await self.database.read(read)]

    async def clean(self, moment: datetime | None = None) -> Cleaned:
        """Move sessions on in their lives; any number of processes may do so at once."""
        moment = moment or now()
        inactive = await self.database.write(lambda db: put_to_rest(db, moment))
        expired = forgotten = old = 0
        if self._keep is not None:
            cutoff = moment - self._keep
            while some := await self.database.write(lambda db: expire_some(db, cutoff)):
                expired += some
            forgotten = await self.database.write(lambda db: forget(db, cutoff - FORGET_AFTER))
        if self._keep_receipts is not None:
            oldest = moment - self._keep_receipts
            while some := await self.database.write(lambda db: drop_receipts(db, oldest)):
                old += some
        await self.database.tidy()
        return Cleaned(inactive, expired, old, forgotten)

    async def close(self) -> None:
        """Let go of all connections."""
        for chore in tuple(self._chores):
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.database.close()


def _checked_key(request_key: str) -> str:
    if len(request_key) > LONGEST_KEY:
        raise QuestionError(f"The idempotency key is longer than {LONGEST_KEY} characters.", "Use a shorter one.")
    return checked_text(request_key, "idempotency key")
