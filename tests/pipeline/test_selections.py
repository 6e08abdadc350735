"""Questions about a selection: answered if it has the answer, also where they name nothing ("Who wrote it?")."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glossator
from glossator.core.answers import Mode
from glossator.facade import Book

DATA = Path(__file__).parents[1] / "data" / "selections.jsonl"
ASKED = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
"""Written without regard to what the models make of them."""
MIN_RIGHT = 0.85
REPORTED = ASKED[:3]


@pytest.mark.parametrize("asked", REPORTED, ids=lambda asked: asked["question"])
def test_pronoun_refers_to_a_short_selection(sample: Book, asked: dict[str, str]) -> None:
    answer = sample.ask(asked["question"], selected_text=asked["selection"])
    assert answer.mode is Mode.SELECTED_TEXT
    assert not answer.abstained
    assert answer.text.startswith(asked["selection"])


@pytest.mark.parametrize("answered", [True, False], ids=["answered", "refused"])
def test_selections_that_answer_the_question_are_recognised(sample: Book, answered: bool) -> None:
    asked = [each for each in ASKED if each["answered"] is answered]
    assert len(asked) == 30
    right = [sample.ask(each["question"], selected_text=each["selection"]).abstained is not answered for each in asked]
    assert sum(right) >= MIN_RIGHT * len(asked)


@pytest.mark.parametrize(
    ("question", "selection"),
    [
        ("Who wrote it?", "The cover is dark green and made of card."),
        ("What colour is it?", "When power is cut, it falls within about a second."),
        ("How fast does it fall?", "The manual was written by Ada Stone in 1999."),
        ("What is the zero-moment point?", "The manual was written by Ada Stone in 1999."),
    ],
)
def test_pronoun_alone_does_not_make_a_selection_the_answer(sample: Book, question: str, selection: str) -> None:
    answer = sample.ask(question, selected_text=selection)
    assert answer.abstained
    assert answer.mode is Mode.SELECTED_TEXT
    assert answer.text == "This is not found in your selection."


def test_pronoun_refers_to_a_short_selection_without_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOSSATOR_READER", "off")
    book = glossator.open(tmp_path)
    assert not book.ask("Who wrote it?", selected_text="The manual was written by Ada Stone in 1999.").abstained
    assert book.ask("Who wrote it?", selected_text="The cover is dark green and made of card.").abstained
