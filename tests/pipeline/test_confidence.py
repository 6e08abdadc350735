"""Confidence: one definition, monotone in the scores that are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator import pipeline
from glossator.core.question import Question
from glossator.core.thresholds import confidence_level, is_low_confidence
from glossator.facade import Book
from glossator.retrieve import RELEVANCE_PASSAGES, isotonic, probability
from glossator.verification.confidence import confidence
from llm_server import LlmServer, says
from scripted_book import NOTHING, ask, data, server

__all__ = ["data", "server"]

FRACTIONS = st.floats(0, 1)
LEVELS = st.lists(st.floats(-40, 40), max_size=20)
UNANSWERABLE = "Which company built Atlas?"


@given(FRACTIONS, FRACTIONS, st.lists(FRACTIONS, min_size=1, max_size=8), st.integers(0, 8))
def test_confidence_rises_with_the_best_score(one: float, other: float, scores: list[float], withheld: int) -> None:
    low, high = sorted((one, other))
    assert confidence(low, scores, withheld) <= confidence(high, scores, withheld) <= high + 1e-4


@given(FRACTIONS, st.lists(FRACTIONS, min_size=1, max_size=8), FRACTIONS, st.integers(0, 8))
def test_confidence_rises_with_every_sentence_score(
    best: float, scores: list[float], better: float, withheld: int
) -> None:
    raised = [max(scores[0], better), *scores[1:]]
    assert confidence(best, scores, withheld) <= confidence(best, raised, withheld)


@given(FRACTIONS, st.lists(FRACTIONS, min_size=1, max_size=8), st.integers(0, 8))
def test_confidence_falls_with_every_withheld_claim(best: float, scores: list[float], withheld: int) -> None:
    assert confidence(best, scores, withheld + 1) <= confidence(best, scores, withheld)


@given(FRACTIONS, st.integers(0, 8))
def test_nothing_shown_means_no_confidence(best: float, withheld: int) -> None:
    assert confidence(best, [], withheld) == 0.0


@given(LEVELS)
def test_scores_fall_with_rank(levels: list[float]) -> None:
    scores = [probability(level) for level in isotonic(levels)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(levels)


@given(LEVELS.filter(bool), st.data())
def test_scores_rise_with_every_relevance(levels: list[float], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(levels) - 1))
    raised = [level + 3.0 * (n == at) for n, level in enumerate(levels)]
    assert all(before <= after + 1e-9 for before, after in zip(isotonic(levels), isotonic(raised), strict=True))


@given(LEVELS)
def test_scores_do_not_depend_on_how_many_are_asked_for(levels: list[float]) -> None:
    assert isotonic(levels)[:RELEVANCE_PASSAGES] == isotonic(levels[:RELEVANCE_PASSAGES])


@pytest.mark.parametrize("question", ["What is inverse kinematics?", "How tall is a person?", UNANSWERABLE])
def test_confidence_does_not_contradict_the_scores(sample: Book, question: str) -> None:
    found = sample._run(pipeline.answer(sample.engine, Question(question)))
    scores, answer = [passage.score for passage in found.passages], found.answer
    assert scores == sorted(scores, reverse=True)
    assert answer.confidence <= scores[0]
    assert answer.abstained == (scores[0] < 0.3)
    assert confidence_level(answer.confidence) != "High" or scores[0] > 0.8


def test_question_that_no_passage_answers_is_refused(sample: Book) -> None:
    answer = sample.ask(UNANSWERABLE)
    assert (answer.abstained, answer.confidence) == (True, 0.0)
    assert answer.suggestions


@pytest.mark.parametrize("score", [0.3, 0.4, 0.4999])
def test_low_confidence_is_a_best_score_of_0_3_to_0_5(score: float) -> None:
    assert is_low_confidence(score)
    assert confidence_level(confidence(score, [1.0], 0)) == "Low"


@pytest.mark.parametrize("score", [0.0, 0.1, 0.2999, 0.5, 0.9])
def test_no_other_best_score_is_low_confidence(score: float) -> None:
    assert not is_low_confidence(score)


@pytest.mark.slow
@pytest.mark.parametrize(
    "refusal",
    [
        "NOT FOUND",
        "The book does not answer this question.",
        "I'm sorry, but I can't help with that.",
        "I don't know.",
        "As an AI language model, I am unable to discuss tides.",
    ],
)
@pytest.mark.parametrize("selection", [None, "Spring tides occur at new moon and at full moon."])
async def test_refusal_of_a_model_is_never_certain(
    data: Path, server: LlmServer, refusal: str, selection: str | None
) -> None:
    answer = await ask(data, server, says(refusal), selection=selection)
    assert answer.confidence < 0.8
    assert answer.abstained or answer.unsupported_claims
    assert not answer.abstained or answer.confidence == 0.0


async def test_abstention_has_no_confidence(data: Path, server: LlmServer) -> None:
    assert (await ask(data, server, NOTHING)).confidence == 0.0
