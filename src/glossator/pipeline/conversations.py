"""Conversations: an answer becomes an exchange, stored once or not at all, one turn at a time."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

from glossator.core.answers import Delta, Mode
from glossator.core.conversations import Exchange, History, Session, SessionKey, Turn
from glossator.core.errors import GlossatorError, RecordsDown, RecordsProblem, SessionIdError, TurnLost
from glossator.core.ports import Drafter
from glossator.core.question import Past, Question
from glossator.core.receipts import AnswerWithReceipt, Receipt
from glossator.core.timing import stage
from glossator.core.types import Passage
from glossator.pipeline import answering
from glossator.pipeline.answering import Pieces
from glossator.pipeline.wiring import Engine

CLEAN_UP_INTERVAL = 600.0
"""Seconds between two clean-ups by one process, give or take a fifth."""
_PAGE_SIZE = 100
_MARK = re.compile(r"\s*\[\d+\]")
_log = logging.getLogger(__name__)


async def converse(engine: Engine, question: Question, drafter: Drafter | None = None) -> Pieces:
    """One turn of the question's session, as it is written; the answer is stored before the last piece is given out."""
    async with _turn(engine, question) as turn:
        if turn and turn.repeats:
            answer = turn.repeats[0].answer
            yield Delta.of(answer)
            receipt = replace(await engine.records.receipt(answer.receipt_id), answer=answer)
            yield AnswerWithReceipt(receipt, await _passages_again(engine, question, receipt))
            return
        in_context = replace(question, past=_past(turn))
        async for piece in answering.answer_question(engine, in_context, drafter):
            yield piece if isinstance(piece, Delta) else await _stored(engine, question, turn, piece)


async def _passages_again(engine: Engine, question: Question, receipt: Receipt) -> tuple[Passage, ...]:
    """The passages of an answer that is sent again, as far as a search still finds them."""
    used = {passage.chunk_id for passage in receipt.passages}
    if question.selection is not None or not used:
        return ()
    with suppress(GlossatorError):
        found = await asyncio.to_thread(lambda: answering.search_book(engine, engine.generation(), question))
        return tuple(passage for passage in found.passages if passage.chunk_id in used)
    return ()


def _past(turn: Turn | None) -> Past:
    """The questions and answers before this one, without citation marks: their numbers meant other sources.

    Answers from a selection stay with that selection, and a follow-up to a refused question has nothing to refer to.
    """
    recent = [e for e in turn.recent if e.answer.mode is not Mode.SELECTED_TEXT] if turn else []
    if not recent or recent[-1].answer.abstained:
        return ()
    return tuple((e.question, _MARK.sub("", e.answer.text)) for e in recent if not e.answer.abstained)


def _session(question: Question) -> SessionKey:
    if question.session is None:
        raise SessionIdError("The question belongs to no session.", "Give it a session.")
    return question.session


@asynccontextmanager
async def _turn(engine: Engine, question: Question) -> AsyncIterator[Turn | None]:
    """A turn, released whatever happens; None while the database is down: answering goes on without memory."""
    try:
        turn = await engine.records.begin(_session(question), question, question.idempotency_key)
    except RecordsDown as error:
        _log.warning("%s", error.message)
        yield None
        return
    ended = False
    try:
        yield turn
        ended = turn.repeats is None
    finally:
        if not ended:
            await _release(engine, turn)


async def _release(engine: Engine, turn: Turn) -> None:
    try:
        await engine.records.end(turn)
    except RecordsProblem as error:
        _log.warning("%s", error.message)


async def _stored(
    engine: Engine, question: Question, turn: Turn | None, result: AnswerWithReceipt
) -> AnswerWithReceipt:
    """The answer, and whether it was stored: `stored` is true only once it is on disk."""
    answer = replace(result.answer, session_id=_session(question).name)
    if turn is None:
        return result.with_answer(replace(answer, receipt_id=""))
    try:
        with stage("records"):
            await engine.records.finish(turn, question, result.receipt)
    except (RecordsDown, TurnLost) as error:
        _log.warning("%s", error.message)
        return result.with_answer(replace(answer, receipt_id=""))
    return result.with_answer(replace(answer, stored=True))


async def delete(engine: Engine, key: SessionKey) -> None:
    """Nothing of a conversation stays, not even answers kept in memory for others who ask the same."""
    await engine.records.delete(key)
    engine.cache.clear()


async def reset(engine: Engine, key: SessionKey) -> None:
    """A conversation begins anew."""
    await engine.records.reset(key)
    engine.cache.clear()


async def whole_history(engine: Engine, key: SessionKey) -> tuple[Session, list[Exchange]]:
    """Every exchange of a session, oldest first."""
    pages: list[History] = [await engine.records.history(key, _PAGE_SIZE)]
    while pages[-1].before is not None:
        pages.append(await engine.records.history(key, _PAGE_SIZE, pages[-1].before))
    return pages[0].session, [exchange for page in reversed(pages) for exchange in page.exchanges]


def as_json(session: Session, exchanges: list[Exchange] | None = None) -> dict[str, Any]:
    """A conversation for another program."""
    rest = {name: value for name, value in _plain(asdict(session)).items() if name != "key"}
    named = {"session_id": session.key.name, "user_id": session.key.user_id, **rest}
    if exchanges is None:
        return named
    return named | {"exchanges": [_plain(asdict(exchange)) for exchange in exchanges]}


def as_markdown(session: Session, exchanges: list[Exchange]) -> str:
    """A conversation for a person."""
    lines = [f"# Conversation {session.key.name}", "", f"{session.created_at:%Y-%m-%d %H:%M} UTC, {session.state}", ""]
    if session.messages_left_out:
        lines += [f"The first {session.messages_left_out} messages are no longer part of its context.", ""]
    for exchange in exchanges:
        lines += [f"## {exchange.timestamp:%Y-%m-%d %H:%M:%S} UTC", ""]
        lines += [f"> {line}" for line in exchange.question.splitlines()]
        lines += ["", exchange.answer.text, ""]
        lines += [f"{c.number}. [{_place(c.title, c.section)}](<{c.url}>)" for c in exchange.answer.citations if c.url]
        lines += [""] if exchange.answer.citations else []
    return "\n".join(lines).rstrip() + "\n"


def _place(*names: str) -> str:
    return " › ".join(dict.fromkeys(name for name in names if name)).replace("[", "(").replace("]", ")")


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in values.items()}


async def keep_clean(engine: Engine) -> None:
    """Clean up now and then, until cancelled; a database that is down is tried again the next time."""
    while True:
        try:
            await engine.records.clean()
        except RecordsProblem as error:
            _log.warning("%s", error.message)
        await asyncio.sleep(CLEAN_UP_INTERVAL * random.uniform(0.8, 1.2))  # noqa: S311 - nobody gains by guessing it
