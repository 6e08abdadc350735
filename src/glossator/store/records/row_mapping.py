"""Maps between database rows and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Row

from glossator.core.answers import MAX_SNIPPET_CHARACTERS, SELECTION_TITLE, Answer, Citation, Mode
from glossator.core.conversations import (
    MAX_CONTEXT_MESSAGES,
    ContextMode,
    Exchange,
    ExchangeMetadata,
    Feedback,
    Rating,
    Session,
    SessionKey,
    SessionState,
)
from glossator.core.errors import ReceiptNotFound
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.core.validation import validate_text

INACTIVE_AFTER = timedelta(minutes=30)
UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the time of a row that has none."""

_ANSWER = TypeAdapter(Answer)
_RECEIPT = TypeAdapter(Receipt)
_SELECTION = "selected_text"
"""The type of the source of an answer about a selection."""
_NOT_IN_METADATA = ("text", "session_id", "stored")
"""Fields of an answer that have their own columns or follow from the row."""


def exchange_columns(question: Question, answer: Answer, metadata: ExchangeMetadata | None) -> dict[str, Any]:
    """The columns that hold a question with its answer."""
    fields = _ANSWER.dump_python(answer, mode="json")
    rest = {name: value for name, value in fields.items() if name not in _NOT_IN_METADATA}
    contract = asdict(metadata) if metadata else {}
    return {
        "query": question.text,
        "selected_text": question.selection,
        "response": answer.text,
        "sources": [_contract_source(citation, answer, question.selection) for citation in answer.citations],
        "metadata": rest | contract | {"request": question.fingerprint},
        "receipt_id": answer.receipt_id or None,
    }


def _contract_source(citation: Citation, answer: Answer, selection: str | None) -> dict[str, Any]:
    """A citation as the chat contract defines it, for other programs that read the table."""
    if selection is not None:
        return {
            "source_type": _SELECTION,
            "selection_length": len(selection),
            "snippet": selection[:MAX_SNIPPET_CHARACTERS],
            "relevance_note": answer.selection_note,
        }
    return {
        "source_url": citation.url,
        "title": citation.title,
        "section": citation.section,
        "chunk_position": citation.position,
        "similarity_score": _fraction(citation.score),
        "snippet": (citation.snippet or citation.quote)[:MAX_SNIPPET_CHARACTERS],
    }


def _fraction(score: float) -> float:
    return min(1.0, max(0.0, float(score)))


def receipt_columns(receipt: Receipt) -> dict[str, Any]:
    """The columns that hold a receipt."""
    created = datetime.fromisoformat(receipt.created)
    body = _RECEIPT.dump_python(receipt, mode="json")
    validate_text("".join(_texts(body)), "answer")
    return {"receipt_id": receipt.receipt_id, "created_at": created, "body": body}


def _texts(value: Any) -> Iterator[str]:
    """Every string within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def as_receipt(body: Any, receipt_id: str) -> Receipt:
    """The receipt stored in a row."""
    try:
        return _RECEIPT.validate_python(body)
    except ValidationError:
        raise ReceiptNotFound(
            f"The receipt {receipt_id!r} was stored by another version of Glossator.", "Ask the question again."
        ) from None


def as_session(row: Row[Any], now: datetime) -> Session:
    """The session in a row, with its state at this moment."""
    state = SessionState(row.state)
    last_active = row.last_active or row.created_at or UNKNOWN_TIME
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
        messages_left_out=max(0, row.message_count - MAX_CONTEXT_MESSAGES),
    )


def as_exchange(row: Row[Any], name: str, *, in_context: bool = True) -> Exchange:
    """The exchange in a row, with its answer exactly as it was shown."""
    fields = {"text": row.response, "session_id": name, "stored": True}
    try:
        answer = _ANSWER.validate_python((row.metadata or {}) | fields)
    except (ValidationError, TypeError):
        answer = _foreign_answer(row, name)
    timestamp = row.timestamp or row.created_at or UNKNOWN_TIME
    return Exchange(row.id, timestamp, row.query, answer, row.selected_text, in_context=in_context)


def _foreign_answer(row: Row[Any], name: str) -> Answer:
    """The answer in a row that another chat service stored in these tables."""
    sources = [source for source in row.sources if isinstance(source, dict)] if isinstance(row.sources, list) else []
    citations = tuple(_foreign_citation(number, source) for number, source in enumerate(sources, 1))
    from_selection = any(source.get("source_type") == _SELECTION for source in sources)
    mode = Mode.SELECTED_TEXT if from_selection else Mode.FULL
    return Answer(row.response, (), citations, False, mode, 0.0, "", session_id=name, stored=True)


def _foreign_citation(number: int, source: dict[str, Any]) -> Citation:
    """A citation of such an answer; what is missing or malformed is empty."""
    if source.get("source_type") == _SELECTION:
        source = source | {"source_url": "", "title": SELECTION_TITLE}
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
        score=_fraction(score) if isinstance(score, int | float) else 0.0,
        position=max(0, position) if isinstance(position, int) else 0,
    )


def as_feedback(row: Row[Any]) -> Feedback:
    """The feedback in a row, with the question it is about."""
    return Feedback(
        row.receipt_id, Rating(row.rating), row.reason, row.text, row.created_at, row.question or "", row.name
    )
