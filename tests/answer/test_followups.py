"""Which questions depend on the previous one, and what they are searched with."""

from __future__ import annotations

import pytest

from glossator.answer.followups import depends_on_previous, standalone_question

DEPENDENT = """
Why?|Why is that?|And for stairs?|What about stairs?|How fast is it?|What is its unit?|Who invented it?|Tell me more|
Does that apply to wheeled robots?|How does it differ from the capture point?|What causes this?|
Does the Moon affect them?|
Which one is better?|What are the advantages?|Does the same apply to stairs?|What is the difference between the two?|
Can you elaborate?|Tell me more about the second method|Summarise that|Can you give an example?|Und warum ist das so?|
What is the difference between them?
"""
STANDALONE = """
What is the zero-moment point?|What is balance, and how is it kept?|What does this book say about legs?|
Which robots that walk use the zero-moment point?|Is there a limit on torque?|What are the stop categories?|
Why do spring tides occur?|Why is bread baked at 230 degrees?|Why does ROS use DDS?|
Is it possible to bake bread without yeast?|How long does it take to bake bread?|
What does it mean to calibrate a camera?|
Is it true that the Sun contributes 46 percent?|So what is a digital twin?|Warum gibt es Gezeiten?|
Explain inverse kinematics|How do robots that fall protect the head?
"""


def questions(lines: str) -> list[str]:
    return [question.strip() for question in lines.replace("\n", "").split("|")]


@pytest.mark.parametrize("question", questions(DEPENDENT))
def test_a_dependent_question(question: str) -> None:
    assert depends_on_previous(question)


@pytest.mark.parametrize("question", questions(STANDALONE))
def test_a_standalone_question(question: str) -> None:
    assert not depends_on_previous(question)


def test_a_question_is_searched_with_those_it_depends_on_and_no_others() -> None:
    before = ["What is bread?", "What are neap tides?", "How large is their range?"]
    assert standalone_question("Why is that?", before) == "What are neap tides? How large is their range? Why is that?"
    assert standalone_question("And in winter?", before[:2]) == "What are neap tides? And in winter?"
    assert standalone_question("What is sourdough?", before) == "What is sourdough?"
    assert standalone_question("Why?", []) == "Why?"


def test_a_very_long_question_is_standalone() -> None:
    assert not depends_on_previous("Why is it so? " * 2_000)
