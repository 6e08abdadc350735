"""Stores conversations, receipts and feedback in one database; each exchange atomically and at most once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import sqlalchemy as sa

from glossator.core.conversations import (
    CleanupResult,
    Exchange,
    ExchangeMetadata,
    Feedback,
    History,
    Rating,
    Session,
    SessionKey,
    SessionState,
    Turn,
)
from glossator.core.errors import (
    ConversationChanged,
    DatabaseUnavailable,
    GlossatorError,
    IdempotencyKeyReused,
    QuestionError,
)
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.validation import validate_text
from glossator.store.records import queries
from glossator.store.records.database import Database
from glossator.store.records.queries import find_session, now
from glossator.store.records.row_mapping import as_feedback, as_receipt, as_session
from glossator.store.records.schema import feedback, receipts, sessions

EXPIRED_SESSION_RETENTION = timedelta(days=30)
"""How long an expired session is still listed as expired."""
MAX_ID = 2**31 - 1
MAX_IDEMPOTENCY_KEY_LENGTH = 255


@dataclass(frozen=True, slots=True)
class TurnTimings:
    """How turns of one conversation wait for each other."""

    wait_timeout_seconds: float = 30.0
    """How long a turn waits for those before it."""
    poll_interval_seconds: float = 0.1
    """How often a waiting turn looks for turns that other processes have finished."""
    lease_seconds: float = 10.0
    """A queued turn whose process does not renew it for this long is taken for abandoned."""
    renew_interval_seconds: float = 2.5


class RecordStore:
    """Conversations, receipts and feedback.

    A session is deleted after `session_retention` without activity, a receipt that belongs to no conversation after
    `receipt_retention`; None keeps them without limit.
    """

    def __init__(
        self,
        database: Database,
        session_retention: timedelta | None = None,
        receipt_retention: timedelta | None = None,
        timings: TurnTimings | None = None,
    ) -> None:
        self.database = database
        self.timings = timings or TurnTimings()
        self._session_retention = session_retention
        self._receipt_retention = receipt_retention
        self._turn_ended: WeakValueDictionary[uuid.UUID, asyncio.Event] = WeakValueDictionary()
        self._tickets: set[int] = set()
        self._unreleased: set[int] = set()
        self._leaving: dict[asyncio.Task[None], uuid.UUID] = {}
        self._renewal: asyncio.Task[None] | None = None

    async def begin_turn(self, key: SessionKey, question: Question, idempotency_key: str | None = None) -> Turn:
        """Wait for the turns before this one, in order of arrival across all processes.

        Creates the session if there is none. If the conversation has an exchange with this idempotency key, the turn
        carries it.
        """
        request = _validate_key(idempotency_key) if idempotency_key else None
        ticket, turn = await self._enqueue(key, question, request)
        if turn is None:
            turn = await self._wait_for_turn(key, ticket, request)
        if turn.duplicate_of and turn.duplicate_of[1] != question.fingerprint:
            await self.cancel_turn(turn)
            raise IdempotencyKeyReused(
                "This idempotency key was used for another request.", "Use a new key for a new question."
            )
        return turn

    async def _enqueue(self, key: SessionKey, question: Question, request: str | None) -> tuple[int, Turn | None]:
        """Join the queue, after the cancelled turns of this process have left it; if cancelled meanwhile, leave it."""
        if leaving := [task for task, session_id in self._leaving.items() if session_id == key.session_id]:
            await asyncio.wait(leaving)
        unreleased = frozenset(self._unreleased)
        lease = timedelta(seconds=self.timings.lease_seconds)
        enqueuing = asyncio.ensure_future(
            self.database.write(lambda db: queries.enqueue(db, key, question, request, lease, unreleased))
        )
        try:
            ticket, turn = await asyncio.shield(enqueuing)
        except asyncio.CancelledError:
            await asyncio.wait([self._leave_queue(key, self._leave_once_joined(key, enqueuing))])
            raise
        self._unreleased -= unreleased
        self._tickets.add(ticket)
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew_leases())
        return ticket, turn

    def _leave_queue(self, key: SessionKey, leaving: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Leave the queue in a separate task, which is not cancelled with the caller."""
        task = asyncio.create_task(leaving)
        self._leaving[task] = key.session_id
        task.add_done_callback(self._leaving.pop)
        return task

    async def _leave_once_joined(self, key: SessionKey, enqueuing: asyncio.Future[tuple[int, Turn | None]]) -> None:
        with suppress(GlossatorError):
            await self._dequeue(Turn(key, (await enqueuing)[0], ""))

    async def _dequeue(self, turn: Turn) -> None:
        try:
            await self.database.write(lambda db: queries.dequeue(db, turn.ticket))
        except DatabaseUnavailable:
            self._unreleased.add(turn.ticket)
            raise
        finally:
            self._notify_waiting(turn)

    async def _renew_leases(self) -> None:
        """Renew the leases of this process for as long as it has turns that wait or are being answered."""
        await asyncio.sleep(self.timings.renew_interval_seconds)
        while self._tickets:
            lease = timedelta(seconds=self.timings.lease_seconds)
            with suppress(DatabaseUnavailable):
                await self.database.write(partial(queries.renew_leases, tickets=sorted(self._tickets), lease=lease))
            await asyncio.sleep(self.timings.renew_interval_seconds)

    async def _wait_for_turn(self, key: SessionKey, ticket: int, request: str | None) -> Turn:
        """Check again when a turn of this process ends, and at intervals for those of other processes."""
        ended = self._turn_ended.setdefault(key.session_id, asyncio.Event())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timings.wait_timeout_seconds
        try:
            while loop.time() < deadline:
                ended.clear()
                turn = await self.database.read(lambda db: queries.turn_if_first(db, key, ticket, request))
                if turn is not None:
                    return turn
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), self.timings.poll_interval_seconds)
            raise queries.conversation_busy()
        except BaseException:
            await self.cancel_turn(Turn(key, ticket, ""))
            raise

    async def finish_turn(
        self, turn: Turn, question: Question, receipt: Receipt, metadata: ExchangeMetadata | None = None
    ) -> Exchange:
        """Store the exchange with its receipt, and let the next turn begin."""
        try:
            return await self.database.write(lambda db: queries.store_exchange(db, turn, question, receipt, metadata))
        except ConversationChanged:
            # A connection lost during a commit leaves open whether the commit succeeded.
            stored = await self.database.read(lambda db: queries.find_exchange(db, turn.key, turn.idempotency_key))
            if stored is None:
                raise
            return stored[0]
        except DatabaseUnavailable:
            self._unreleased.add(turn.ticket)
            raise
        finally:
            self._notify_waiting(turn)

    async def cancel_turn(self, turn: Turn) -> None:
        """End a turn without storing anything, even when the caller is cancelled.

        While the database is unavailable the turn stays queued; the next turn to begin removes it.
        """
        await asyncio.shield(self._leave_queue(turn.key, self._dequeue(turn)))

    def _notify_waiting(self, turn: Turn) -> None:
        self._tickets.discard(turn.ticket)
        if ended := self._turn_ended.get(turn.key.session_id):
            ended.set()

    async def session(self, key: SessionKey) -> Session:
        """One session of this user."""
        return as_session(await self.database.read(lambda db: find_session(db, key)), now())

    async def sessions(self, user_id: str | None = None, limit: int = 100) -> list[Session]:
        """The sessions of a user, or those without a user; most recent first."""
        found = sa.select(sessions).where(sessions.c.user_id.is_not_distinct_from(user_id))
        newest = found.order_by(sessions.c.last_active.desc(), sessions.c.session_id).limit(limit)

        def read(db: sa.Connection) -> Sequence[sa.Row[Any]]:
            return db.execute(newest).all()

        return [as_session(row, now()) for row in await self.database.read(read)]

    async def history(self, key: SessionKey, limit: int = 100, before: int | None = None) -> History:
        """The latest exchanges, or the latest before the id `before`; oldest first."""
        if limit < 1:
            raise QuestionError(f"The limit is {limit}.", "It must be at least 1.")
        cursor = None if before is None else max(0, min(before, MAX_ID))
        return await self.database.read(lambda db: queries.read_history(db, key, limit, cursor))

    async def reset(self, key: SessionKey) -> None:
        """Empty a session: its exchanges and their receipts are deleted, and a turn in progress is cancelled."""

        def work(db: sa.Connection) -> None:
            find_session(db, key, lock=True)
            queries.delete_contents(db, [key.session_id])
            fresh = {"state": SessionState.CREATED, "message_count": 0, "active_filters": {}, "last_active": now()}
            db.execute(sa.update(sessions).where(sessions.c.session_id == key.session_id).values(fresh))

        await self.database.write(work)
        await self.database.checkpoint()

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with everything in it."""

        def work(db: sa.Connection) -> None:
            find_session(db, key, lock=True)
            queries.delete_contents(db, [key.session_id])
            db.execute(sa.delete(sessions).where(sessions.c.session_id == key.session_id))

        await self.database.write(work)
        await self.database.checkpoint()

    async def store_receipt(self, receipt: Receipt) -> None:
        """Store the receipt of an answer that belongs to no conversation; if it is stored already, this is a read."""
        if not await self.database.read(lambda db: queries.is_standalone(db, receipt.receipt_id)):
            await self.database.write(lambda db: queries.store_receipt(db, receipt, standalone=True))

    async def stored_receipts(self, ids: Collection[str]) -> set[str]:
        """Which of these receipts are stored."""
        return await self.database.read(lambda db: queries.stored_receipts(db, sorted(ids)))

    async def receipt(self, receipt_id: str) -> Receipt:
        """The receipt with this id."""
        if not receipt_id.isalnum() or not receipt_id.isascii():
            raise queries.receipt_not_found(receipt_id)
        wanted = sa.select(receipts.c.body).where(receipts.c.receipt_id == receipt_id)

        def read(db: sa.Connection) -> Any:
            return db.execute(wanted).scalar()

        body = await self.database.read(read)
        if body is None:
            raise queries.receipt_not_found(receipt_id)
        return as_receipt(body, receipt_id)

    async def add_feedback(
        self,
        receipt_id: str,
        rating: Rating,
        reason: str = "",
        text: str = "",
        key: SessionKey | None = None,
        user_id: str | None = None,
    ) -> None:
        """Store a user's feedback on an answer to them; for a named conversation, it replaces earlier feedback."""
        await self.receipt(receipt_id)
        values = {"rating": rating, "reason": validate_text(reason, "reason"), "text": validate_text(text, "text")}

        def work(db: sa.Connection) -> None:
            if key is None:
                session_id = queries.session_of_own_answer(db, user_id, receipt_id)
            else:
                session_id = key.session_id
                queries.require_answer_in_session(db, key, receipt_id)
                same = (feedback.c.receipt_id == receipt_id) & (feedback.c.session_id == session_id)
                db.execute(sa.delete(feedback).where(same))
            row = values | {"receipt_id": receipt_id, "session_id": session_id, "created_at": now()}
            db.execute(sa.insert(feedback).values(row))

        await self.database.write(work)

    async def feedback(self, limit: int = 100) -> list[Feedback]:
        """Users' feedback, most recent first."""
        question = receipts.c.body["question"].as_string().label("question")
        joined = feedback.join(receipts).outerjoin(sessions, feedback.c.session_id == sessions.c.session_id)
        latest = sa.select(feedback, question, sessions.c.name).select_from(joined).order_by(feedback.c.id.desc())

        def read(db: sa.Connection) -> Sequence[sa.Row[Any]]:
            return db.execute(latest.limit(limit)).all()

        return [as_feedback(row) for row in await self.database.read(read)]

    async def clean(self, moment: datetime | None = None) -> CleanupResult:
        """Mark inactive sessions and delete what has expired; several processes may do this at once."""
        moment = moment or now()
        inactive = await self.database.write(lambda db: queries.mark_inactive(db, moment))
        expired = forgotten = old_receipts = 0
        if self._session_retention is not None:
            cutoff = moment - self._session_retention
            while batch := await self.database.write(lambda db: queries.expire_sessions(db, cutoff)):
                expired += batch
            oldest_expired = cutoff - EXPIRED_SESSION_RETENTION
            forgotten = await self.database.write(lambda db: queries.delete_expired_sessions(db, oldest_expired))
        if self._receipt_retention is not None:
            oldest = moment - self._receipt_retention
            while batch := await self.database.write(lambda db: queries.delete_old_receipts(db, oldest)):
                old_receipts += batch
        await self.database.checkpoint()
        return CleanupResult(inactive, expired, old_receipts, forgotten)

    async def finish_deletions(self) -> None:
        """Remove deleted text that was still being read when it was deleted."""
        await self.database.retry_checkpoint()

    async def close(self) -> None:
        """Stop renewing leases, let cancelled turns leave, and close all connections."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self.database.close()


def _validate_key(idempotency_key: str) -> str:
    if len(idempotency_key) > MAX_IDEMPOTENCY_KEY_LENGTH:
        raise QuestionError(
            f"The idempotency key is longer than {MAX_IDEMPOTENCY_KEY_LENGTH} characters.", "Use a shorter one."
        )
    return validate_text(idempotency_key, "idempotency key")
