"""`glossator verify`: a text against files, against the book, and a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import glossator
from commands import CommandResult, quick_folder, run
from glossator.cli.terminal import show_checked
from glossator.core.answers import CheckedDraft, Sentence, Status, Verdict
from glossator.core.question import Question
from glossator.core.types import RetrievalResult
from glossator.pipeline import checking
from glossator.pipeline.reading import search_book, search_keywords
from glossator.pipeline.wiring import Engine
from glossator.store.index.generations import Generation

SOURCE = "The hip motor weighs 40 kg. It must never be lifted by one person."


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with a source, and a book that says the same."""
    with quick_folder() as folder:
        (folder / "source.txt").write_text(SOURCE, "utf-8")
        (folder / "book").mkdir()
        (folder / "book" / "motor.md").write_text(f"# Motor\n\n{SOURCE}\n", "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "book")
        yield folder


def verify(folder: Path, text: str, *more: object) -> CommandResult:
    (folder / "draft.md").write_text(text, "utf-8")
    return run("verify", folder / "draft.md", "--data-dir", folder / "data", *more)


def test_supported_text_passes(folder: Path) -> None:
    result = verify(folder, "The hip motor weighs 40 kg. [1]", "--source", folder / "source.txt")
    assert result.code == 0
    assert "1 of 1 claims are supported" in result.out


def test_contradicted_text_fails_with_a_reason(folder: Path) -> None:
    result = verify(folder, "Hello! The hip motor weighs 400 kg. [1]", "--source", folder / "source.txt")
    assert result.code == 1
    assert "says 400 kg; the source says 40 kg" in result.out


def test_json_contains_every_claim(folder: Path) -> None:
    result = verify(folder, "The hip motor weighs 40 kg. It flies.", "--source", folder / "source.txt", "--json")
    found = json.loads(result.out)
    assert (result.code, found["supported"]) == (1, False)
    assert [s["verdict"]["supported"] for s in found["sentences"]] == [True, False]
    assert found["unsupported_claims"][0]["text"] == "It flies."


def test_supported_claim_is_shown_with_its_evidence(folder: Path) -> None:
    result = verify(folder, "The hip motor weighs 40 kilograms.", "--source", folder / "source.txt")
    assert "source 1: The hip motor weighs 40 kg." in result.out
    assert "motor.md: " in verify(folder, "The hip motor weighs 40 kilograms.").out


@pytest.mark.parametrize("in_doubt", [False, True])
def test_supported_claim_in_doubt_is_marked(in_doubt: bool, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = Verdict(Status.SUPPORTED, True, 0.56, None, in_doubt=in_doubt)
    show_checked(CheckedDraft("It is on.", (Sentence("It is on.", (1,), verdict),), (), ()))
    assert ("doubtful: an answer would quote the source instead" in capsys.readouterr().out) == in_doubt


@pytest.mark.parametrize(
    "claim", ["The motor <b>weighs</b> 40 kg.", '<img src="x" alt="It weighs 9 kg.">', "It weighs 40&#48; kg."]
)
def test_claim_that_cannot_be_shown_is_counted(folder: Path, claim: str) -> None:
    result = verify(folder, f"{claim}\n\nThe hip motor weighs 40 kg.", "--source", folder / "source.txt")
    assert result.code == 1
    assert "1 of 2 claims are supported." in result.out
    assert "contains hidden or misleading characters or markup" in result.out
    found = json.loads(verify(folder, claim, "--source", folder / "source.txt", "--json").out)
    assert [len(found["sentences"]), len(found["unsupported_claims"])] == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "# Setup\n",
        "# Only heading\n",
        "## All of the settings\n",
        "## Handling and transport\n",
        "**Overview**\n",
        "Hello!\n",
    ],
)
def test_heading_alone_makes_no_claim(folder: Path, text: str) -> None:
    result = verify(folder, text, "--source", folder / "source.txt")
    assert (result.code, result.out) == (0, "The text makes no claims.\n")


@pytest.mark.parametrize(
    "heading",
    ["# Setup", "## Weight and handling ##", "**Before you start**", "Setup\n=====", "| Part | Mass |\n|---|---|\n"],
)
def test_heading_is_not_a_claim(folder: Path, heading: str) -> None:
    result = verify(folder, f"{heading}\n\nThe hip motor weighs 40 kg.\n", "--source", folder / "source.txt")
    assert result.code == 0
    assert "1 of 1 claims are supported." in result.out


@pytest.mark.parametrize(
    "heading",
    [
        "# The motor weighs 90 kg",
        "# Never lift it",
        "# All motors burn",
        "# Everything burns",
        "# Only adults can",
        "# The motor is harmless",
        "# You can fly with it.",
    ],
)
def test_heading_that_makes_a_claim_is_checked(folder: Path, heading: str) -> None:
    result = verify(folder, f"{heading}\n\nThe hip motor weighs 40 kg.\n", "--source", folder / "source.txt")
    assert result.code == 1
    assert "1 of 2 claims are supported." in result.out


def test_text_is_checked_against_the_book_without_a_source(folder: Path) -> None:
    assert verify(folder, "The hip motor weighs 40 kg.").code == 0
    assert verify(folder, "The hip motor weighs 70 kg.").code == 1


def test_text_from_standard_input(folder: Path) -> None:
    arguments = ("verify", "-", "--source", folder / "source.txt", "--data-dir", folder / "data")
    assert run(*arguments, stdin=b"The hip motor weighs 40 kg.").code == 0


def test_batch(folder: Path) -> None:
    lines = [
        {"id": "a", "claim": "The hip motor weighs 40 kg.", "passages": [SOURCE]},
        {"claim": "The hip motor weighs 41 kg.", "passages": [{"text": SOURCE}]},
    ]
    (folder / "batch.jsonl").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    result = run("verify", "--batch", folder / "batch.jsonl", "--json")
    results = json.loads(result.out)["results"]
    assert result.code == 1
    assert [(r["id"], r["supported"], r["status"]) for r in results] == [
        ("a", True, "supported"),
        (2, False, "contradicted"),
    ]
    assert "1 of 2 claims are supported" in run("verify", "--batch", folder / "batch.jsonl").out


@pytest.mark.parametrize("line", ["{", "[]", '{"claim": 1}', '{"claim": "x"}', '"x"', "\x00"])
def test_error_names_the_invalid_batch_line(folder: Path, line: str) -> None:
    (folder / "bad.jsonl").write_text(f'{{"claim": "x", "passages": []}}\n{line}\n', "utf-8")
    assert run("verify", "--batch", folder / "bad.jsonl").failed_with(2, "Line 2")


def test_missing_text_fails_with_one_line(folder: Path) -> None:
    assert run("verify").failed_with(2, "TEXT")
    assert run("verify", folder / "missing.md").failed_with(2, "cannot be read")


def test_text_without_claims_needs_no_index(tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("Hello!\n", "utf-8")
    assert run("verify", tmp_path / "draft.md", "--data-dir", tmp_path / "none").code == 0


def test_claim_with_a_nul_character_gets_a_verdict(folder: Path) -> None:
    result = verify(folder, "The hip motor weighs 40\0kg.")
    assert (result.code, result.err) == (0, "")
    assert "1 of 1 claims are supported" in result.out


def test_too_many_claims_for_the_book_are_refused_with_the_limit(folder: Path) -> None:
    many = "".join(f"The motor number {n} is blue.\n\n" for n in range(60))
    assert verify(folder, many).failed_with(2, "60 different claims", "at most 50", "sources")
    assert verify(folder, many, "--source", folder / "source.txt").code == 1


def test_long_text_is_refused_with_the_limit(folder: Path) -> None:
    assert verify(folder, "a " * 40_000).failed_with(2, "80,000 characters", "32,000")


def test_long_sources_are_refused_with_the_limit(folder: Path) -> None:
    (folder / "long.txt").write_text("word " * 50_000, "utf-8")
    assert verify(folder, "It flies.", "--source", folder / "long.txt").failed_with(2, "250,000 characters", "200,000")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claims", "length", "by_meaning"), [(12, 600, 12), (50, 600, 12), (50, 100, 24), (24, 50, 24)]
)
def test_later_claims_of_a_long_text_are_searched_for_by_keywords(
    folder: Path, claims: int, length: int, by_meaning: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"search_book": 0, "search_keywords": 0}
    for name, search in (("search_book", search_book), ("search_keywords", search_keywords)):

        def counted(*arguments: Any, name: str = name, search: Any = search) -> RetrievalResult:
            counts[name] += 1
            found: RetrievalResult = search(*arguments)
            assert found.passages
            return found

        monkeypatch.setattr(checking, name, counted)
    texts = (f"The hip motor {n} weighs 40 kg{' and more' * (length // 9)}"[: length - 1] for n in range(claims))
    with glossator.open(folder / "data") as book:
        book.verify("".join(f"{text}.\n\n" for text in texts))
    assert (counts["search_book"], counts["search_keywords"]) == (by_meaning, claims - by_meaning)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["1." * 3000, "a " * 15_000, "The motor is blue. " * 1600])
def test_repeated_claims_are_searched_for_once(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []

    def search(_engine: Engine, _book: Generation, question: Question) -> RetrievalResult:
        searches.append(question.text)
        return search_book(_engine, _book, question)

    monkeypatch.setattr(checking, "search_book", search)
    assert verify(folder, text).code == 1
    assert sum(map(len, searches)) <= checking.MAX_QUERY_LENGTH
