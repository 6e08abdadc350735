"""Conversations on the command line: ask, chat, sessions, db."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from time import sleep

import pytest

import glossator
from commands import run
from glossator import pipeline
from glossator.core.conversations import session_key
from glossator.facade import Book
from glossator.store.records.database import HEAD
from tides import MALFORMED_IDS, MOON, OUT_OF_SCOPE, SPRING_TIDES, in_session, stored_questions

pytestmark = pytest.mark.slow


def test_ask_adds_the_answer_to_a_conversation(tides_data: Path) -> None:
    asked = run("ask", SPRING_TIDES, "--session", "tides", "--data-dir", tides_data, "--json")
    answer = json.loads(asked.out)
    assert (asked.code, answer["session_id"], answer["stored"]) == (0, "tides", True)
    plain = run("ask", MOON, "--session", "tides", "--data-dir", tides_data)
    assert (plain.code, plain.err) == (0, "")
    assert "gravity of the Moon" in plain.out
    exported = json.loads(run("sessions", "export", "tides", "--data-dir", tides_data, "--json").out)
    assert (exported["session_id"], exported["state"], exported["message_count"]) == ("tides", "active", 4)
    assert [exchange["question"] for exchange in exported["exchanges"]] == [SPRING_TIDES, MOON]
    assert exported["exchanges"][0]["answer"] == answer
    assert exported["exchanges"][0]["timestamp"].endswith("+00:00")


def test_export_as_markdown(tides_book: Book, tides_data: Path) -> None:
    answer = tides_book.ask(SPRING_TIDES, session_id="tides")
    tides_book.ask("Who won\nthe football match in Lisbon?", session_id="tides")
    exported = run("sessions", "export", "tides", "--data-dir", tides_data)
    assert (exported.code, exported.err) == (0, "")
    assert exported.out.startswith("# Conversation tides\n")
    assert (
        f"\n> {SPRING_TIDES}\n\n{answer.text}\n\nSources:\n\n1. [Tides › Spring tides](<{answer.citations[0].url}>)\n"
        in exported.out
    )
    assert "\n> Who won\n> the football match in Lisbon?\n" in exported.out
    assert exported.out.endswith("\n")
    assert not exported.out.endswith("\n\n")


def test_export_lists_the_sources_of_cached_answers_and_of_selections(tides_book: Book, tides_data: Path) -> None:
    selection = "Neap tides occur at the first and third quarter of the Moon."
    tides_book.ask(SPRING_TIDES, session_id="other")
    tides_book.ask(MOON, session_id="tides")
    assert tides_book.ask(SPRING_TIDES, session_id="tides").cached
    tides_book.ask("When do neap tides occur?", selected_text=selection, session_id="tides")
    tides_book.ask(OUT_OF_SCOPE, session_id="tides")
    exported = run("sessions", "export", "tides", "--data-dir", tides_data, "--json")
    answers = [exchange["answer"] for exchange in json.loads(exported.out)["exchanges"]]
    places = []
    for answer in answers:
        numbers = [citation["number"] for citation in answer["citations"]]
        assert numbers == list(range(1, len(numbers) + 1))
        assert {int(mark) for mark in re.findall(r"\[(\d+)\]", answer["text"])} == set(numbers)
        places.append([citation["section"] or citation["title"] for citation in answer["citations"]])
        for sentence in answer["sentences"]:
            quoted = answer["citations"][sentence["citations"][0] - 1]
            assert sentence["verdict"]["evidence"]["chunk_id"] == quoted["chunk_id"]
    assert (places[1][0], places[2:]) == ("Spring tides", [["Your selection"], []])
    parts = run("sessions", "export", "tides", "--data-dir", tides_data).out.split("\n## ")[1:]
    for part, answer in zip(parts, answers, strict=True):
        listed = re.findall(r"^(\d+)\. (?:\[.*\]\(<(.*)>\)|Your selection)$", part.partition("\nSources:\n\n")[2], re.M)
        assert listed == [(str(citation["number"]), citation["url"]) for citation in answer["citations"]]


def test_feedback_lists_ratings(tides_book: Book, tides_data: Path) -> None:
    assert run("feedback", "--data-dir", tides_data).out == "No feedback.\n"
    for session, rating in (("tides", "up"), ("bread", "down")):
        answer = tides_book.ask(SPRING_TIDES, session_id=session)
        tides_book.feedback(answer.receipt_id, rating, "wrong", "It is\x1b[31m not so.")
    listed = run("feedback", "--data-dir", tides_data)
    assert (listed.code, listed.err, listed.out.count(SPRING_TIDES)) == (0, "", 2)
    assert listed.out.index("down") < listed.out.index("up")
    assert "wrong: It is" in listed.out
    assert "\x1b" not in listed.out
    (latest,) = json.loads(run("feedback", "--limit", "1", "--data-dir", tides_data, "--json").out)
    assert (latest["rating"], latest["question"], latest["session"]) == ("down", SPRING_TIDES, "bread")
    assert latest["created_at"].endswith("+00:00")


def test_ask_with_a_selection_adds_the_answer_to_a_conversation(tides_data: Path) -> None:
    text = b"Neap tides occur at the first and third quarter of the Moon."
    asked = ("ask", "When do neap tides occur?", "--selection", "-", "--session", "tides")
    answer = json.loads(run(*asked, "--data-dir", tides_data, "--json", stdin=text).out)
    assert (answer["mode"], answer["stored"]) == ("selected_text", True)


def test_chat_ends_with_an_empty_line(tides_data: Path) -> None:
    lines = f"{SPRING_TIDES}\n{MOON}\n\n{OUT_OF_SCOPE}\n".encode()
    chat = run("chat", "--session", "tides", "--data-dir", tides_data, stdin=lines)
    assert (chat.code, chat.err) == (0, "")
    assert "Conversation tides." in chat.out
    assert "at new moon and at full moon" in chat.out
    assert "gravity of the Moon" in chat.out
    with glossator.open(tides_data) as book:
        assert stored_questions(book) == [SPRING_TIDES, MOON]


def test_chat_with_json_prints_one_line_per_answer(tides_data: Path) -> None:
    chat = run("chat", "--data-dir", tides_data, "--json", stdin=f"{SPRING_TIDES}\n{MOON}".encode())
    answers = [json.loads(line) for line in chat.out.splitlines()]
    assert (chat.code, chat.err, len(answers)) == (0, "", 2)
    names = {answer["session_id"] for answer in answers}
    assert len(names) == 1
    exported = json.loads(run("sessions", "export", names.pop(), "--data-dir", tides_data, "--json").out)
    assert [exchange["answer"] for exchange in exported["exchanges"]] == answers


def test_chat_continues_after_an_invalid_question(tides_data: Path) -> None:
    lines = f"a\0b\n{'x' * 32_001}\n{SPRING_TIDES}\n".encode()
    chat = run("chat", "--session", "tides", "--data-dir", tides_data, "--json", stdin=lines)
    assert chat.code == 0
    assert [json.loads(line)["stored"] for line in chat.out.splitlines()] == [True]
    assert chat.err.count("glossator: ") == chat.err.count("\n") == 2


def test_chat_rejects_input_that_is_not_utf_8(tides_data: Path) -> None:
    result = run("chat", "--data-dir", tides_data, "--json", stdin=b"caf\xe9\n")
    assert result.failed_with(2, "UTF-8")


def test_chat_applies_its_filters(tides_data: Path) -> None:
    arguments = ("--session", "tides", "--section", "Spring tides", "--data-dir", tides_data, "--json")
    answer = json.loads(run("chat", *arguments, stdin=SPRING_TIDES.encode()).out)
    assert {citation["section"] for citation in answer["citations"]} == {"Spring tides"}
    listed = json.loads(run("sessions", "list", "--data-dir", tides_data, "--json").out)
    assert listed[0]["active_filters"] == {"section": "Spring tides"}


def test_sessions_are_listed_latest_first(tides_book: Book, tides_data: Path) -> None:
    assert run("sessions", "list", "--data-dir", tides_data).out == "No conversations.\n"
    assert json.loads(run("sessions", "list", "--data-dir", tides_data, "--json").out) == []
    for name in ("one", "two", "one"):
        tides_book.ask(SPRING_TIDES, session_id=name)
    tides_book._run(pipeline.ask(tides_book.engine, in_session(key=session_key("hers", "ann"))))
    plain = run("sessions", "list", "--data-dir", tides_data)
    assert (plain.code, [line.split()[:3] for line in plain.out.splitlines()[1:]]) == (
        0,
        [["one", "active", "4"], ["two", "active", "2"]],
    )
    listed = json.loads(run("sessions", "list", "--limit", 1, "--data-dir", tides_data, "--json").out)
    assert [(session["session_id"], session["user_id"]) for session in listed] == [("one", None)]
    hers = json.loads(run("sessions", "list", "--user", "ann", "--data-dir", tides_data, "--json").out)
    assert [(session["session_id"], session["user_id"]) for session in hers] == [("hers", "ann")]
    assert run("sessions", "export", "hers", "--user", "ann", "--data-dir", tides_data).code == 0
    assert run("sessions", "export", "hers", "--data-dir", tides_data).failed_with(2, "no such conversation")


def test_reset_and_delete(tides_book: Book, tides_data: Path) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides")
    reset = run("sessions", "reset", "tides", "--data-dir", tides_data)
    assert (reset.code, reset.out, reset.err) == (0, "Conversation tides reset.\n", "")
    assert stored_questions(tides_book) == []
    assert json.loads(run("sessions", "reset", "tides", "--data-dir", tides_data, "--json").out) == {"reset": "tides"}
    deleted = run("sessions", "delete", "tides", "--data-dir", tides_data, "--json")
    assert (deleted.code, json.loads(deleted.out)) == (0, {"deleted": "tides"})
    assert run("sessions", "delete", "tides", "--data-dir", tides_data).failed_with(2, "no such conversation")


@pytest.mark.parametrize("command", ["export", "reset", "delete"])
def test_unknown_conversation_fails_with_one_line(tides_data: Path, command: str) -> None:
    assert run("sessions", command, "unknown", "--data-dir", tides_data).failed_with(
        2, "no such conversation", "start one"
    )
    assert run("sessions", command, "unknown", "--data-dir", tides_data, "--json").failed_with(
        2, "no such conversation"
    )


@pytest.mark.parametrize("command", ["ask", "chat", "export", "reset", "delete"])
@pytest.mark.parametrize("name", MALFORMED_IDS.values(), ids=MALFORMED_IDS.keys())
def test_malformed_session_id_fails_with_one_line(tides_data: Path, command: str, name: str) -> None:
    arguments = {"ask": ("ask", SPRING_TIDES, "--session", name), "chat": ("chat", "--session", name)}
    result = run(*arguments.get(command, ("sessions", command, name)), "--data-dir", tides_data)
    assert result.failed_with(2, "Malformed session id", "Use a UUID")


def test_db_upgrade_creates_the_tables(tides_data: Path) -> None:
    first = run("db", "upgrade", "--data-dir", tides_data)
    assert (first.code, first.out, first.err) == (0, f"The tables are now at {HEAD}; before: none.\n", "")
    assert run("db", "upgrade", "--data-dir", tides_data).out == f"The tables are already at {HEAD}.\n"
    again = run("db", "upgrade", "--data-dir", tides_data, "--json")
    assert json.loads(again.out) == {"revision": HEAD, "before": HEAD}


def test_db_clean_expires_conversations_and_deletes_receipts(
    tides_book: Book, tides_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides")
    tides_book.ask(MOON)
    nothing = {"inactive": 0, "expired": 0, "receipts": 0, "forgotten": 0}
    assert json.loads(run("db", "clean", "--data-dir", tides_data, "--json").out) == nothing
    monkeypatch.setenv("GLOSSATOR_SESSION_HOURS", "0.000001")
    monkeypatch.setenv("GLOSSATOR_RECEIPT_DAYS", "0.0000001")
    sleep(0.02)
    cleaned = run("db", "clean", "--data-dir", tides_data)
    assert (cleaned.code, cleaned.err) == (0, "")
    assert cleaned.out == "Conversations: 0 became inactive, 1 expired, 0 purged. Receipts: 1 deleted.\n"
    assert stored_questions(tides_book) == []


def test_session_commands_fail_with_one_line_without_a_database(tides_data: Path) -> None:
    (tides_data / "records.sqlite").mkdir()
    for command in (("sessions", "list"), ("sessions", "export", "tides"), ("sessions", "delete", "tides")):
        assert run(*command, "--data-dir", tides_data).failed_with(
            7, "database of conversations is unavailable", "doctor"
        )
    answer = json.loads(run("ask", SPRING_TIDES, "--session", "tides", "--data-dir", tides_data, "--json").out)
    assert (answer["stored"], answer["receipt_id"]) == (False, "")


@pytest.mark.parametrize("command", ["upgrade", "clean"])
def test_db_commands_fail_with_one_line_without_a_database(tides_data: Path, command: str) -> None:
    (tides_data / "records.sqlite").mkdir()
    assert run("db", command, "--data-dir", tides_data).failed_with(7)


@pytest.mark.parametrize("command", [("sessions", "list"), ("db", "upgrade"), ("db", "clean")], ids=" ".join)
def test_unreachable_database_fails_with_one_line(
    tides_data: Path, command: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:hunter2@127.0.0.1:1/records")
    result = run(*command, "--data-dir", tides_data)
    assert result.failed_with(7)
    assert "hunter2" not in result.err


def test_ask_works_with_an_unreachable_database(tides_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:hunter2@127.0.0.1:1/records")
    asked = run("ask", SPRING_TIDES, "--session", "tides", "--data-dir", tides_data, "--json")
    assert (asked.code, json.loads(asked.out)["stored"]) == (0, False)
    assert "hunter2" not in asked.err


def test_unsupported_database_url_fails_with_one_line(tides_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://ann:hunter2@127.0.0.1/records")
    result = run("sessions", "list", "--data-dir", tides_data)
    assert result.failed_with(2, "DATABASE_URL", "postgresql://")
    assert "hunter2" not in result.err


@pytest.mark.parametrize("command", [("sessions", "list"), ("db", "upgrade")], ids=" ".join)
def test_database_of_a_newer_version_is_left_unchanged(
    tides_book: Book, tides_data: Path, command: tuple[str, str]
) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides")
    tides_book.close()
    with closing(connect(tides_data / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    assert run(*command, "--data-dir", tides_data).failed_with(7, "newer version", "Install")


def test_ask_works_with_a_database_of_a_newer_version(tides_book: Book, tides_data: Path) -> None:
    tides_book.ask(SPRING_TIDES, session_id="tides")
    tides_book.close()
    with closing(connect(tides_data / "records.sqlite")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    assert not tides_book.ask(SPRING_TIDES).receipt_id
    assert not tides_book.ask(SPRING_TIDES, session_id="tides").stored
