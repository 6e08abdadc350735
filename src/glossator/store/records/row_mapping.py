"""Rows of the records as values, and values as rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Row

from glossator.core.answers import Answer, Citation, Mode
from glossator.core.conversations import (
    MOST_MESSAGES,
    ContextMode,
    Exchange,
    Feedback,
    Rating,
    Session,
    SessionKey,
    SessionState,
)
from glossator.core.errors import ReceiptNotFound
from glossator.core.receipts import Receipt
from glossator.core.validation import checked_text

INACTIVE_AFTER = timedelta(minutes=30)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When something happened of which no time was noted."""

_ANSWER = TypeAdapter(Answer)
_RECEIPT = TypeAdapter(Receipt)
_OF_THE_ROW = ("text", "citations", "session_id", "stored")
"""Engine of an answer that have columns of their own, or that a row says by being there."""


def answer_columns(answer: Answer, fingerprint: str) -> dict[str, Any]:
    """What was shown, and all that is known of it."""
    told = _ANSWER.dump_python(answer, mode="json")
    rest = {name: value for name, value in told.items() if name not in _OF_THE_ROW}
    return {
        "response": answer.text,
        "sources": told["citations"],
        "metadata": rest | {"request": fingerprint},
        "receipt_id": answer.receipt_id or None,
    }


def receipt_columns(receipt: Receipt) -> dict[str, Any]:
    """A receipt as its row."""
    created = datetime.fromisoformat(receipt.created)
    body = _RECEIPT.dump_python(receipt, mode="json")
    checked_text("".join(_texts(body)), "answer")
    return {"receipt_id": receipt.receipt_id, "created_at": created, "body": body}


def _texts(value: Any) -> Iterator[str]:
    """Every text within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def as_receipt(body: Any, receipt_id: str) -> Receipt:
    """A receipt, where this version can read it."""
    try:
        return _RECEIPT.validate_python(body)
    except ValidationError:
        raise ReceiptNotFound(f"The receipt {receipt_id!r} was kept by another version.", "Ask again.") from None


def as_session(row: Row[Any], now: datetime) -> Session:
    """A session, as it is at this moment."""
    state = SessionState(row.state)
    last_active = row.last_active or row.created_at or LONG_AGO
    if state in (SessionState.CREATED, SessionState.ACTIVE) and last_active < now - INACTIVE_AFTER:
        state = SessionState.INACTIVE
    return Session(
        key=SessionKey(row.session_id, row.name or str(row.session_id), row.user_id),
        created_at=row.created_at or last_active,
        last_active=last_active,
        state=state,
        context_mode=ContextMode(row.context_mode),
        active_filters=row.active_filters,
        message_count=row.message_count,
        messages_left_out=max(0, row.message_count - MOST_MESSAGES),
    )


def as_exchange(row: Row[Any], name: str, *, in_context: bool = True) -> Exchange:
    """An exchange with its answer, exactly as it was shown."""
    sources = row.sources if isinstance(row.sources, list) else []
    told = {"text": row.response, "citations": sources, "session_id": name, "stored": True}
    try:
        answer = _ANSWER.validate_python((row.metadata or {}) | told)
    except (ValidationError, TypeError):
        cited = tuple(_foreign(number, source) for number, source in enumerate(sources, 1) if isinstance(source, dict))
        answer = Answer(row.response, (), cited, False, Mode.FULL, 0.0, "", session_id=name, stored=True)
    return Exchange(row.id, row.timestamp or row.created_at or LONG_AGO, row.query, answer, in_context)


def _foreign(number: int, source: dict[str, Any]) -> Citation:
    """A source as another chat service wrote it, before it became this one."""
    url, title, section, quote = (str(source.get(name) or "") for name in ("source_url", "title", "section", "snippet"))
    score, position = (source.get(name) for name in ("similarity_score", "chunk_position"))
    return Citation(
        number=number,
        url=url,
        title=title,
        section=section,
        quote=quote,
        start=0,
        end=0,
        score=float(score) if isinstance(score, int | float) else 0.0,
        position=position if isinstance(position, int) else 0,
    )


def as_feedback(row: Row[Any]) -> Feedback:
    """What a reader said, with the question that it is about."""
    return Feedback(
        row.receipt_id, Rating(row.rating), row.reason, row.text, row.created_at, row.question or "", row.name
    )
