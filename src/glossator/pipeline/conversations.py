"""Conversations: answers become exchanges, each stored atomically and at most once, one turn at a time."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

from glossator.core.answers import Citation, Delta, Mode
from glossator.core.conversations import CleanupResult, Exchange, ExchangeMetadata, History, Session, SessionKey, Turn
from glossator.core.errors import (
    ConversationChanged,
    DatabaseUnavailable,
    GlossatorError,
    InvalidSessionId,
    RecordsError,
)
from glossator.core.ports import Drafter
from glossator.core.question import Past, Question
from glossator.core.receipts import AnswerWithReceipt, Receipt
from glossator.core.text.marks import strip_marks
from glossator.core.timing import current_request_id, stage
from glossator.core.types import Passage
from glossator.pipeline import answering
from glossator.pipeline.answering import AnswerIterator
from glossator.pipeline.reading import search_in_thread
from glossator.pipeline.wiring import Engine

CLEAN_UP_INTERVAL_SECONDS = 600.0
"""Seconds between two clean-ups by one process, with 20 % jitter."""
EVICTION_INTERVAL_SECONDS = 5.0
"""Seconds until an answer that another process deleted is evicted from this one's cache, with 20 % jitter."""
STORING_SECONDS = 2.0
"""How long storing the receipt of a cached answer may take; a younger one is not evicted at intervals."""
_PAGE_SIZE = 100
_log = logging.getLogger(__name__)
_jitter = random.Random()  # noqa: S311 - not a secret


async def converse(engine: Engine, question: Question, drafter: Drafter | None = None) -> AnswerIterator:
    """One turn of the question's session, as it is written; the answer is stored before the last piece is sent."""
    started = time.perf_counter()
    async with _turn(engine, question) as turn:
        if turn and turn.duplicate_of:
            answer = turn.duplicate_of[0].answer
            yield Delta.of(answer)
            receipt = replace(await engine.records.receipt(answer.receipt_id), answer=answer)
            yield AnswerWithReceipt(receipt, await _find_passages_again(engine, question, receipt), repeated=True)
            return
        in_context = replace(question, past=_past(turn))
        async for piece in answering.answer_question(engine, in_context, drafter):
            yield piece if isinstance(piece, Delta) else await _store(engine, question, turn, piece, started)


async def _find_passages_again(engine: Engine, question: Question, receipt: Receipt) -> tuple[Passage, ...]:
    """The passages of a stored answer, as far as a search still finds them."""
    used = {passage.chunk_id for passage in receipt.passages}
    if question.selection is not None or not used:
        return ()
    with suppress(GlossatorError):
        found, _ = await search_in_thread(engine, await asyncio.to_thread(engine.generation), question)
        return tuple(passage for passage in found.passages if passage.chunk_id in used)
    return ()


def _past(turn: Turn | None) -> Past:
    """The earlier questions and answers, without citation marks: their numbers refer to other sources.

    Answers from a selection are left out, and a follow-up to a question without an answer has nothing to refer to.
    """
    recent = [e for e in turn.recent if e.answer.mode is not Mode.SELECTED_TEXT] if turn else []
    if not recent or recent[-1].answer.abstained:
        return ()
    return tuple((e.question, strip_marks(e.answer.text)) for e in recent if not e.answer.abstained)


def _session(question: Question) -> SessionKey:
    if question.session is None:
        raise InvalidSessionId("The question has no session.", "Set its `session`.")
    return question.session


@asynccontextmanager
async def _turn(engine: Engine, question: Question) -> AsyncIterator[Turn | None]:
    """A turn, always released; None while the database is unavailable, so that questions are still answered."""
    try:
        turn = await engine.records.begin_turn(_session(question), question, question.idempotency_key)
    except DatabaseUnavailable as error:
        _log.warning("%s", error.message)
        yield None
        return
    finished = False
    try:
        yield turn
        finished = turn.duplicate_of is None
    finally:
        if not finished:
            await _release(engine, turn)


async def _release(engine: Engine, turn: Turn) -> None:
    try:
        await engine.records.cancel_turn(turn)
    except RecordsError as error:
        _log.warning("%s", error.message)


async def _store(
    engine: Engine, question: Question, turn: Turn | None, result: AnswerWithReceipt, started: float
) -> AnswerWithReceipt:
    """Store the answer; `stored` is true only once it is on disk."""
    answer = replace(result.answer, session_id=_session(question).name)
    if turn is None:
        return result.with_answer(replace(answer, receipt_id=""))
    try:
        with stage("records"):
            await engine.records.finish_turn(turn, question, result.receipt, _metadata(result, started))
    except (DatabaseUnavailable, ConversationChanged) as error:
        _log.warning("%s", error.message)
        return result.with_answer(replace(answer, receipt_id=""))
    return result.with_answer(replace(answer, stored=True))


def _metadata(result: AnswerWithReceipt, started: float) -> ExchangeMetadata:
    return ExchangeMetadata(
        request_id=current_request_id.get() or str(uuid.uuid4()),
        query_time_ms=round(1000 * (time.perf_counter() - started), 3),
        retrieval_count=len(result.receipt.passages),
        low_confidence=result.low_confidence,
    )


async def delete(engine: Engine, key: SessionKey) -> None:
    """Delete a conversation with everything made in it."""
    await engine.records.delete(key)
    await evict_deleted_answers(engine)


async def reset(engine: Engine, key: SessionKey) -> None:
    """Reset a conversation: its exchanges, receipts and feedback are deleted."""
    await engine.records.reset(key)
    await evict_deleted_answers(engine)


async def evict_deleted_answers(engine: Engine, min_age_seconds: float = 0.0) -> None:
    """Evict cached answers whose receipts are not stored: they were deleted or expired, here or in another process.

    Answers that were cached less than `min_age_seconds` ago are left: their receipts may be stored in a moment.
    """
    if cached := engine.cache.receipt_ids(min_age_seconds):
        engine.cache.evict(cached - await engine.records.stored_receipts(cached))
    await engine.records.finish_deletions()


async def full_history(engine: Engine, key: SessionKey) -> tuple[Session, list[Exchange]]:
    """Every exchange of a session, oldest first."""
    pages: list[History] = [await engine.records.history(key, _PAGE_SIZE)]
    while pages[-1].before is not None:
        pages.append(await engine.records.history(key, _PAGE_SIZE, pages[-1].before))
    return pages[0].session, [exchange for page in reversed(pages) for exchange in page.exchanges]


def session_to_dict(session: Session, exchanges: list[Exchange] | None = None) -> dict[str, Any]:
    """A conversation as JSON values."""
    fields = {name: value for name, value in _json_values(asdict(session)).items() if name != "key"}
    result = {"session_id": session.key.name, "user_id": session.key.user_id, **fields}
    if exchanges is None:
        return result
    return result | {"exchanges": [_json_values(asdict(exchange)) for exchange in exchanges]}


def session_to_markdown(session: Session, exchanges: list[Exchange]) -> str:
    """A conversation as Markdown."""
    lines = [f"# Conversation {session.key.name}", "", f"{session.created_at:%Y-%m-%d %H:%M} UTC, {session.state}", ""]
    if session.messages_left_out:
        lines += [f"The first {session.messages_left_out} messages are no longer part of its context.", ""]
    for exchange in exchanges:
        lines += [f"## {exchange.timestamp:%Y-%m-%d %H:%M:%S} UTC", ""]
        lines += [f"> {line}" for line in exchange.question.splitlines()]
        if exchange.selection is not None:
            lines += ["", "Selected text:", "", *(f"> {line}" for line in exchange.selection.splitlines())]
        lines += ["", exchange.answer.text, "", *_source_list(exchange.answer.citations)]
    return "\n".join(lines).rstrip() + "\n"


def _source_list(citations: Sequence[Citation]) -> list[str]:
    """The sources as a numbered list; the line above it separates it from a list at the end of the answer."""
    sources = [
        f"{c.number}. [{_breadcrumbs(c.title, c.section)}](<{c.url}>)" if c.url else f"{c.number}. {c.title}"
        for c in citations
    ]
    return ["Sources:", "", *sources, ""] if sources else []


def _breadcrumbs(*names: str) -> str:
    return " › ".join(dict.fromkeys(name for name in names if name)).replace("[", "(").replace("]", ")")


def _json_values(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in values.items()}


async def clean_up(engine: Engine) -> CleanupResult:
    """Expire conversations and delete old receipts."""
    result = await engine.records.clean()
    await evict_deleted_answers(engine)
    return result


async def repeat(
    work: Callable[[Engine], Coroutine[Any, Any, object]], engine: Engine, interval_seconds: float
) -> None:
    """Do something with the records at intervals until cancelled; what fails is retried at the next one."""
    while True:
        try:
            await work(engine)
        except RecordsError as error:
            _log.warning("%s", error.message)
        await asyncio.sleep(interval_seconds * _jitter.uniform(0.8, 1.2))
