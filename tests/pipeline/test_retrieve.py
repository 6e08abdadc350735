"""Retrieval on the sample book: order, filters, scores, duplicates."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import glossator
from glossator.core.errors import QuestionError
from glossator.core.types import Filters
from glossator.facade import Book


def test_best_section_is_first(sample: Book) -> None:
    best = sample.search("How do force sensors in the feet give the ZMP?", 5)[0]
    assert best.section == "Measuring the ZMP with force sensors"
    assert best.heading_path[0] == best.title
    assert best.anchor


def test_scores_are_between_0_and_1_and_separate_topics(sample: Book) -> None:
    inside = sample.search("What is the zero-moment point?", 20)
    outside = sample.search("best recipe for lemon cake", 20)
    assert all(0.0 <= p.score <= 1.0 for p in inside + outside)
    assert max(p.score for p in inside) > 0.8 > 0.3 > max(p.score for p in outside)


def test_search_is_deterministic(sample: Book) -> None:
    assert sample.search("friction cone", 20) == sample.search("friction cone", 20)


def test_passages_are_slices_of_their_documents(sample: Book) -> None:
    for passage in sample.search("impedance control of a gripper", 20):
        document = sample.document(passage.document_id)
        assert document is not None
        assert document.text[passage.start : passage.end] == passage.text


def test_passages_are_unique(sample: Book) -> None:
    found = [p.chunk_id for p in sample.search("robot", 50)]
    assert len(found) == len(set(found)) == 50


@pytest.mark.parametrize("prefix", ["http://127.0.0.1:8000/book/motion/", "/book/motion/"])
def test_url_prefix_filter_accepts_urls_and_paths(sample: Book, prefix: str) -> None:
    found = sample.search("robot", 20, Filters(source_url_prefix=prefix))
    assert found
    assert all("/book/motion/" in p.url for p in found)


def test_filters_are_combined_with_and(sample: Book) -> None:
    both = {"source_url_prefix": "/book/motion/", "section": "Zero-moment point"}
    assert {p.title for p in sample.search("ZMP", 20, both)} == {"Balance and the zero-moment point"}
    assert sample.search("ZMP", 20, {**both, "chapter": "Glossary"}) == []


def test_chapter_filter_accepts_categories_and_titles(sample: Book) -> None:
    category = sample.search("robot", 50, {"chapter": "Motion"})
    title = sample.search("robot", 50, {"chapter": "Balance and the zero-moment point"})
    assert {p.title for p in title} < {p.title for p in category}


def test_section_filter_includes_subsections(sample: Book) -> None:
    found = sample.search("criterion", 20, {"section": "Zero-moment point"})
    assert {p.section for p in found} > {"Zero-moment point"}


def test_duplicate_text_is_found_once(small_book: Path, tmp_path: Path) -> None:
    shutil.copy(small_book / "bread.md", small_book / "copy.md")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
        texts = [p.text for p in book.search("sourdough starter", 10)]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize(
    "question",
    ["the of and", "?", "🤖", "x" * 32_000, "צירוף מילים"],
    ids=["stop words", "mark", "emoji", "longest", "Hebrew"],
)
def test_unusual_questions_are_searched(sample: Book, question: str) -> None:
    assert len(sample.search(question, 3)) == 3


@pytest.mark.parametrize(
    "question", ["", "   \n", "x" * 32_001, "what\x00is\x00this"], ids=["empty", "blank", "oversized", "NUL"]
)
def test_invalid_question_is_rejected(sample: Book, question: str) -> None:
    with pytest.raises(QuestionError):
        sample.search(question)


@pytest.mark.parametrize("top_k", [0, -1, 101])
def test_top_k_out_of_range_is_rejected(sample: Book, top_k: int) -> None:
    with pytest.raises(QuestionError):
        sample.search("robot", top_k)


def test_top_k_passages_are_returned(sample: Book) -> None:
    assert len(sample.search("robot", 100)) == 100


def test_release_notes_come_after_guides_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "changelog.md").write_text(
        "# Changelog\n\n## 2.1.0 - 2024-05-02\n\nThe windlass of the boat now starts faster with a free chain.\n",
        "utf-8",
    )
    (tmp_path / "book" / "guide.md").write_text(
        "# Guide\n\nThe windlass of the boat starts from the bridge, and its chain must be free.\n", "utf-8"
    )
    with glossator.open(tmp_path / "data") as book:
        book.ingest(tmp_path / "book")
        assert book.search("windlass of the boat starts faster with a free chain")[0].document_id == "guide.md"
        asked = book.search("What has changed in release 2.1.0 for the windlass with a free chain?")
        assert asked[0].document_id == "changelog.md"
