"""Conversations in Python: with the facade, as a stream, and without a database."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import glossator
from glossator import pipeline
from glossator.core.answers import Answer, Mode
from glossator.core.conversations import ContextMode, SessionState
from glossator.core.errors import (
    BadInput,
    DatabaseUnavailable,
    IndexNotFound,
    InvalidSessionId,
    QuestionError,
    ReceiptNotFound,
    SessionNotFound,
)
from glossator.core.ports import Drafter
from glossator.core.types import Filters
from glossator.facade import Book
from glossator.pipeline.wiring import Engine
from scripted_drafter import ScriptedDrafter
from tides import KEY, MALFORMED_IDS, MOON, OUT_OF_SCOPE, SPRING_TIDES, in_session, stored_questions

pytestmark = pytest.mark.slow

TEXT = "Spring tides occur at new moon and at full moon. [1] They have the largest range of all tides. [1] "


async def converse_stream(engine: Engine, drafter: Drafter, **more: Any) -> AsyncIterator[str | Answer]:
    """A turn as it is written; the answer comes last."""
    async with aclosing(pipeline.stream(engine, in_session(**more), drafter)) as pieces:
        async for piece in pieces:
            yield piece if isinstance(piece, str) else piece.answer


# In Python.


def test_history_returns_the_answers_as_shown(tides_book: Book) -> None:
    shown = [tides_book.ask(question, session_id="tides") for question in (SPRING_TIDES, f"  {MOON}\n", OUT_OF_SCOPE)]
    history = tides_book.history("tides")
    assert [exchange.answer for exchange in history] == shown
    assert [exchange.question for exchange in history] == [SPRING_TIDES, MOON, OUT_OF_SCOPE]
    assert {(answer.session_id, answer.stored) for answer in shown} == {("tides", True)}
    assert [answer.abstained for answer in shown] == [False, False, True]
    assert tides_book.ask(SPRING_TIDES).sentences == shown[0].sentences


def test_question_without_a_session_is_stored_in_no_conversation(tides_book: Book) -> None:
    answer = tides_book.ask(SPRING_TIDES)
    assert (answer.session_id, answer.stored) == ("", False)
    assert tides_book._run(tides_book.engine.records.sessions()) == []


def test_conversation_continues_after_a_restart(tides_data: Path) -> None:
    for question in (SPRING_TIDES, MOON):
        with glossator.open(tides_data) as book:
            book.ask(question, session_id="tides")
    with glossator.open(tides_data) as book:
        assert stored_questions(book) == [SPRING_TIDES, MOON]


def test_uuid_session_ids_ignore_case(tides_book: Book) -> None:
    name = str(uuid.uuid4())
    answer = tides_book.ask(SPRING_TIDES, session_id=name.upper())
    assert answer.session_id == name
    assert [exchange.answer for exchange in tides_book.history(name)] == [answer]


def test_answer_from_a_selection_is_stored_in_the_conversation(tides_book: Book) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides")
    text = "Neap tides occur at the first and third quarter of the Moon."
    answer = tides_book.ask("When do neap tides occur?", selected_text=text, session_id="tides")
    assert (answer.mode, answer.stored, answer.text) == (Mode.SELECTED_TEXT, True, f"{text} [1]")
    assert tides_book.history("tides")[1].answer == answer
    session = tides_book._run(tides_book.engine.records.session(KEY))
    assert (session.context_mode, session.message_count) == (ContextMode.USER_PROVIDED, 4)


def test_session_stores_its_filters(tides_book: Book) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides", filters={"section": "Spring tides"})
    assert tides_book._run(tides_book.engine.records.session(KEY)).active_filters == {"section": "Spring tides"}


def test_deleting_a_conversation_deletes_its_receipts(tides_book: Book) -> None:
    answer = tides_book.ask(SPRING_TIDES, session_id="tides")
    assert tides_book.replay(answer.receipt_id).holds
    tides_book.delete("tides")
    with pytest.raises(ReceiptNotFound):
        tides_book.replay(answer.receipt_id)
    with pytest.raises(SessionNotFound):
        tides_book.history("tides")


def test_feedback_is_stored(tides_book: Book) -> None:
    answer = tides_book.ask(SPRING_TIDES, session_id="tides")
    tides_book.feedback(answer.receipt_id, "down", "wrong", "It is not so.")
    stored = tides_book._run(tides_book.engine.records.feedback())[0]
    assert (stored.rating, stored.reason, stored.text, stored.question) == (
        "down",
        "wrong",
        "It is not so.",
        SPRING_TIDES,
    )
    with pytest.raises(BadInput, match="up or down"):
        tides_book.feedback(answer.receipt_id, "sideways")  # type: ignore[arg-type]
    with pytest.raises(ReceiptNotFound):
        tides_book.feedback("unknown", "up")


@pytest.mark.parametrize("name", MALFORMED_IDS.values(), ids=MALFORMED_IDS.keys())
def test_malformed_session_id_is_rejected(tides_book: Book, name: str) -> None:
    with pytest.raises(InvalidSessionId):
        tides_book.ask(SPRING_TIDES, session_id=name)
    with pytest.raises(InvalidSessionId):
        tides_book.history(name)
    with pytest.raises(InvalidSessionId):
        tides_book.delete(name)


@pytest.mark.parametrize("question", ["", " \n", "a\0b", "\ud800", "x" * 32_001])
def test_invalid_question_starts_no_conversation(tides_book: Book, question: str) -> None:
    with pytest.raises(QuestionError):
        tides_book.ask(question, session_id="tides")
    with pytest.raises(SessionNotFound):
        tides_book.history("tides")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["nul", "surrogate"])
def test_invalid_filter_starts_no_conversation(tides_book: Book, text: str) -> None:
    with pytest.raises(BadInput):
        tides_book.ask(SPRING_TIDES, session_id="tides", filters={"chapter": text})
    with pytest.raises(SessionNotFound):
        tides_book.history("tides")


def test_failed_question_releases_its_turn(tmp_path: Path) -> None:
    with glossator.open(tmp_path) as empty:
        for _ in range(2):
            with pytest.raises(IndexNotFound):
                empty.ask(SPRING_TIDES, session_id="tides")
        assert empty.history("tides") == []


def test_concurrent_questions_are_answered_in_turn(tides_book: Book) -> None:
    async def ask() -> list[Answer]:
        return await asyncio.gather(
            *(pipeline.ask(tides_book.engine, in_session(f"{SPRING_TIDES} {n}")) for n in range(6))
        )

    answers = tides_book._run(ask())
    assert all(answer.stored for answer in answers)
    assert sorted(stored_questions(tides_book)) == [f"{SPRING_TIDES} {number}" for number in range(6)]


def test_retry_with_the_same_idempotency_key_is_answered_once(tides_book: Book) -> None:
    async def ask() -> list[Answer]:
        return await asyncio.gather(
            *(pipeline.ask(tides_book.engine, in_session(idempotency_key="k")) for _ in range(3))
        )

    answers = tides_book._run(ask())
    assert answers[0] == answers[1] == answers[2]
    assert stored_questions(tides_book) == [SPRING_TIDES]


# As a stream.


def test_streamed_text_equals_the_stored_answer(tides_book: Book) -> None:
    async def collect() -> list[str | Answer]:
        return [
            piece
            async for piece in converse_stream(tides_book.engine, drafter=ScriptedDrafter(TEXT), idempotency_key="k")
        ]

    *pieces, answer = tides_book._run(collect())
    exchange = tides_book.history("tides")[0]
    assert isinstance(answer, Answer)
    assert len(pieces) > 1
    assert "".join(map(str, pieces)) == answer.text == exchange.answer.text
    assert exchange.answer == answer
    assert answer.stored
    assert [str(piece) for piece in tides_book._run(collect())] == [answer.text, str(answer)]
    assert stored_questions(tides_book) == [SPRING_TIDES]


def test_stream_without_supported_claims_falls_back_to_quotes(tides_book: Book) -> None:
    drafter = ScriptedDrafter("Spring tides were invented in 1822 by a baker. [1] ")

    async def collect() -> list[str | Answer]:
        return [piece async for piece in converse_stream(tides_book.engine, drafter=drafter)]

    *pieces, answer = tides_book._run(collect())
    assert isinstance(answer, Answer)
    assert "".join(map(str, pieces)) == answer.text
    assert "baker" not in answer.text
    assert [claim.text for claim in answer.unsupported_claims] == ["Spring tides were invented in 1822 by a baker."]
    assert tides_book.history("tides")[0].answer == answer


def test_closed_stream_stores_no_exchange(tides_book: Book) -> None:
    drafter = ScriptedDrafter(TEXT, hang=True)

    async def leave() -> str | Answer:
        async with aclosing(converse_stream(tides_book.engine, drafter=drafter)) as pieces:
            return await anext(pieces)

    assert isinstance(tides_book._run(leave()), str)
    assert stored_questions(tides_book) == []
    assert tides_book.ask(MOON, session_id="tides").stored
    assert stored_questions(tides_book) == [MOON]
    assert drafter.closed


def test_cancelled_stream_stores_no_exchange(tides_book: Book) -> None:
    drafter = ScriptedDrafter(TEXT, hang=True)

    async def read() -> None:
        async for _ in converse_stream(tides_book.engine, drafter=drafter):
            pass

    async def cut_off() -> None:
        reading = asyncio.create_task(read())
        await drafter.text_sent.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    tides_book._run(cut_off())
    assert stored_questions(tides_book) == []
    assert tides_book.ask(MOON, session_id="tides").stored


def test_failed_drafter_stores_no_exchange(tides_book: Book) -> None:
    async def collect() -> list[str | Answer]:
        drafter = ScriptedDrafter(TEXT, error=RuntimeError("out of tokens"))
        return [piece async for piece in converse_stream(tides_book.engine, drafter=drafter)]

    with pytest.raises(RuntimeError, match="out of tokens"):
        tides_book._run(collect())
    assert stored_questions(tides_book) == []
    assert tides_book._run(tides_book.engine.records.session(KEY)).state is SessionState.CREATED
    assert tides_book.ask(MOON, session_id="tides").stored


def test_answer_to_a_deleted_conversation_is_marked_as_not_stored(tides_book: Book) -> None:
    async def collect() -> str | Answer:
        pieces = converse_stream(tides_book.engine, drafter=ScriptedDrafter(TEXT))
        assert await anext(pieces)
        await tides_book.engine.records.delete(KEY)
        return [piece async for piece in pieces][-1]

    answer = tides_book._run(collect())
    assert isinstance(answer, Answer)
    assert (answer.stored, answer.receipt_id) == (False, "")
    with pytest.raises(SessionNotFound):
        tides_book.history("tides")


# Without records.


def test_answer_without_a_database(tides_book: Book, tides_data: Path) -> None:
    (tides_data / "records.sqlite").mkdir()
    answer = tides_book.ask(SPRING_TIDES, session_id="tides")
    assert "new moon" in answer.text
    assert (answer.session_id, answer.stored, answer.receipt_id) == ("tides", False, "")
    with pytest.raises(DatabaseUnavailable):
        tides_book.history("tides")
    (tides_data / "records.sqlite").rmdir()
    sleep(0.6)
    assert tides_book.ask(SPRING_TIDES, session_id="tides").stored
    assert stored_questions(tides_book) == [SPRING_TIDES]


def test_stream_without_a_database(tides_book: Book, tides_data: Path) -> None:
    (tides_data / "records.sqlite").mkdir()

    async def collect() -> list[str | Answer]:
        return [
            piece
            async for piece in converse_stream(tides_book.engine, drafter=ScriptedDrafter(TEXT), filters=Filters())
        ]

    *pieces, answer = tides_book._run(collect())
    assert isinstance(answer, Answer)
    assert "".join(map(str, pieces)) == answer.text
    assert (answer.stored, answer.receipt_id) == (False, "")


@pytest.mark.parametrize("ending", ["", "1 / 0", "del book"])
def test_program_exits_without_closing_the_book(tides_data: Path, ending: str) -> None:
    lines = (
        "import sys, glossator",
        "book = glossator.open(sys.argv[1])",
        f"print(book.ask({SPRING_TIDES!r}, session_id='tides').stored, flush=True)",
        ending,
    )
    command = [sys.executable, "-W", "error", "-c", "\n".join(lines), str(tides_data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout
        assert program.stdout.readline() == b"True\n"  # starting takes as long as the machine needs; exiting does not
        try:
            output, errors = program.communicate(timeout=15)
        finally:
            program.kill()
    assert output == b""
    assert program.returncode == (ending == "1 / 0")
    assert errors.count(b"Traceback") == (ending == "1 / 0")
    with glossator.open(tides_data) as book:
        assert stored_questions(book) == [SPRING_TIDES]
