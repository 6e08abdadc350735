"""Golden questions: the sample book passes them, and the file is validated."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from glossator import pipeline
from glossator.core.errors import SourceError
from glossator.evaluate.golden import load_golden, summarise
from glossator.facade import Book
from paths import BOOK

pytestmark = pytest.mark.slow

GOLDEN = BOOK / "golden.yaml"


def test_sample_book_passes_its_golden_questions(sample: Book) -> None:
    summary = summarise(asyncio.run(pipeline.evaluate(sample.engine, load_golden(GOLDEN))))
    assert summary.section_in_top_5 >= 0.95
    assert summary.section_at_1 >= 0.80
    assert summary.out_of_scope_abstained >= 0.95
    assert summary.answerable_abstained <= 0.05
    assert summary.selection_right >= 0.90


def test_golden_file_has_enough_questions_of_each_kind() -> None:
    questions = load_golden(GOLDEN)
    kinds = [question.kind for question in questions]
    assert len({question.id for question in questions}) == len(questions) >= 60
    assert kinds.count("answerable") >= 40
    assert kinds.count("out_of_scope") >= 10
    assert kinds.count("selection") >= 10


def test_pages_and_sections_of_the_golden_file_exist(sample: Book) -> None:
    pages = {d.document_id: d for d in sample.documents()}
    for question in load_golden(GOLDEN):
        for ref in [*question.sections, *([question.source] if question.source else [])]:
            page = pages[ref.page]
            headings = {" ".join(page.text[b.start : b.end].split()) for b in page.blocks if b.kind == "heading"}
            assert ref.section.replace("`", "") in headings | {page.title}, question.id


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version: 1\nquestions:\n- {id: a, kind: sometimes, question: b}", "kind"),
        ("version: 2\nquestions: []", "version"),
        ("version: 1\nquestions: [", "YAML"),
        ("- 1", "valid dictionary"),
    ],
)
def test_invalid_golden_file_fails_with_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "golden.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(SourceError, match=problem) as caught:
        load_golden(file)
    assert "\n" not in str(caught.value)
