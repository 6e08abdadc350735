"""Rows of the records as values, and values as rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Row

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
from glossator.core.errors import BadInput, ReceiptNotFound
from glossator.core.types import Answer, Citation, Mode, Receipt

INACTIVE_AFTER = timedelta(minutes=30)

_ANSWER = TypeAdapter(Answer)
_RECEIPT = TypeAdapter(Receipt)
_OF_THE_ROW = ("text", "citations", "session_id", "stored")
"""Parts of an answer that have columns of their own, or that a row says by being there."""


def storable(text: str, what: str) -> str:
    """A text that both databases give back unchanged; NUL and half characters are none."""
    if "\x00" in text:
        raise BadInput(f"The {what} holds a NUL character.", "Remove it.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"The {what} is not valid Unicode text.", "Send it as UTF-8.") from None
    return text


def answer_columns(answer: Answer, fingerprint: str) -> dict[str, Any]:
    """What was shown, and all that is known of it."""
    told = _ANSWER.dump_python(answer, mode="json")
    rest = {name: value for name, value in told.items() if name not in _OF_THE_ROW}
    return {
        "response": storable(answer.text, "answer"),
        "sources": told["citations"],
        "metadata": rest | {"request": fingerprint},
        "receipt_id": answer.receipt_id or None,
    }


def receipt_columns(receipt: Receipt) -> dict[str, Any]:
    """A receipt as its row."""
    created = datetime.fromisoformat(receipt.created)
    body = _RECEIPT.dump_python(receipt, mode="json")
    return {"receipt_id": receipt.receipt_id, "created_at": created, "body": body}


def as_receipt(body: Any, receipt_id: str) -> Receipt:
    """A receipt, where this version can read it."""
    try:
        return _RECEIPT.validate_python(body)
    except ValidationError:
        raise ReceiptNotFound(f"The receipt {receipt_id!r} was kept by another version.", "Ask again.") from None


def as_session(row: Row[Any], now: datetime) -> Session:
    """A session, as it is at this moment."""
    state = SessionState(row.state)
    if state in (SessionState.CREATED, SessionState.ACTIVE) and row.last_active < now - INACTIVE_AFTER:
        state = SessionState.INACTIVE
    return Session(
        key=SessionKey(row.session_id, row.name or str(row.session_id), row.user_id),
        created_at=row.created_at,
        last_active=row.last_active,
        state=state,
        context_mode=ContextMode(row.context_mode),
        active_filters=row.active_filters,
        message_count=row.message_count,
        messages_left_out=max(0, row.message_count - MOST_MESSAGES),
    )


def as_exchange(row: Row[Any], name: str, *, in_context: bool = True) -> Exchange:
    """An exchange with its answer, exactly as it was shown."""
    known = {field: value for field, value in (row.metadata or {}).items() if field in _FIELDS}
    told = {"sentences": (), "abstained": False, "mode": Mode.FULL, "confidence": 0.0, "receipt_id": ""} | known
    told |= {"text": row.response, "citations": _citations(row.sources or ()), "session_id": name, "stored": True}
    try:
        answer = _ANSWER.validate_python(told)
    except ValidationError:
        answer = Answer(row.response, (), (), False, Mode.FULL, 0.0, "", session_id=name, stored=True)
    return Exchange(row.id, row.timestamp, row.query, answer, in_context)


_FIELDS = frozenset(Answer.__dataclass_fields__) - set(_OF_THE_ROW)


def _citations(sources: Sequence[dict[str, Any]]) -> list[Any]:
    """Our own, or those that another chat service wrote before it became this one."""
    return [source if "number" in source else _foreign(number, source) for number, source in enumerate(sources, 1)]


def _foreign(number: int, source: dict[str, Any]) -> Citation:
    return Citation(
        number=number,
        url=str(source.get("source_url", "")),
        title=str(source.get("title", "")),
        section=str(source.get("section", "")),
        quote=str(source.get("snippet", "")),
        start=0,
        end=0,
        score=float(source.get("similarity_score") or 0.0),
        position=int(source.get("chunk_position") or 0),
    )


def as_feedback(row: Row[Any]) -> Feedback:
    """What a reader said, with the question that it is about."""
    return Feedback(
        row.receipt_id, Rating(row.rating), row.reason, row.text, row.created_at, row.question or "", row.name
    )
