"""The statements of the records: each runs on a connection, inside a transaction of the caller's."""

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
    MOST_MESSAGES,
    Exchange,
    History,
    SessionKey,
    SessionState,
    Turn,
)
from glossator.core.errors import ConversationBusy, ReceiptNotFound, SessionNotFound, TurnLost
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.store.records.row_mapping import INACTIVE_AFTER, answer_columns, as_exchange, as_session, receipt_columns
from glossator.store.records.schema import UtcTime, conversations, feedback, receipts, sessions, turns

RECENT = 5
"""Exchanges that a new turn is told of."""
MOST_WAITING = 8
"""Turns of one conversation that may be under way: one is answered, the others wait."""
LEASE = timedelta(seconds=10)
"""A place in the queue that its process does not renew for so long, because it died, holds up nobody any more."""
_BATCH = 500


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def busy() -> ConversationBusy:
    """Too many turns wait."""
    return ConversationBusy("Other questions of this conversation are still being answered.", "Ask again in a moment.")


def _lost() -> TurnLost:
    return TurnLost("The conversation was deleted or begun anew, or went on without this turn.", "Ask again.")


def _not_found() -> SessionNotFound:
    return SessionNotFound("There is no such conversation.", "Ask something to begin one.")


_SESSION = sa.bindparam("session", type_=sa.Uuid())
_MOMENT = sa.bindparam("moment", type_=UtcTime())
_LIVE = (turns.c.session_id == _SESSION) & (turns.c.expires_at > _MOMENT)
_WAITING = sa.select(sa.func.count()).select_from(turns).where(_LIVE)
_FIRST = sa.select(sa.func.min(turns.c.ticket)).where(_LIVE)
_PLACE = sa.insert(turns).returning(turns.c.ticket)
_LEAVE = sa.delete(turns).where(turns.c.ticket == sa.bindparam("ticket"))
_NEWEST = conversations.select().where(conversations.c.session_id == _SESSION).order_by(conversations.c.id.desc())
_RECENT = _NEWEST.limit(RECENT)
_REPEATED = conversations.select().where(
    conversations.c.session_id == _SESSION, conversations.c.request_key == sa.bindparam("named")
)
_EXCHANGES = sa.select(sa.func.count()).select_from(conversations).where(conversations.c.session_id == _SESSION)
_COUNT = (
    sa.update(sessions)
    .where(sessions.c.session_id == _SESSION)
    .values(message_count=sessions.c.message_count + 2, last_active=_MOMENT, state=SessionState.ACTIVE)
)
"""What every turn does; made once, for making a statement costs more than running it."""


@cache
def _touching(dialect: str) -> sa.Insert:
    """Make the session, or note that it is in use; one that is somebody else's stays as it is."""
    make = postgresql.insert(sessions) if dialect == "postgresql" else sqlite.insert(sessions)
    state = sa.case(
        (sessions.c.state == SessionState.EXPIRED, SessionState.CREATED),
        (sessions.c.state == SessionState.INACTIVE, SessionState.ACTIVE),
        else_=sessions.c.state,
    )
    given = make.excluded
    began = sa.case((sessions.c.state == SessionState.EXPIRED, given.created_at), else_=sessions.c.created_at)
    used = {"last_active": given.last_active, "context_mode": given.context_mode, "state": state, "created_at": began}
    return make.on_conflict_do_update(
        index_elements=[sessions.c.session_id],
        set_=used | {"active_filters": given.active_filters},
        where=sessions.c.user_id.is_not_distinct_from(given.user_id),
    ).returning(sessions.c.message_count)


@cache
def _storing(dialect: str) -> sa.Insert:
    """A request is stored once, however often it comes."""
    make = postgresql.insert(conversations) if dialect == "postgresql" else sqlite.insert(conversations)
    once = [conversations.c.session_id, conversations.c.request_key]
    return make.on_conflict_do_nothing(index_elements=once).returning(conversations.c.id)


@cache
def _keeping(dialect: str) -> sa.Insert:
    make = postgresql.insert(receipts) if dialect == "postgresql" else sqlite.insert(receipts)
    return make.on_conflict_do_nothing(index_elements=[receipts.c.receipt_id])


def queue_up(
    db: sa.Connection,
    key: SessionKey,
    question: Question,
    named: str | None,
    dropped: frozenset[int],
) -> tuple[int, Turn | None]:
    """A ticket, and the turn itself when nobody stands before it; the session's row is locked first, as everywhere."""
    moment = now()
    _touch(db, key, question, moment)
    if dropped:
        db.execute(sa.delete(turns).where(turns.c.ticket.in_(dropped)))
    waiting = db.execute(_WAITING, {"session": key.session_id, "moment": moment}).scalar_one()
    if waiting >= MOST_WAITING:
        raise busy()
    place = {"session_id": key.session_id, "expires_at": moment + LEASE}
    ticket = db.execute(_PLACE, place).scalar_one()
    return ticket, None if waiting else _turn(db, key, ticket, named)


def _touch(db: sa.Connection, key: SessionKey, question: Question, moment: datetime) -> None:
    row = {
        "session_id": key.session_id,
        "created_at": moment,
        "last_active": moment,
        "name": key.name,
        "user_id": key.user_id,
        "context_mode": question.context_mode,
        "active_filters": question.active_filters,
    }
    if db.execute(_touching(db.dialect.name), row).scalar() is None:
        raise _not_found()


def leave(db: sa.Connection, ticket: int) -> bool:
    """Give a place back; whether it was still there."""
    return db.execute(_LEAVE, {"ticket": ticket}).rowcount == 1


def renew(db: sa.Connection, tickets: Sequence[int]) -> None:
    """Say that the process lives that these places belong to."""
    db.execute(sa.update(turns).where(turns.c.ticket.in_(tickets)).values(expires_at=now() + LEASE))


def turn_if_first(db: sa.Connection, key: SessionKey, ticket: int, named: str | None) -> Turn | None:
    """The turn, when its time has come."""
    first = db.execute(_FIRST, {"session": key.session_id, "moment": now()}).scalar()
    if first is None or first > ticket:
        raise _lost()
    return _turn(db, key, ticket, named) if first == ticket else None


def _turn(db: sa.Connection, key: SessionKey, ticket: int, named: str | None) -> Turn:
    rows = db.execute(_RECENT, {"session": key.session_id}).all()
    recent = tuple(as_exchange(row, key.name) for row in reversed(rows))
    repeats = find_repeated(db, key, named) if named else None
    return Turn(key, ticket, named or uuid.uuid4().hex, recent, repeats)


def find_repeated(db: sa.Connection, key: SessionKey, named: str) -> tuple[Exchange, str] | None:
    """The exchange that a request key names, and the fingerprint of its request."""
    row = db.execute(_REPEATED, {"session": key.session_id, "named": named}).first()
    return (as_exchange(row, key.name), str(row.metadata.get("request", ""))) if row else None


def store_exchange(db: sa.Connection, turn: Turn, question: Question, receipt: Receipt) -> Exchange:
    """Everything of an exchange, or nothing."""
    moment = now()
    db.execute(_COUNT, {"session": turn.key.session_id, "moment": moment})
    if not leave(db, turn.ticket):
        raise _lost()
    keep_receipt(db, receipt)
    row = answer_columns(receipt.answer, question.fingerprint) | {
        "session_id": turn.key.session_id,
        "timestamp": moment,
        "created_at": moment,
        "query": question.text,
        "request_key": turn.request_key,
    }
    stored = db.execute(_storing(db.dialect.name), row).scalar()
    if stored is None:
        raise _lost()
    shown = replace(receipt.answer, session_id=turn.key.name, stored=True)
    return Exchange(stored, moment, question.text, shown)


def keep_receipt(db: sa.Connection, receipt: Receipt) -> None:
    """A receipt; the same answer made in the same way has one."""
    db.execute(_keeping(db.dialect.name), receipt_columns(receipt))


def find_session(db: sa.Connection, key: SessionKey, *, lock: bool = False) -> sa.Row[Any]:
    """One question for every case: a session of somebody else is one that is not there."""
    same = (sessions.c.session_id == key.session_id) & sessions.c.user_id.is_not_distinct_from(key.user_id)
    wanted = sa.select(sessions).where(same)
    row = db.execute(wanted.with_for_update() if lock else wanted).first()
    if row is None:
        raise _not_found()
    return row


def read_history(db: sa.Connection, key: SessionKey, limit: int, before: int | None) -> History:
    """A page of exchanges, oldest first."""
    session = as_session(find_session(db, key), now())
    total = db.execute(_EXCHANGES, {"session": key.session_id}).scalar_one()
    page = _NEWEST if before is None else _NEWEST.where(conversations.c.id < before)
    rows = db.execute(page.limit(limit + 1), {"session": key.session_id}).all()
    oldest = 0
    if session.messages_left_out:
        last = _NEWEST.with_only_columns(conversations.c.id).offset(MOST_MESSAGES // 2 - 1).limit(1)
        oldest = db.execute(last, {"session": key.session_id}).scalar() or 0
    shown = tuple(as_exchange(row, key.name, in_context=row.id >= oldest) for row in reversed(rows[:limit]))
    return History(session, shown, total, shown[0].id if len(rows) > limit else None)


def erase(db: sa.Connection, ids: Sequence[uuid.UUID]) -> None:
    """All that was said in some sessions; a receipt that another conversation holds too stays for that one."""
    theirs = conversations.c.session_id.in_(ids)
    named = sa.select(conversations.c.receipt_id).where(theirs, conversations.c.receipt_id.is_not(None)).distinct()
    used = db.execute(named).scalars().all()
    for table in (feedback, turns, conversations):
        db.execute(sa.delete(table).where(table.c.session_id.in_(ids)))
    if used:
        others = sa.select(conversations.c.id).where(conversations.c.receipt_id == receipts.c.receipt_id).exists()
        db.execute(sa.delete(receipts).where(receipts.c.receipt_id.in_(used), ~others))


def check_heard(db: sa.Connection, key: SessionKey, receipt_id: str) -> None:
    """An answer that this conversation gave, and no other."""
    find_session(db, key)
    said = (conversations.c.session_id == key.session_id) & (conversations.c.receipt_id == receipt_id)
    if db.execute(sa.select(conversations.c.id).where(said).limit(1)).first() is None:
        raise ReceiptNotFound(f"This conversation has no answer {receipt_id!r}.", "Use an id that it carried.")


def put_to_rest(db: sa.Connection, moment: datetime) -> int:
    """Mark sessions that have gone quiet, and drop the turns of processes that died."""
    db.execute(sa.delete(turns).where(turns.c.expires_at < moment))
    awake = sessions.c.state.in_([SessionState.CREATED, SessionState.ACTIVE])
    quiet = sessions.c.last_active < moment - INACTIVE_AFTER
    done = db.execute(sa.update(sessions).where(awake, quiet).values(state=SessionState.INACTIVE))
    return done.rowcount


def expire_some(db: sa.Connection, cutoff: datetime) -> int:
    """Some sessions that nobody else is expiring and that no turn holds."""
    old = (sessions.c.state != SessionState.EXPIRED) & (sessions.c.last_active < cutoff)
    some = sa.select(sessions.c.session_id).where(old).order_by(sessions.c.last_active).limit(_BATCH)
    ids = db.execute(some.with_for_update(skip_locked=True)).scalars().all()
    if ids:
        erase(db, ids)
        gone = {"state": SessionState.EXPIRED, "message_count": 0, "active_filters": {}}
        db.execute(sa.update(sessions).where(sessions.c.session_id.in_(ids)).values(gone))
    return len(ids)


def forget(db: sa.Connection, cutoff: datetime) -> int:
    """Sessions that expired long ago."""
    over = (sessions.c.state == SessionState.EXPIRED) & (sessions.c.last_active < cutoff)
    return db.execute(sa.delete(sessions).where(over)).rowcount


def drop_receipts(db: sa.Connection, oldest: datetime) -> int:
    """Some receipts that no conversation holds."""
    held = sa.select(conversations.c.id).where(conversations.c.receipt_id == receipts.c.receipt_id).exists()
    some = sa.select(receipts.c.receipt_id).where(receipts.c.created_at < oldest, ~held).limit(_BATCH)
    return db.execute(sa.delete(receipts).where(receipts.c.receipt_id.in_(some))).rowcount
