"""The Python interface: open, ingest, search, ask, and use inside a running event loop."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from glossator import Book, Filters
from glossator.core.errors import QuestionError

MOON = "What causes tides?"


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """A book of two pages, open; treat it as read-only."""
    folder = tmp_path_factory.mktemp("tides")
    (folder / "tides.md").write_text(
        "# Tides\n\nTides are caused mainly by the gravity of the Moon. The Sun contributes half as much.\n\n"
        "## Spring tides\n\nSpring tides occur at new moon and at full moon. They have the largest range.\n",
        "utf-8",
    )
    (folder / "bread.md").write_text(
        "# Bread\n\nA starter holds wild yeast and bacteria. It must be fed with flour every day.\n", "utf-8"
    )
    with glossator.open(folder / ".data") as book:
        book.ingest(folder, base_url="https://example.org/book")
        yield book


def test_passages_are_slices_of_their_documents(tides: Book) -> None:
    passages = tides.search(MOON, top_k=2)
    assert len(passages) == 2
    for passage in passages:
        document = tides.document(passage.document_id)
        assert document is not None
        assert document.text[passage.start : passage.end] == passage.text
        assert 0 <= passage.score <= 1


def test_answer_has_the_documented_fields(tides: Book) -> None:
    answer = tides.ask(MOON)
    names = {field.name for field in dataclasses.fields(answer)}
    assert names >= {"text", "sentences", "citations", "abstained", "mode", "confidence", "receipt_id"}
    cited = {field.name for field in dataclasses.fields(answer.citations[0])}
    assert cited >= {"number", "url", "title", "section", "quote", "start", "end", "score"}


@pytest.mark.parametrize(
    "filters", [Filters(section="Spring tides"), {"section": "Spring tides"}], ids=["value", "mapping"]
)
def test_filters_as_a_value_or_a_mapping(tides: Book, filters: Filters | dict[str, str]) -> None:
    assert [passage.section for passage in tides.search(MOON, filters=filters)] == ["Spring tides"]


def test_error_names_the_unknown_filter_and_the_known_ones(tides: Book) -> None:
    with pytest.raises(QuestionError, match=r"Unknown filter: sectoin.*source_url_prefix, section, chapter"):
        tides.search(MOON, filters={"sectoin": "Tides"})


def test_selection_is_the_only_source(tides: Book) -> None:
    selection = "Geysers erupt when water boils underground.\r\n\r\nThe steam pushes the water up through a vent."
    answer = tides.ask("Why do geysers erupt?", selected_text=selection)
    assert not answer.abstained
    for citation in answer.citations:
        assert selection[citation.start : citation.end] == citation.quote
    assert "Moon" not in tides.ask(MOON, selected_text=selection).text


def test_selection_needs_no_index(tmp_path: Path) -> None:
    with glossator.open(tmp_path / "empty") as book:
        answer = book.ask("Why do geysers erupt?", selected_text="Geysers erupt when water boils underground.")
    assert answer.text.startswith("Geysers erupt")


async def test_ask_inside_a_running_event_loop(tides: Book) -> None:
    assert tides.search(MOON, 1)[0].title == "Tides"
    assert "Moon" in tides.ask(MOON).text


async def test_ingest_inside_a_running_event_loop(small_book: Path, tmp_path: Path) -> None:
    with glossator.open(tmp_path / "data") as book:
        assert book.ingest(small_book).generation == 1


def test_documents_are_in_reading_order(tides: Book) -> None:
    assert [document.document_id for document in tides.documents()] == ["bread.md", "tides.md"]
    assert tides.document("nowhere.md") is None


def test_closed_book_reopens_on_use(tides: Book) -> None:
    tides.close()
    assert tides.search(MOON, 1)[0].title == "Tides"


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "x" * 40_000], ids=["empty", "spaces", "blank", "oversized"])
def test_empty_or_oversized_question_is_rejected(tides: Book, question: str) -> None:
    with pytest.raises(QuestionError):
        tides.ask(question)


@pytest.mark.parametrize("top_k", [0, -1, 101])
def test_top_k_out_of_range_is_rejected(tides: Book, top_k: int) -> None:
    with pytest.raises(QuestionError, match="1 to 100"):
        tides.search(MOON, top_k)


@pytest.mark.parametrize("selection", ["", " \n ", "x" * 64_001], ids=["empty", "blank", "oversized"])
def test_empty_or_oversized_selection_is_rejected(tides: Book, selection: str) -> None:
    with pytest.raises(QuestionError):
        tides.ask("Explain this", selected_text=selection)


def test_nul_is_rejected(tides: Book) -> None:
    with pytest.raises(QuestionError, match="NUL"):
        tides.ask("What causes\x00 tides?")
    with pytest.raises(QuestionError, match="NUL"):
        tides.ask("Why do geysers erupt?", selected_text="Geysers erupt when\x00 water boils underground.")


def test_lone_surrogate_in_a_question_is_rejected(tides: Book) -> None:
    with pytest.raises(QuestionError):
        tides.ask("What causes \ud800 tides?")


def test_lone_surrogate_in_a_selection_is_rejected(tides: Book) -> None:
    with pytest.raises(QuestionError):
        tides.ask("Why do geysers erupt?", selected_text="Geysers \udcff erupt when water boils underground.")


def test_import_loads_no_heavy_packages() -> None:
    code = (
        "import sys, glossator;"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'qdrant_edge', 'pydantic', 'rich', 'yaml', 'fastapi'};"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys();"
        "assert callable(glossator.open)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", glossator.__all__)
def test_public_names_can_be_imported(name: str) -> None:
    assert getattr(glossator, name)


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        glossator.nonsense  # noqa: B018 - the lookup is the test


def test_follow_up_to_a_very_long_question_is_answered(tides: Book) -> None:
    long = (f"{MOON} " * 3000)[:31_990]
    tides.ask(long, session_id="long")
    assert tides.ask("Why is that?", session_id="long").session_id == "long"
