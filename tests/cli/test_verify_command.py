"""`glossator verify`: a text against files, against the book, and a batch; usable in a CI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import Outcome, quick_folder, run

SOURCE = "The hip motor weighs 40 kg. It must never be lifted by one person."


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    with quick_folder() as folder:
        (folder / "source.txt").write_text(SOURCE, "utf-8")
        (folder / "book").mkdir()
        (folder / "book" / "motor.md").write_text(f"# Motor\n\n{SOURCE}\n", "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "book")
        yield folder


def verify(room: Path, text: str, *more: object) -> Outcome:
    (room / "draft.md").write_text(text, "utf-8")
    return run("verify", room / "draft.md", "--data-dir", room / "data", *more)


def test_a_true_text_passes(room: Path) -> None:
    outcome = verify(room, "The hip motor weighs 40 kg. [1]", "--source", room / "source.txt")
    assert outcome.code == 0
    assert "1 of 1 claims are supported" in outcome.out


def test_a_false_text_fails_and_says_why(room: Path) -> None:
    outcome = verify(room, "Hello! The hip motor weighs 400 kg. [1]", "--source", room / "source.txt")
    assert outcome.code == 1
    assert "says 400 kg; the source says 40 kg" in outcome.out


def test_json_holds_every_claim(room: Path) -> None:
    outcome = verify(room, "The hip motor weighs 40 kg. It flies.", "--source", room / "source.txt", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["supported"]) == (1, False)
    assert [s["verdict"]["supported"] for s in found["sentences"]] == [True, False]
    assert found["unsupported_claims"][0]["text"] == "It flies."


def test_without_a_source_the_book_is_asked(room: Path) -> None:
    assert verify(room, "The hip motor weighs 40 kg.").code == 0
    assert verify(room, "The hip motor weighs 70 kg.").code == 1


def test_standard_input(room: Path) -> None:
    arguments = ("verify", "-", "--source", room / "source.txt", "--data-dir", room / "data")
    assert run(*arguments, stdin=b"The hip motor weighs 40 kg.").code == 0


def test_a_batch(room: Path) -> None:
    lines = [
        {"id": "a", "claim": "The hip motor weighs 40 kg.", "passages": [SOURCE]},
        {"claim": "The hip motor weighs 41 kg.", "passages": [{"text": SOURCE}]},
    ]
    (room / "batch.jsonl").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    outcome = run("verify", "--batch", room / "batch.jsonl", "--json")
    results = json.loads(outcome.out)["results"]
    assert outcome.code == 1
    assert [(r["id"], r["supported"], r["status"]) for r in results] == [
        ("a", True, "supported"),
        (2, False, "contradicted"),
    ]
    assert "1 of 2 claims are supported" in run("verify", "--batch", room / "batch.jsonl").out


@pytest.mark.parametrize("line", ["{", "[]", '{"claim": 1}', '{"claim": "x"}', '"x"', "\x00"])
def test_a_bad_line_is_named(room: Path, line: str) -> None:
    (room / "bad.jsonl").write_text(f'{{"claim": "x", "passages": []}}\n{line}\n', "utf-8")
    assert run("verify", "--batch", room / "bad.jsonl").failed_with(2, "Line 2")


def test_something_must_be_given(room: Path) -> None:
    assert run("verify").failed_with(2, "TEXT")
    assert run("verify", room / "missing.md").failed_with(2, "cannot be read")
