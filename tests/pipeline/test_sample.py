"""Answers, citations and abstentions of the sample book."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from glossator.facade import Book


def test_answer_consists_of_cited_verbatim_sentences(sample: Book) -> None:
    answer = sample.ask("What is the zero-moment point?")
    assert not answer.abstained
    assert 2 <= len(answer.sentences) <= 5
    for citation in answer.citations:
        document = sample.document(citation.document_id)
        assert document is not None
        assert document.text[citation.start : citation.end] == citation.quote
        assert f"[{citation.number}]" in answer.text
    assert "point on the ground" in answer.text


def test_citation_url_opens_the_page_at_the_quote(sample: Book) -> None:
    citation = sample.ask("What is the zero-moment point?").citations[0]
    page, _, fragment = citation.url.partition("#")
    assert page.startswith("http://127.0.0.1:8000/book/")
    anchor, _, directive = fragment.partition(":~:text=")
    assert anchor == "zero-moment-point"
    opening = unquote(directive.split(",")[0])
    assert citation.quote.startswith(opening)


def test_out_of_scope_question_gets_suggested_sections(sample: Book) -> None:
    answer = sample.ask("How long should I boil an egg?")
    assert answer.abstained
    assert answer.mode == "no_results"
    assert answer.citations == ()
    assert answer.suggestions


@pytest.mark.parametrize(
    ("selection", "question"),
    [
        ("it falls within about a second", "How fast does it fall?"),
        ("it falls within about a second", "Explain this"),
        ("takes 3 to 5 seconds", "How long does it take?"),
        ("The motor weighs 40 kg.", "How heavy is the motor?"),
    ],
)
def test_short_selection_is_quoted(sample: Book, selection: str, question: str) -> None:
    answer = sample.ask(question, selection)
    assert answer.text == f"{selection} [1]"


@pytest.mark.parametrize("question", ["What time is it?", "Who wrote it?", "What is the capital of France?"])
def test_short_selection_without_the_answer_is_refused(sample: Book, question: str) -> None:
    assert sample.ask(question, "it falls within about a second").abstained
