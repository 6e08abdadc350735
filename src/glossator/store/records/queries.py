"""SQL of the record store: every function runs on the caller's connection, inside the caller's transaction."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from glossator.core.conversations import (
    MAX_CONTEXT_MESSAGES,
    Exchange,
    ExchangeMetadata,
    History,
    SessionKey,
    SessionState,
    Turn,
)
from glossator.core.errors import ConversationBusy, ConversationChanged, ReceiptNotFound, SessionNotFound
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.store.records.row_mapping import (
    INACTIVE_AFTER,
    as_exchange,
    as_session,
    exchange_columns,
    receipt_columns,
)
from glossator.store.records.schema import UtcTime, conversations, feedback, receipts, sessions, turns

MAX_RECENT_EXCHANGES = 5
"""Earlier exchanges that a new turn gets as context."""
MAX_QUEUED_TURNS = 8
"""Turns of one conversation at a time: one is being answered, the others wait."""
_BATCH_SIZE = 500


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def conversation_busy() -> ConversationBusy:
    """The error for a conversation in which too many turns wait."""
    return ConversationBusy("Other questions in this conversation are still being answered.", "Ask again in a moment.")


def _conversation_changed() -> ConversationChanged:
    return ConversationChanged("The conversation was deleted, reset, or continued without this question.", "Ask again.")


def _not_found() -> SessionNotFound:
    return SessionNotFound("There is no such conversation.", "Ask a question to start one.")


_SESSION = sa.bindparam("session", type_=sa.Uuid())
_MOMENT = sa.bindparam("moment", type_=UtcTime())
_QUEUED = (turns.c.session_id == _SESSION) & (turns.c.expires_at > _MOMENT)
_COUNT_QUEUED = sa.select(sa.func.count()).select_from(turns).where(_QUEUED)
_FIRST_TICKET = sa.select(sa.func.min(turns.c.ticket)).where(_QUEUED)
_ENQUEUE = sa.insert(turns).returning(turns.c.ticket)
_DEQUEUE = sa.delete(turns).where(turns.c.ticket == sa.bindparam("ticket"))
_NEWEST = conversations.select().where(conversations.c.session_id == _SESSION).order_by(conversations.c.id.desc())
_RECENT_EXCHANGES = _NEWEST.limit(MAX_RECENT_EXCHANGES)
_EXCHANGE_OF_REQUEST = conversations.select().where(
    conversations.c.session_id == _SESSION, conversations.c.request_key == sa.bindparam("request")
)
_COUNT_EXCHANGES = sa.select(sa.func.count()).select_from(conversations).where(conversations.c.session_id == _SESSION)
_IN_CONVERSATION = sa.select(conversations.c.id).where(conversations.c.receipt_id == receipts.c.receipt_id).exists()
_COUNT_MESSAGES = (
    sa.update(sessions)
    .where(sessions.c.session_id == _SESSION)
    .values(message_count=sessions.c.message_count + 2, last_active=_MOMENT, state=SessionState.ACTIVE)
)
"""Statements of every turn, built once: building a statement costs more than running it."""


@cache
def _upsert_session(dialect: str) -> sa.Insert:
    """Create the session or mark it as used; a session of another user is left unchanged."""
    insert = _insert(sessions, dialect)
    state = sa.case(
        (sessions.c.state == SessionState.EXPIRED, SessionState.CREATED),
        (sessions.c.state == SessionState.INACTIVE, SessionState.ACTIVE),
        else_=sessions.c.state,
    )
    given = insert.excluded
    began = sa.case((sessions.c.state == SessionState.EXPIRED, given.created_at), else_=sessions.c.created_at)
    used = {"last_active": given.last_active, "context_mode": given.context_mode, "state": state, "created_at": began}
    return insert.on_conflict_do_update(
        index_elements=[sessions.c.session_id],
        set_=used | {"active_filters": given.active_filters},
        where=sessions.c.user_id.is_not_distinct_from(given.user_id),
    ).returning(sessions.c.message_count)


@cache
def _insert_exchange(dialect: str) -> sa.Insert:
    """Insert an exchange unless its idempotency key is already stored."""
    unique = [conversations.c.session_id, conversations.c.request_key]
    return _insert(conversations, dialect).on_conflict_do_nothing(index_elements=unique).returning(conversations.c.id)


@cache
def _insert_receipt(dialect: str) -> sa.Insert:
    return _insert(receipts, dialect).on_conflict_do_nothing(index_elements=[receipts.c.receipt_id])


def _insert(table: sa.Table, dialect: str) -> postgresql.Insert | sqlite.Insert:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def enqueue(
    db: sa.Connection,
    key: SessionKey,
    question: Question,
    request: str | None,
    lease: timedelta,
    unreleased: frozenset[int],
) -> tuple[int, Turn | None]:
    """Queue a turn: its ticket, and the turn itself if it is first in the queue.

    The session's row is locked first, as in all transactions, so that they cannot deadlock. `unreleased` are tickets
    of turns that ended while the database was unavailable.
    """
    moment = now()
    _create_or_touch_session(db, key, question, moment)
    if unreleased:
        db.execute(sa.delete(turns).where(turns.c.ticket.in_(unreleased)))
    queued = db.execute(_COUNT_QUEUED, {"session": key.session_id, "moment": moment}).scalar_one()
    if queued >= MAX_QUEUED_TURNS:
        raise conversation_busy()
    ticket = db.execute(_ENQUEUE, {"session_id": key.session_id, "expires_at": moment + lease}).scalar_one()
    return ticket, None if queued else _turn(db, key, ticket, request)


def _create_or_touch_session(db: sa.Connection, key: SessionKey, question: Question, moment: datetime) -> None:
    row = {
        "session_id": key.session_id,
        "created_at": moment,
        "last_active": moment,
        "name": key.name,
        "user_id": key.user_id,
        "context_mode": question.context_mode,
        "active_filters": question.active_filters,
    }
    if db.execute(_upsert_session(db.dialect.name), row).scalar() is None:
        raise _not_found()


def dequeue(db: sa.Connection, ticket: int) -> bool:
    """Remove a turn from the queue; whether it was still in it."""
    return db.execute(_DEQUEUE, {"ticket": ticket}).rowcount == 1


def renew_leases(db: sa.Connection, tickets: Sequence[int], lease: timedelta) -> None:
    """Extend the leases of turns whose process is alive."""
    db.execute(sa.update(turns).where(turns.c.ticket.in_(tickets)).values(expires_at=now() + lease))


def turn_if_first(db: sa.Connection, key: SessionKey, ticket: int, request: str | None) -> Turn | None:
    """The turn, if it is first in the queue."""
    first = db.execute(_FIRST_TICKET, {"session": key.session_id, "moment": now()}).scalar()
    if first is None or first > ticket:
        raise _conversation_changed()
    return _turn(db, key, ticket, request) if first == ticket else None


def _turn(db: sa.Connection, key: SessionKey, ticket: int, request: str | None) -> Turn:
    rows = db.execute(_RECENT_EXCHANGES, {"session": key.session_id}).all()
    recent = tuple(as_exchange(row, key.name) for row in reversed(rows))
    duplicate_of = find_exchange(db, key, request) if request else None
    return Turn(key, ticket, request or uuid.uuid4().hex, recent, duplicate_of)


def find_exchange(db: sa.Connection, key: SessionKey, request: str) -> tuple[Exchange, str] | None:
    """The exchange with this idempotency key, and the fingerprint of its request."""
    row = db.execute(_EXCHANGE_OF_REQUEST, {"session": key.session_id, "request": request}).first()
    return (as_exchange(row, key.name), str(row.metadata.get("request", ""))) if row else None


def store_exchange(
    db: sa.Connection, turn: Turn, question: Question, receipt: Receipt, metadata: ExchangeMetadata | None
) -> Exchange:
    """Store an exchange with its receipt, and end its turn."""
    moment = now()
    db.execute(_COUNT_MESSAGES, {"session": turn.key.session_id, "moment": moment})
    if not dequeue(db, turn.ticket):
        raise _conversation_changed()
    store_receipt(db, receipt)
    row = exchange_columns(question, receipt.answer, metadata) | {
        "session_id": turn.key.session_id,
        "timestamp": moment,
        "created_at": moment,
        "request_key": turn.idempotency_key,
    }
    stored = db.execute(_insert_exchange(db.dialect.name), row).scalar()
    if stored is None:
        raise _conversation_changed()
    shown = replace(receipt.answer, session_id=turn.key.name, stored=True)
    return Exchange(stored, moment, question.text, shown, question.selection)


def store_receipt(db: sa.Connection, receipt: Receipt, *, standalone: bool = False) -> None:
    """Store a receipt, unless it is stored already; a standalone one outlives the conversations that share it."""
    db.execute(_insert_receipt(db.dialect.name), receipt_columns(receipt))
    if standalone:
        same = receipts.c.receipt_id == receipt.receipt_id
        db.execute(sa.update(receipts).where(same).values(is_standalone=True))


def is_standalone(db: sa.Connection, receipt_id: str) -> bool:
    """Whether a receipt is stored and was given outside a conversation."""
    standalone = sa.select(receipts.c.is_standalone).where(receipts.c.receipt_id == receipt_id)
    return bool(db.execute(standalone).scalar())


def stored_receipts(db: sa.Connection, ids: Sequence[str]) -> set[str]:
    """Which of these receipts are stored."""
    found: set[str] = set()
    for start in range(0, len(ids), _BATCH_SIZE):
        batch = receipts.c.receipt_id.in_(ids[start : start + _BATCH_SIZE])
        found.update(db.execute(sa.select(receipts.c.receipt_id).where(batch)).scalars())
    return found


def find_session(db: sa.Connection, key: SessionKey, *, lock: bool = False) -> sa.Row[Any]:
    """The row of a session; a session of another user counts as not found."""
    same = (sessions.c.session_id == key.session_id) & sessions.c.user_id.is_not_distinct_from(key.user_id)
    wanted = sa.select(sessions).where(same)
    row = db.execute(wanted.with_for_update() if lock else wanted).first()
    if row is None:
        raise _not_found()
    return row


def read_history(db: sa.Connection, key: SessionKey, limit: int, before: int | None) -> History:
    """A page of exchanges, oldest first."""
    session = as_session(find_session(db, key), now())
    total = db.execute(_COUNT_EXCHANGES, {"session": key.session_id}).scalar_one()
    page = _NEWEST if before is None else _NEWEST.where(conversations.c.id < before)
    rows = db.execute(page.limit(limit + 1), {"session": key.session_id}).all()
    oldest = 0
    if session.messages_left_out:
        last = _NEWEST.with_only_columns(conversations.c.id).offset(MAX_CONTEXT_MESSAGES // 2 - 1).limit(1)
        oldest = db.execute(last, {"session": key.session_id}).scalar() or 0
    shown = tuple(as_exchange(row, key.name, in_context=row.id >= oldest) for row in reversed(rows[:limit]))
    return History(session, shown, total, shown[0].id if len(rows) > limit else None)


def delete_contents(db: sa.Connection, ids: Sequence[uuid.UUID]) -> None:
    """Delete everything in some sessions; a receipt stays if it was also given elsewhere."""
    in_sessions = conversations.c.session_id.in_(ids)
    used = sa.select(conversations.c.receipt_id).where(in_sessions, conversations.c.receipt_id.is_not(None)).distinct()
    receipt_ids = db.execute(used).scalars().all()
    for table in (feedback, turns, conversations):
        db.execute(sa.delete(table).where(table.c.session_id.in_(ids)))
    if receipt_ids:
        unused = receipts.c.receipt_id.in_(receipt_ids) & ~_IN_CONVERSATION & ~receipts.c.is_standalone
        db.execute(sa.delete(receipts).where(unused))


def require_answer_in_session(db: sa.Connection, key: SessionKey, receipt_id: str) -> None:
    """Refuse a receipt that belongs to no answer of this conversation."""
    find_session(db, key)
    match = (conversations.c.session_id == key.session_id) & (conversations.c.receipt_id == receipt_id)
    if db.execute(sa.select(conversations.c.id).where(match).limit(1)).first() is None:
        raise ReceiptNotFound(
            f"This conversation has no answer {receipt_id!r}.", "Use the receipt id of one of its answers."
        )


def session_of_own_answer(db: sa.Connection, user_id: str | None, receipt_id: str) -> uuid.UUID | None:
    """The user's latest conversation with this answer; None for an answer outside conversations, which has no user."""
    own = (conversations.c.receipt_id == receipt_id) & sessions.c.user_id.is_not_distinct_from(user_id)
    latest = sa.select(sessions.c.session_id).join(conversations).where(own).order_by(conversations.c.id.desc())
    session_id = db.execute(latest.limit(1)).scalar()
    if session_id is None and (user_id is not None or not is_standalone(db, receipt_id)):
        raise receipt_not_found(receipt_id)
    return session_id


def receipt_not_found(receipt_id: str) -> ReceiptNotFound:
    """The error for a receipt that does not exist, or belongs to another user."""
    return ReceiptNotFound(f"There is no receipt {receipt_id!r}.", "Use the receipt id of an answer.")


def mark_inactive(db: sa.Connection, moment: datetime) -> int:
    """Mark sessions without recent activity, and remove the turns of processes that died; how many were marked."""
    db.execute(sa.delete(turns).where(turns.c.expires_at < moment))
    active = sessions.c.state.in_([SessionState.CREATED, SessionState.ACTIVE])
    quiet = sessions.c.last_active < moment - INACTIVE_AFTER
    return db.execute(sa.update(sessions).where(active, quiet).values(state=SessionState.INACTIVE)).rowcount


def expire_sessions(db: sa.Connection, cutoff: datetime) -> int:
    """Expire a batch of sessions, skipping those that a turn or another process has locked; how many."""
    old = (sessions.c.state != SessionState.EXPIRED) & (sessions.c.last_active < cutoff)
    batch = sa.select(sessions.c.session_id).where(old).order_by(sessions.c.last_active).limit(_BATCH_SIZE)
    ids = db.execute(batch.with_for_update(skip_locked=True)).scalars().all()
    if ids:
        delete_contents(db, ids)
        emptied = {"state": SessionState.EXPIRED, "message_count": 0, "active_filters": {}}
        db.execute(sa.update(sessions).where(sessions.c.session_id.in_(ids)).values(emptied))
    return len(ids)


def delete_expired_sessions(db: sa.Connection, cutoff: datetime) -> int:
    """Delete sessions that expired long ago; how many."""
    old = (sessions.c.state == SessionState.EXPIRED) & (sessions.c.last_active < cutoff)
    return db.execute(sa.delete(sessions).where(old)).rowcount


def delete_old_receipts(db: sa.Connection, oldest: datetime) -> int:
    """Delete a batch of receipts that belong to no conversation; how many."""
    old = receipts.c.created_at < oldest
    batch = sa.select(receipts.c.receipt_id).where(old, ~_IN_CONVERSATION).limit(_BATCH_SIZE)
    return db.execute(sa.delete(receipts).where(receipts.c.receipt_id.in_(batch))).rowcount
