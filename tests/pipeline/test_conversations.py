"""Conversations from question to record: in Python, as a stream and on the command line."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from sqlite3 import connect
from time import sleep
from typing import Any

import pytest

import glossator
from commands import quick_folder, run
from glossator import pipeline
from glossator.core.answers import Answer, Mode, UnsupportedClaim
from glossator.core.conversations import ContextMode, SessionKey, SessionState, session_key
from glossator.core.errors import (
    BadInput,
    NoIndex,
    QuestionError,
    ReceiptNotFound,
    RecordsDown,
    SessionIdError,
    SessionNotFound,
)
from glossator.core.ports import Drafter
from glossator.core.question import DraftRequest, Question
from glossator.core.types import Filters, Passage
from glossator.facade import Book
from glossator.pipeline.wiring import Engine
from glossator.store.records.database import HEAD

PAGE = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range of all tides.
"""
QUESTION = "When do spring tides occur?"
MOON = "What causes tides?"
LISBON = "Who won the football match in Lisbon yesterday evening?"
KEY = session_key("tides")
BAD_IDS = ["", "a b", "../x", "x" * 201, "é", "tides\n"]


def in_session(text: str = QUESTION, key: SessionKey = KEY, **more: Any) -> Question:
    return Question(text, session=key, **more)


async def converse_stream(engine: Engine, drafter: Drafter, **more: Any) -> AsyncIterator[str | Answer]:
    """A turn as it is written; the answer comes last."""
    async with aclosing(pipeline.stream(engine, in_session(**more), drafter)) as pieces:
        async for piece in pieces:
            yield piece if isinstance(piece, str) else piece.answer


@pytest.fixture(scope="module")
def indexed() -> Iterator[Path]:
    """A data directory with a page in it; treat it as read-only."""
    with quick_folder() as folder:
        (folder / "tides.md").write_text(PAGE, "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "tides.md", base_url="https://example.org/book")
        yield folder / "data"


@pytest.fixture
def data(indexed: Path) -> Iterator[Path]:
    """A copy of it that a test may change; it has no records yet."""
    with quick_folder() as folder:
        yield Path(shutil.copytree(indexed, folder / "data", symlinks=True))


@pytest.fixture
def book(data: Path) -> Iterator[Book]:
    with glossator.open(data) as opened:
        yield opened


class Scripted:
    """A language model that says what it is told to, in small pieces, and then perhaps fails or hangs."""

    name, prompt_hash, settings = "scripted", "0" * 8, {"temperature": "0"}
    text = "Spring tides occur at new moon and at full moon. [1] They have the largest range of all tides. [1] "

    def __init__(self, problem: Exception | None = None, *, hang: bool = False) -> None:
        self.problem, self.hang = problem, hang
        self.drafting, self.closed = asyncio.Event(), False

    async def revise(self, _request: DraftRequest, _failed: Sequence[UnsupportedClaim]) -> AsyncIterator[str]:
        for nothing in ():
            yield nothing

    async def draft(self, _request: DraftRequest) -> AsyncIterator[str | tuple[Passage, ...]]:
        try:
            for at in range(0, len(self.text), 7):
                yield self.text[at : at + 7]
            self.drafting.set()
            if self.problem:
                raise self.problem
            if self.hang:
                await asyncio.sleep(60)
        finally:
            self.closed = True


def told(book: Book) -> list[str]:
    return [exchange.question for exchange in book.history("tides")]


# In Python.


def test_history_is_what_was_shown(book: Book) -> None:
    shown = [book.ask(question, session_id="tides") for question in (QUESTION, f"  {MOON}\n", LISBON)]
    history = book.history("tides")
    assert [exchange.answer for exchange in history] == shown
    assert [exchange.question for exchange in history] == [QUESTION, MOON, LISBON]
    assert {(answer.session_id, answer.stored) for answer in shown} == {("tides", True)}
    assert [answer.abstained for answer in shown] == [False, False, True]
    assert book.ask(QUESTION).sentences == shown[0].sentences


def test_without_a_session_nothing_is_remembered(book: Book) -> None:
    answer = book.ask(QUESTION)
    assert (answer.session_id, answer.stored) == ("", False)
    assert book._run(book.engine.records.sessions()) == []


def test_a_conversation_goes_on_after_a_restart(data: Path) -> None:
    for question in (QUESTION, MOON):
        with glossator.open(data) as book:
            book.ask(question, session_id="tides")
    with glossator.open(data) as book:
        assert told(book) == [QUESTION, MOON]


def test_a_uuid_in_capitals_is_the_same_conversation(book: Book) -> None:
    name = str(uuid.uuid4())
    answer = book.ask(QUESTION, session_id=name.upper())
    assert answer.session_id == name
    assert [exchange.answer for exchange in book.history(name)] == [answer]


def test_a_selection_is_part_of_a_conversation(book: Book) -> None:
    book.ask(QUESTION, session_id="tides")
    text = "Neap tides occur at the first and third quarter of the Moon."
    answer = book.ask("When do neap tides occur?", selected_text=text, session_id="tides")
    assert (answer.mode, answer.stored, answer.text) == (Mode.SELECTED_TEXT, True, f"{text} [1]")
    assert book.history("tides")[1].answer == answer
    session = book._run(book.engine.records.session(KEY))
    assert (session.context_mode, session.message_count) == (ContextMode.USER_PROVIDED, 4)


def test_a_session_knows_its_filters(book: Book) -> None:
    book.ask(QUESTION, session_id="tides", filters={"section": "Spring tides"})
    assert book._run(book.engine.records.session(KEY)).active_filters == {"section": "Spring tides"}


def test_a_receipt_lives_as_long_as_its_conversation(book: Book) -> None:
    answer = book.ask(QUESTION, session_id="tides")
    assert book.replay(answer.receipt_id).holds
    book.delete("tides")
    with pytest.raises(ReceiptNotFound):
        book.replay(answer.receipt_id)
    with pytest.raises(SessionNotFound):
        book.history("tides")


def test_a_reader_says_what_an_answer_was_worth(book: Book) -> None:
    answer = book.ask(QUESTION, session_id="tides")
    book.feedback(answer.receipt_id, "down", "wrong", "It is not so.")
    said = book._run(book.engine.records.feedback())[0]
    assert (said.rating, said.reason, said.text, said.question) == ("down", "wrong", "It is not so.", QUESTION)
    with pytest.raises(BadInput, match="up or down"):
        book.feedback(answer.receipt_id, "sideways")  # type: ignore[arg-type]
    with pytest.raises(ReceiptNotFound):
        book.feedback("unknown", "up")


@pytest.mark.parametrize("name", BAD_IDS)
def test_what_is_no_session_id_is_refused(book: Book, name: str) -> None:
    with pytest.raises(SessionIdError):
        book.ask(QUESTION, session_id=name)
    with pytest.raises(SessionIdError):
        book.history(name)
    with pytest.raises(SessionIdError):
        book.delete(name)


@pytest.mark.parametrize("question", ["", " \n", "a\0b", "\ud800", "x" * 32_001])
def test_a_bad_question_begins_no_conversation(book: Book, question: str) -> None:
    with pytest.raises(QuestionError):
        book.ask(question, session_id="tides")
    with pytest.raises(SessionNotFound):
        book.history("tides")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["nul", "surrogate"])
def test_a_filter_that_is_no_text_begins_no_conversation(book: Book, text: str) -> None:
    with pytest.raises(BadInput):
        book.ask(QUESTION, session_id="tides", filters={"chapter": text})
    with pytest.raises(SessionNotFound):
        book.history("tides")


def test_a_question_that_cannot_be_answered_holds_up_nobody(tmp_path: Path) -> None:
    with glossator.open(tmp_path) as empty:
        for _ in range(2):
            with pytest.raises(NoIndex):
                empty.ask(QUESTION, session_id="tides")
        assert empty.history("tides") == []


def test_many_questions_at_once_are_answered_one_after_another(book: Book) -> None:
    async def ask() -> list[Answer]:
        return await asyncio.gather(*(pipeline.ask(book.engine, in_session(f"{QUESTION} {n}")) for n in range(6)))

    answers = book._run(ask())
    assert all(answer.stored for answer in answers)
    assert sorted(told(book)) == [f"{QUESTION} {number}" for number in range(6)]


def test_a_retried_request_is_answered_once(book: Book) -> None:
    async def ask() -> list[Answer]:
        return await asyncio.gather(*(pipeline.ask(book.engine, in_session(idempotency_key="k")) for _ in range(3)))

    answers = book._run(ask())
    assert answers[0] == answers[1] == answers[2]
    assert told(book) == [QUESTION]


# As a stream.


def test_what_streams_is_what_is_stored(book: Book) -> None:
    async def collect() -> list[str | Answer]:
        return [piece async for piece in converse_stream(book.engine, drafter=Scripted(), idempotency_key="k")]

    *pieces, answer = book._run(collect())
    exchange = book.history("tides")[0]
    assert isinstance(answer, Answer)
    assert len(pieces) > 1
    assert "".join(map(str, pieces)) == answer.text == exchange.answer.text
    assert exchange.answer == answer
    assert answer.stored
    assert [str(piece) for piece in book._run(collect())] == [answer.text, str(answer)]
    assert told(book) == [QUESTION]


def test_a_stream_of_nothing_that_holds_falls_back_to_the_book(book: Book) -> None:
    class Liar(Scripted):
        text = "Spring tides were invented in 1822 by a baker. [1] "

    async def collect() -> list[str | Answer]:
        return [piece async for piece in converse_stream(book.engine, drafter=Liar())]

    *pieces, answer = book._run(collect())
    assert isinstance(answer, Answer)
    assert "".join(map(str, pieces)) == answer.text
    assert "baker" not in answer.text
    assert [claim.text for claim in answer.unsupported_claims] == ["Spring tides were invented in 1822 by a baker."]
    assert book.history("tides")[0].answer == answer


def test_a_reader_who_leaves_halfway_leaves_no_exchange(book: Book) -> None:
    drafter = Scripted(hang=True)

    async def leave() -> str | Answer:
        async with aclosing(converse_stream(book.engine, drafter=drafter)) as pieces:
            return await anext(pieces)

    assert isinstance(book._run(leave()), str)
    assert told(book) == []
    assert book.ask(MOON, session_id="tides").stored
    assert told(book) == [MOON]
    assert drafter.closed


def test_a_reader_who_is_cut_off_leaves_no_exchange(book: Book) -> None:
    drafter = Scripted(hang=True)

    async def read() -> None:
        async for _ in converse_stream(book.engine, drafter=drafter):
            pass

    async def cut_off() -> None:
        reading = asyncio.create_task(read())
        await drafter.drafting.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    book._run(cut_off())
    assert told(book) == []
    assert book.ask(MOON, session_id="tides").stored


def test_a_drafter_that_fails_leaves_no_exchange(book: Book) -> None:
    async def collect() -> list[str | Answer]:
        drafter = Scripted(RuntimeError("out of words"))
        return [piece async for piece in converse_stream(book.engine, drafter=drafter)]

    with pytest.raises(RuntimeError, match="out of words"):
        book._run(collect())
    assert told(book) == []
    assert book._run(book.engine.records.session(KEY)).state is SessionState.CREATED
    assert book.ask(MOON, session_id="tides").stored


def test_a_stream_into_a_deleted_conversation_says_that_it_is_not_stored(book: Book) -> None:
    async def collect() -> str | Answer:
        pieces = converse_stream(book.engine, drafter=Scripted())
        assert await anext(pieces)
        await book.engine.records.delete(KEY)
        return [piece async for piece in pieces][-1]

    answer = book._run(collect())
    assert isinstance(answer, Answer)
    assert (answer.stored, answer.receipt_id) == (False, "")
    with pytest.raises(SessionNotFound):
        book.history("tides")


# Without records.


def test_an_answer_comes_even_where_nothing_can_be_remembered(book: Book, data: Path) -> None:
    (data / "records.sqlite").mkdir()
    answer = book.ask(QUESTION, session_id="tides")
    assert "new moon" in answer.text
    assert (answer.session_id, answer.stored, answer.receipt_id) == ("tides", False, "")
    with pytest.raises(RecordsDown):
        book.history("tides")
    (data / "records.sqlite").rmdir()
    sleep(0.6)
    assert book.ask(QUESTION, session_id="tides").stored
    assert told(book) == [QUESTION]


def test_a_stream_goes_on_where_nothing_can_be_remembered(book: Book, data: Path) -> None:
    (data / "records.sqlite").mkdir()

    async def collect() -> list[str | Answer]:
        return [piece async for piece in converse_stream(book.engine, drafter=Scripted(), filters=Filters())]

    *pieces, answer = book._run(collect())
    assert isinstance(answer, Answer)
    assert "".join(map(str, pieces)) == answer.text
    assert (answer.stored, answer.receipt_id) == (False, "")


@pytest.mark.parametrize("ending", ["", "1 / 0", "del book"])
def test_a_book_that_nobody_closed_lets_its_program_end(data: Path, ending: str) -> None:
    lines = (
        "import sys, glossator",
        "book = glossator.open(sys.argv[1])",
        f"print(book.ask({QUESTION!r}, session_id='tides').stored)",
        ending,
    )
    command = [sys.executable, "-W", "error", "-c", "\n".join(lines), str(data)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=15)
    assert done.stdout == b"True\n"
    assert done.returncode == (ending == "1 / 0")
    assert done.stderr.count(b"Traceback") == (ending == "1 / 0")
    with glossator.open(data) as book:
        assert told(book) == [QUESTION]


# On the command line.


def test_ask_makes_an_answer_part_of_a_conversation(data: Path) -> None:
    asked = run("ask", QUESTION, "--session", "tides", "--data-dir", data, "--json")
    answer = json.loads(asked.out)
    assert (asked.code, answer["session_id"], answer["stored"]) == (0, "tides", True)
    plain = run("ask", MOON, "--session", "tides", "--data-dir", data)
    assert (plain.code, plain.err) == (0, "")
    assert "gravity of the Moon" in plain.out
    exported = json.loads(run("sessions", "export", "tides", "--data-dir", data, "--json").out)
    assert (exported["session_id"], exported["state"], exported["message_count"]) == ("tides", "active", 4)
    assert [exchange["question"] for exchange in exported["exchanges"]] == [QUESTION, MOON]
    assert exported["exchanges"][0]["answer"] == answer
    assert exported["exchanges"][0]["timestamp"].endswith("+00:00")


def test_a_conversation_is_exported_for_people(book: Book, data: Path) -> None:
    answer = book.ask(QUESTION, session_id="tides")
    book.ask("Who won\nthe football match in Lisbon?", session_id="tides")
    exported = run("sessions", "export", "tides", "--data-dir", data)
    assert (exported.code, exported.err) == (0, "")
    assert exported.out.startswith("# Conversation tides\n")
    assert (
        f"\n> {QUESTION}\n\n{answer.text}\n\n1. [Tides › Spring tides](<{answer.citations[0].url}>)\n" in exported.out
    )
    assert "\n> Who won\n> the football match in Lisbon?\n" in exported.out
    assert exported.out.endswith("\n")
    assert not exported.out.endswith("\n\n")


def test_a_selection_on_the_command_line_is_part_of_a_conversation(data: Path) -> None:
    text = b"Neap tides occur at the first and third quarter of the Moon."
    asked = ("ask", "When do neap tides occur?", "--selection", "-", "--session", "tides")
    answer = json.loads(run(*asked, "--data-dir", data, "--json", stdin=text).out)
    assert (answer["mode"], answer["stored"]) == ("selected_text", True)


def test_a_chat_ends_with_an_empty_line(data: Path) -> None:
    lines = f"{QUESTION}\n{MOON}\n\n{LISBON}\n".encode()
    chat = run("chat", "--session", "tides", "--data-dir", data, stdin=lines)
    assert (chat.code, chat.err) == (0, "")
    assert "Conversation tides." in chat.out
    assert "at new moon and at full moon" in chat.out
    assert "gravity of the Moon" in chat.out
    with glossator.open(data) as book:
        assert told(book) == [QUESTION, MOON]


def test_a_chat_for_programs_is_one_line_an_answer(data: Path) -> None:
    chat = run("chat", "--data-dir", data, "--json", stdin=f"{QUESTION}\n{MOON}".encode())
    answers = [json.loads(line) for line in chat.out.splitlines()]
    assert (chat.code, chat.err, len(answers)) == (0, "", 2)
    names = {answer["session_id"] for answer in answers}
    assert len(names) == 1
    exported = json.loads(run("sessions", "export", names.pop(), "--data-dir", data, "--json").out)
    assert [exchange["answer"] for exchange in exported["exchanges"]] == answers


def test_a_chat_goes_on_after_a_bad_question(data: Path) -> None:
    lines = f"a\0b\n{'x' * 32_001}\n{QUESTION}\n".encode()
    chat = run("chat", "--session", "tides", "--data-dir", data, "--json", stdin=lines)
    assert chat.code == 0
    assert [json.loads(line)["stored"] for line in chat.out.splitlines()] == [True]
    assert chat.err.count("glossator: ") == chat.err.count("\n") == 2


def test_a_chat_that_is_not_utf_8_ends_in_one_line(data: Path) -> None:
    outcome = run("chat", "--data-dir", data, "--json", stdin=b"caf\xe9\n")
    assert outcome.failed_with(2, "UTF-8")


def test_a_chat_keeps_its_filters(data: Path) -> None:
    arguments = ("--session", "tides", "--section", "Spring tides", "--data-dir", data, "--json")
    answer = json.loads(run("chat", *arguments, stdin=QUESTION.encode()).out)
    assert {citation["section"] for citation in answer["citations"]} == {"Spring tides"}
    listed = json.loads(run("sessions", "list", "--data-dir", data, "--json").out)
    assert listed[0]["active_filters"] == {"section": "Spring tides"}


def test_sessions_are_listed_the_latest_first(book: Book, data: Path) -> None:
    assert run("sessions", "list", "--data-dir", data).out == "No conversations.\n"
    assert json.loads(run("sessions", "list", "--data-dir", data, "--json").out) == []
    for name in ("one", "two", "one"):
        book.ask(QUESTION, session_id=name)
    book._run(pipeline.ask(book.engine, in_session(key=session_key("hers", "ann"))))
    plain = run("sessions", "list", "--data-dir", data)
    assert (plain.code, [line.split()[:3] for line in plain.out.splitlines()[1:]]) == (
        0,
        [["one", "active", "4"], ["two", "active", "2"]],
    )
    listed = json.loads(run("sessions", "list", "--limit", 1, "--data-dir", data, "--json").out)
    assert [(session["session_id"], session["user_id"]) for session in listed] == [("one", None)]
    hers = json.loads(run("sessions", "list", "--user", "ann", "--data-dir", data, "--json").out)
    assert [(session["session_id"], session["user_id"]) for session in hers] == [("hers", "ann")]
    assert run("sessions", "export", "hers", "--user", "ann", "--data-dir", data).code == 0
    assert run("sessions", "export", "hers", "--data-dir", data).failed_with(2, "no such conversation")


def test_a_conversation_is_reset_and_deleted(book: Book, data: Path) -> None:
    book.ask(QUESTION, session_id="tides")
    reset = run("sessions", "reset", "tides", "--data-dir", data)
    assert (reset.code, reset.out, reset.err) == (0, "The conversation tides begins anew.\n", "")
    assert told(book) == []
    assert json.loads(run("sessions", "reset", "tides", "--data-dir", data, "--json").out) == {"reset": "tides"}
    deleted = run("sessions", "delete", "tides", "--data-dir", data, "--json")
    assert (deleted.code, json.loads(deleted.out)) == (0, {"deleted": "tides"})
    assert run("sessions", "delete", "tides", "--data-dir", data).failed_with(2, "no such conversation")


@pytest.mark.parametrize("command", ["export", "reset", "delete"])
def test_an_unknown_conversation_is_one_line(data: Path, command: str) -> None:
    assert run("sessions", command, "unknown", "--data-dir", data).failed_with(2, "no such conversation", "begin one")
    assert run("sessions", command, "unknown", "--data-dir", data, "--json").failed_with(2, "no such conversation")


@pytest.mark.parametrize("command", ["ask", "chat", "export", "reset", "delete"])
@pytest.mark.parametrize("name", BAD_IDS)
def test_a_bad_session_id_is_one_line(data: Path, command: str, name: str) -> None:
    arguments = {"ask": ("ask", QUESTION, "--session", name), "chat": ("chat", "--session", name)}
    outcome = run(*arguments.get(command, ("sessions", command, name)), "--data-dir", data)
    assert outcome.failed_with(2, "session id is not valid", "Use a UUID")


def test_the_tables_are_made_by_hand(data: Path) -> None:
    first = run("db", "upgrade", "--data-dir", data)
    assert (first.code, first.out, first.err) == (0, f"The tables are at {HEAD}; they were not there.\n", "")
    assert run("db", "upgrade", "--data-dir", data).out == f"The tables are at {HEAD} already.\n"
    again = run("db", "upgrade", "--data-dir", data, "--json")
    assert json.loads(again.out) == {"revision": HEAD, "before": HEAD}


def test_records_are_cleaned_by_hand(book: Book, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book.ask(QUESTION, session_id="tides")
    book.ask(MOON)
    nothing = {"inactive": 0, "expired": 0, "receipts": 0, "forgotten": 0}
    assert json.loads(run("db", "clean", "--data-dir", data, "--json").out) == nothing
    monkeypatch.setenv("GLOSSATOR_SESSION_HOURS", "0.000001")
    monkeypatch.setenv("GLOSSATOR_RECEIPT_DAYS", "0.0000001")
    sleep(0.02)
    cleaned = run("db", "clean", "--data-dir", data)
    assert (cleaned.code, cleaned.err) == (0, "")
    assert cleaned.out == "1 conversations expired, 0 went inactive, 0 were forgotten; 1 receipts dropped.\n"
    assert told(book) == []


def test_commands_say_in_one_line_that_the_records_cannot_be_used(data: Path) -> None:
    (data / "records.sqlite").mkdir()
    for command in (("sessions", "list"), ("sessions", "export", "tides"), ("sessions", "delete", "tides")):
        assert run(*command, "--data-dir", data).failed_with(7, "cannot be read or written", "doctor")
    answer = json.loads(run("ask", QUESTION, "--session", "tides", "--data-dir", data, "--json").out)
    assert (answer["stored"], answer["receipt_id"]) == (False, "")


@pytest.mark.parametrize("command", ["upgrade", "clean"])
def test_an_operator_is_told_in_one_line_that_the_records_cannot_be_used(data: Path, command: str) -> None:
    (data / "records.sqlite").mkdir()
    assert run("db", command, "--data-dir", data).failed_with(7)


@pytest.mark.parametrize("command", [("sessions", "list"), ("db", "upgrade"), ("db", "clean")], ids=" ".join)
def test_a_server_that_cannot_be_reached_is_one_line(
    data: Path, command: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:hunter2@127.0.0.1:1/records")
    outcome = run(*command, "--data-dir", data)
    assert outcome.failed_with(7)
    assert "hunter2" not in outcome.err


def test_an_answer_comes_though_the_server_cannot_be_reached(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:hunter2@127.0.0.1:1/records")
    asked = run("ask", QUESTION, "--session", "tides", "--data-dir", data, "--json")
    assert (asked.code, json.loads(asked.out)["stored"]) == (0, False)
    assert "hunter2" not in asked.err


def test_an_address_that_is_none_is_one_line(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://ann:hunter2@127.0.0.1/records")
    outcome = run("sessions", "list", "--data-dir", data)
    assert outcome.failed_with(2, "DATABASE_URL", "postgresql://")
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize("command", [("sessions", "list"), ("db", "upgrade")], ids=" ".join)
def test_records_of_a_newer_version_are_left_alone(book: Book, data: Path, command: tuple[str, str]) -> None:
    book.ask(QUESTION, session_id="tides")
    book.close()
    with closing(connect(data / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    assert run(*command, "--data-dir", data).failed_with(7, "newer version", "Install")


def test_an_answer_comes_though_the_records_are_of_a_newer_version(book: Book, data: Path) -> None:
    book.ask(QUESTION, session_id="tides")
    book.close()
    with closing(connect(data / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    assert not book.ask(QUESTION).receipt_id
    assert not book.ask(QUESTION, session_id="tides").stored
