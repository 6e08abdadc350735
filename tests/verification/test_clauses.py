"""Sentences divided into clauses that are judged one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.verification.reading.clauses import split_clauses
from glossator.verification.reading.tokenizer import tokenize


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        (
            "The pump moves two hundred litres of water every hour, and the safety valve opens after an hour by itself.",
            [
                "The pump moves two hundred litres of water every hour",
                "the safety valve opens after an hour by itself.",
            ],
        ),
        (
            "The motor drives the large pump directly; the controller sends a torque command to each joint.",
            ["The motor drives the large pump directly", "the controller sends a torque command to each joint."],
        ),
        (
            "The large water tank is nearly empty in the morning, which starts the electric motor of the pump.",
            ["The large water tank is nearly empty in the morning", "which starts the electric motor of the pump."],
        ),
    ],
)
def test_clauses_are_separated(sentence: str, clauses: list[str]) -> None:
    assert split_clauses(tokenize(sentence, "en")) == clauses


@pytest.mark.parametrize(
    "sentence",
    [
        "Lifting the heavy hip motor takes more than a single person.",
        "The kit has screws, nuts, and bolts in three sizes.",
        "After ten minutes, the valve opens by itself, and stays open.",
        "",
    ],
)
def test_lists_and_short_additions_are_no_clauses(sentence: str) -> None:
    assert split_clauses(tokenize(sentence, "en")) == [sentence]


@given(
    st.lists(st.sampled_from(["motor", "pump,", "and", "moves;", "water:", " ", "while", "— ", "large"]), max_size=30)
)
def test_no_content_word_is_lost(words: list[str]) -> None:
    sentence = tokenize(" ".join(words), "en")
    content = [token.form for token in sentence.tokens if token.weight]
    clauses = [tokenize(clause, "en") for clause in split_clauses(sentence)]
    assert [token.form for clause in clauses for token in clause.tokens if token.weight] == content
