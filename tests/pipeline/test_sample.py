"""The sample book answers, cites and abstains."""

from __future__ import annotations

from urllib.parse import unquote

from glossator.facade import Book


def test_the_zero_moment_point_is_answered_with_verbatim_cited_sentences(sample: Book) -> None:
    answer = sample.ask("What is the zero-moment point?")
    assert not answer.abstained
    assert 2 <= len(answer.sentences) <= 5
    for citation in answer.citations:
        document = sample.document(citation.document_id)
        assert document is not None
        assert document.text[citation.start : citation.end] == citation.quote
        assert f"[{citation.number}]" in answer.text
    assert "point on the ground" in answer.text


def test_a_citation_opens_the_page_at_its_words(sample: Book) -> None:
    citation = sample.ask("What is the zero-moment point?").citations[0]
    page, _, fragment = citation.url.partition("#")
    assert page.startswith("http://127.0.0.1:8000/book/")
    anchor, _, directive = fragment.partition(":~:text=")
    assert anchor == "zero-moment-point"
    opening = unquote(directive.split(",")[0])
    assert citation.quote.startswith(opening)


def test_a_question_beyond_the_book_is_refused_with_sections_to_look_at(sample: Book) -> None:
    answer = sample.ask("How long should I boil an egg?")
    assert answer.abstained
    assert answer.mode == "no_results"
    assert answer.citations == ()
    assert answer.suggestions
