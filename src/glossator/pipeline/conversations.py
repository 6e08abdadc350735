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

from glossator import pipeline
from glossator.answer.extractive import PASSAGES
from glossator.core.conversations import ContextMode, Exchange, History, Request, Session, SessionKey, Turn
from glossator.core.errors import GlossatorError, RecordsDown, RecordsProblem, TurnLost
from glossator.core.ports import Drafter
from glossator.core.receipts import Receipt, Told
from glossator.core.timing import stage
from glossator.core.types import Answer, Filters, Mode, Passage, Policy, Words
from glossator.core.validation import checked_question, checked_selection, checked_text
from glossator.pipeline.wiring import Parts

CLEAN_EVERY = 600.0
"""Seconds between two clean-ups by one process, more or less."""
_PAGE = 100
_MARK = re.compile(r"\s*\[\d+\]")
_log = logging.getLogger(__name__)


async def converse(
    parts: Parts,
    question: str,
    key: SessionKey,
    selected_text: str | None = None,
    top_k: int = PASSAGES,
    filters: Filters = pipeline.EVERYTHING,
    request_key: str | None = None,
) -> Answer:
    """The answer to one turn of a conversation; `stored` says whether it will be remembered."""
    pieces = conversing(parts, question, key, selected_text, top_k, filters, request_key=request_key)
    return pipeline.told_in([piece async for piece in pieces]).answer


async def conversing(
    parts: Parts,
    question: str,
    key: SessionKey,
    selected_text: str | None = None,
    top_k: int = PASSAGES,
    filters: Filters = pipeline.EVERYTHING,
    policy: Policy = Policy.STRICT,
    request_key: str | None = None,
    drafter: Drafter | None = None,
) -> AsyncIterator[str | Told]:
    """The same as it is written; the whole answer with all that made it comes last, when it is stored."""
    request = _request(question, selected_text, filters)
    async with _turn(parts, key, request, request_key) as turn:
        if turn and turn.repeats:
            answer = turn.repeats[0].answer
            yield Words.of(answer)
            receipt = replace(await parts.records.receipt(answer.receipt_id), answer=answer)
            yield Told(receipt, await _found(parts, request.question, selected_text, top_k, filters, receipt))
            return
        asked = (request.question, selected_text, top_k, filters, _past(turn), policy, drafter)
        async for piece in pipeline.answering(parts, *asked):
            yield piece if isinstance(piece, str) else await _stored(parts, key, turn, request, piece)


async def _found(
    parts: Parts, question: str, selected_text: str | None, top_k: int, filters: Filters, receipt: Receipt
) -> tuple[Passage, ...]:
    """The passages of an answer that is told again, as far as they are still found for its question."""
    used = {passage.chunk_id for passage in receipt.passages}
    if selected_text is not None or not used:
        return ()
    with suppress(GlossatorError):
        found = await pipeline.search(parts, question, top_k, filters)
        return tuple(passage for passage in found.passages if passage.chunk_id in used)
    return ()


def _past(turn: Turn | None) -> pipeline.Past:
    """What was said before, in words alone: the numbers of sources meant other sources.

    What was said of a selection stays with it, and a question that was refused is nothing to lean on.
    """
    recent = [e for e in turn.recent if e.answer.mode is not Mode.SELECTED_TEXT] if turn else []
    if not recent or recent[-1].answer.abstained:
        return ()
    return tuple((e.question, _MARK.sub("", e.answer.text)) for e in recent if not e.answer.abstained)


def _request(question: str, selected_text: str | None, filters: Filters) -> Request:
    """What is asked, checked before it takes a place in the queue."""
    if selected_text is not None:
        checked_selection(selected_text)
    active = {n: checked_text(value, "filter") for n, value in asdict(filters).items() if value is not None}
    return Request(checked_question(question), selected_text, active)


@asynccontextmanager
async def _turn(parts: Parts, key: SessionKey, request: Request, request_key: str | None) -> AsyncIterator[Turn | None]:
    """A turn, given back whatever happens; None while the records are down: answering goes on without memory."""
    mode = ContextMode.USER_PROVIDED if request.selected_text is not None else ContextMode.RETRIEVAL_PIPELINE
    try:
        turn = await parts.records.begin(key, request, request_key, mode)
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
            await _given_back(parts, turn)


async def _given_back(parts: Parts, turn: Turn) -> None:
    try:
        await parts.records.end(turn)
    except RecordsProblem as error:
        _log.warning("%s", error.message)


async def _stored(parts: Parts, key: SessionKey, turn: Turn | None, request: Request, told: Told) -> Told:
    """The answer, and whether it is in the records: nothing pretends to be stored."""
    answer = replace(told.answer, session_id=key.name)
    if turn is None:
        return told.telling(replace(answer, receipt_id=""))
    try:
        with stage("records"):
            await parts.records.finish(turn, request, told.receipt)
    except (RecordsDown, TurnLost) as error:
        _log.warning("%s", error.message)
        return told.telling(replace(answer, receipt_id=""))
    return told.telling(replace(answer, stored=True))


async def delete(parts: Parts, key: SessionKey) -> None:
    """Nothing of a conversation stays, not even answers kept in memory for others who ask the same."""
    await parts.records.delete(key)
    parts.cache.clear()


async def reset(parts: Parts, key: SessionKey) -> None:
    """A conversation begins anew."""
    await parts.records.reset(key)
    parts.cache.clear()


async def whole_history(parts: Parts, key: SessionKey) -> tuple[Session, list[Exchange]]:
    """Every exchange of a session, oldest first."""
    pages: list[History] = [await parts.records.history(key, _PAGE)]
    while pages[-1].before is not None:
        pages.append(await parts.records.history(key, _PAGE, pages[-1].before))
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


async def keep_clean(parts: Parts) -> None:
    """Clean up now and then, until cancelled; a database that is down is tried again the next time."""
    while True:
        try:
            await parts.records.clean()
        except RecordsProblem as error:
            _log.warning("%s", error.message)
        await asyncio.sleep(CLEAN_EVERY * random.uniform(0.8, 1.2))  # noqa: S311 - nobody gains by guessing it
