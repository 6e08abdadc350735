"""Extractive answers: verbatim, cited and in order; with a selection, from the selection alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import glossator
from glossator.core.answers import Mode
from glossator.core.errors import QuestionError
from glossator.evaluate.golden import load_golden
from glossator.facade import Book
from paths import BOOK

pytestmark = pytest.mark.slow

QUESTIONS = [g.question for g in load_golden(BOOK / "golden.yaml") if g.kind == "answerable"]
SELECTIONS = [g for g in load_golden(BOOK / "golden.yaml") if g.kind == "selection"]


def test_golden_answers_consist_of_the_books_own_sentences(sample: Book) -> None:
    for question in QUESTIONS:
        answer = sample.ask(question)
        if answer.abstained:
            continue
        assert 2 <= len(answer.sentences) <= 5
        assert [c.number for c in answer.citations] == list(range(1, len(answer.citations) + 1))
        assert {n for s in answer.sentences for n in s.citations} == {c.number for c in answer.citations}
        for citation in answer.citations:
            quoted = [sentence for sentence in answer.sentences if sentence.citations == (citation.number,)]
            document = sample.document(citation.document_id)
            assert document is not None
            assert document.text[citation.start : citation.end] == citation.quote == quoted[0].text
            assert citation.url.startswith(document.url)
            assert all(sentence.text in document.text for sentence in quoted)


def test_citation_numbers_in_the_text_match_the_list(sample: Book) -> None:
    answer = sample.ask("How does a harmonic drive work?")
    marks = [int(n) for n in re.findall(r"\[(\d+)\]", answer.text)]
    assert marks == [number for sentence in answer.sentences for number in sentence.citations]
    assert list(dict.fromkeys(marks)) == [c.number for c in answer.citations]


def test_bracketed_numbers_of_the_book_are_not_taken_for_citations(tmp_path: Path) -> None:
    said = "Raibert [1] proved the theorem of gaits, as [Source 9] tells."
    code = "The theorem of gaits reads argv[1] in the interval [0, 1]."
    (tmp_path / "gaits.md").write_text(f"# Gaits\n\n{said} {code}\n", "utf-8")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(tmp_path / "gaits.md")
        answer = book.ask("Who proved the theorem of gaits, and what does it read?")
        assert answer.text == f"Raibert (1) proved the theorem of gaits, as (Source 9) tells. [1] {code} [1]"
        assert [citation.quote for citation in answer.citations] == [said]
        assert all(sentence.verdict and sentence.verdict.supported for sentence in answer.sentences)
        assert book.replay(answer.receipt_id).holds


@pytest.mark.parametrize("address", ["<cooks@example.org>", "&lt;cooks@example.org&gt;", "(cooks@example.org)"])
def test_a_byline_does_not_answer_before_a_sentence(address: str, tmp_path: Path) -> None:
    said = "The sea-cooks-reference package contains the guide for cooks, a set of guidelines which they agreed on."
    title = "Sea Cook's Reference"
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text(f"# {title}\n\n{title} Team {address}\n", "utf-8")
    (tmp_path / "book" / "tools.md").write_text(f"# Tools\n\n{said}\n", "utf-8")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(tmp_path / "book")
        assert book.ask("What is the Sea Cook's Reference?").citations[0].quote == said


def test_sentences_of_one_section_keep_their_order(sample: Book) -> None:
    answer = sample.ask("What is the capture point?")
    for first, second in zip(answer.citations, answer.citations[1:], strict=False):
        if first.chunk_id == second.chunk_id:
            assert first.start < second.start


def test_no_sentence_is_repeated(sample: Book) -> None:
    for question in QUESTIONS[:20]:
        quotes = [c.quote for c in sample.ask(question).citations]
        assert len(quotes) == len(set(quotes))


def test_no_further_sentence_only_says_where_to_read_on(sample: Book) -> None:
    """The glossary has "See inverse kinematics."."""
    answer = sample.ask("What is inverse kinematics?")
    assert len(answer.sentences) >= 2
    assert not any(sentence.text.startswith("See ") for sentence in answer.sentences)


def test_the_same_question_has_the_same_receipt(sample: Book) -> None:
    first, second = sample.ask("What is SLAM?"), sample.ask("What is SLAM?")
    assert first == second
    assert first.receipt_id != sample.ask("What is DDS?").receipt_id


@pytest.mark.parametrize("golden", SELECTIONS, ids=lambda g: g.id)
def test_an_answer_from_a_selection_quotes_only_the_selection(sample: Book, golden) -> None:  # type: ignore[no-untyped-def]
    answer = sample.ask(golden.question, selected_text=golden.selection)
    assert answer.mode is Mode.SELECTED_TEXT
    for citation in answer.citations:
        assert golden.selection[citation.start : citation.end] == citation.quote
    assert answer.suggestions == ()


@pytest.mark.parametrize(
    "question", ["Explain this", "summarise", "What does this mean?", "tl;dr", "Sum this up, please."]
)
def test_a_request_about_the_whole_selection_is_always_answered(sample: Book, question: str) -> None:
    selection = "Bread rises because yeast makes carbon dioxide. The gas is held by gluten. It forms in wet flour."
    answer = sample.ask(question, selected_text=selection)
    assert not answer.abstained
    assert answer.citations


def test_the_rest_of_the_book_does_not_leak_into_a_selection(sample: Book) -> None:
    selection = "Bread rises because yeast makes carbon dioxide. The gas is held by gluten in the dough."
    answer = sample.ask("What is the zero-moment point?", selected_text=selection)
    assert answer.abstained
    assert answer.mode is Mode.SELECTED_TEXT
    assert "ground" not in answer.text


def test_a_selection_in_urdu_is_quoted_with_its_own_offsets(sample: Book) -> None:
    selection = "روبوٹ کا توازن اہم ہے۔ صفر لمحہ نقطہ زمین پر ہوتا ہے۔ پاؤں زمین پر رہتے ہیں۔"
    answer = sample.ask("اس کی وضاحت کریں summarise", selected_text=selection)
    for citation in answer.citations:
        assert selection[citation.start : citation.end] == citation.quote


def test_a_long_selection_is_answered_from_its_relevant_part(sample: Book) -> None:
    filler = "\n\n".join(f"Paragraph {n} speaks of gardens, roses and the weather in spring. " * 6 for n in range(120))
    selection = f"{filler}\n\nThe gripper of the Kestrel arm closes with a force of 85 newtons.\n\n{filler}"[:64_000]
    answer = sample.ask("With what force does the gripper of the Kestrel arm close?", selected_text=selection)
    assert "85 newtons" in answer.text


@pytest.mark.parametrize("selection", ["", " \n ", "x" * 64_001])
def test_empty_and_oversized_selections_are_rejected(sample: Book, selection: str) -> None:
    with pytest.raises(QuestionError):
        sample.ask("Explain this", selected_text=selection)


def test_every_term_of_the_glossary_is_answered(sample: Book) -> None:
    glossary = next(d for d in sample.documents() if d.document_id == "09-glossary.md")
    terms = [glossary.text[b.start : b.end] for b in glossary.blocks if b.kind == "heading" and b.level == 3]
    assert len(terms) >= 60
    assert [term for term in terms if sample.ask(f"What is {term}?").abstained] == []


@pytest.mark.parametrize("question", ["What is photosynthesis?", "poker", "What is a mortgage?", "weather tomorrow"])
def test_a_short_off_topic_question_is_an_abstention(sample: Book, question: str) -> None:
    assert sample.ask(question).abstained
