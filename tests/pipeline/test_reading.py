"""Reading for a question: how many parts of passages are read, and what is left out under load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from glossator.core.inference.load import Load
from glossator.core.inference.reading import ReadSource, SourceText
from glossator.core.question import Question
from glossator.facade import Book
from glossator.pipeline.reading import (
    EFFORT_UNDER_LOAD,
    FULL_EFFORT,
    MAX_PASSAGES,
    QuestionReading,
    joint_level,
    rescore,
    search_and_read,
    search_book,
)
from scripted_reader import ScriptedReader

CLEAR, OPEN = "What is the zero-moment point?", "Why does a biped fall over when the floor is soft?"


class CountingReader(ScriptedReader):
    """Counts the parts that are read."""

    parts = 0

    def read(self, sources: Sequence[SourceText], *, keep: bool = False) -> list[ReadSource]:
        self.parts += len(sources)
        return super().read(sources, keep=keep)


@pytest.fixture
def loaded(sample: Book, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    """The sample book while more questions are asked than there is room for."""
    monkeypatch.setattr(sample.engine, "load", Load(limit=0))
    with sample.engine.load:
        yield sample


def parts_read(book: Book, monkeypatch: pytest.MonkeyPatch, question: str, answered: float) -> int:
    reader = CountingReader(answered=answered)
    monkeypatch.setattr(book.engine, "reader", reader)
    search_and_read(book.engine, book.engine.generation(), Question(question))
    return reader.parts


@pytest.mark.parametrize(
    ("answered", "parts"),
    [(2.0, FULL_EFFORT.first_parts), (-2.0, FULL_EFFORT.max_parts), (-5.0, FULL_EFFORT.max_parts)],
)
def test_more_is_read_if_the_nearest_parts_do_not_answer(
    sample: Book, monkeypatch: pytest.MonkeyPatch, answered: float, parts: int
) -> None:
    assert parts_read(sample, monkeypatch, OPEN, answered) == parts


@pytest.mark.parametrize(
    ("answered", "parts"),
    [(2.0, EFFORT_UNDER_LOAD.first_parts), (-2.0, EFFORT_UNDER_LOAD.max_parts), (-5.0, EFFORT_UNDER_LOAD.first_parts)],
)
def test_less_is_read_under_load(loaded: Book, monkeypatch: pytest.MonkeyPatch, answered: float, parts: int) -> None:
    assert parts_read(loaded, monkeypatch, OPEN, answered) == parts


def test_nothing_is_read_under_load_if_the_search_is_sure(loaded: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    generation = loaded.engine.generation()
    levels = [search_book(loaded.engine, generation, Question(text)).chunks[0].level for text in (CLEAR, OPEN)]
    assert levels[0] > EFFORT_UNDER_LOAD.open_levels[1] > levels[1]
    assert parts_read(loaded, monkeypatch, CLEAR, answered=2.0) == 0


def test_same_question_is_read_without_load(sample: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts_read(sample, monkeypatch, CLEAR, answered=2.0) == FULL_EFFORT.first_parts


def test_nothing_is_read_if_the_book_clearly_does_not_speak_of_it(
    sample: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parts_read(sample, monkeypatch, "best recipe for lemon cake with yoghurt", answered=2.0) == 0


def test_load_is_high_only_while_more_is_asked_than_its_limit() -> None:
    load = Load(limit=1)
    with load:
        assert not load.is_high
        with load:
            assert load.is_high
    assert not load.is_high


def test_how_well_the_search_matches_says_little_about_whether_a_passage_answers() -> None:
    assert joint_level(12.0, 1.0) == joint_level(0.0, 1.0)
    assert joint_level(-25.0, 1.0) < joint_level(0.0, 1.0) < joint_level(0.0, 2.0)


def test_passage_that_was_not_read_does_not_count_in_the_mean(sample: Book) -> None:
    found = search_book(sample.engine, sample.engine.generation(), Question(CLEAR))
    first, second, *_ = found.chunks
    certain = rescore(found, QuestionReading({first.chunk.chunk_id: -4.0}, {}))
    assert {item.level for item in certain.chunks[:MAX_PASSAGES]} == {joint_level(first.level, -4.0)}
    below = rescore(found, QuestionReading({second.chunk.chunk_id: -4.0}, {}))
    assert below.chunks[0].level == joint_level(second.level, -4.0)
