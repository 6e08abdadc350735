"""Books in other languages and scripts: keywords alone find the right passage; an unsuitable model is reported."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import run
from glossator.core.book.manifest import FORMAT
from glossator.core.question import Question
from glossator.core.text.folding import search_text
from glossator.core.types import Filters
from glossator.facade import Book
from glossator.pipeline.sources import language_of, language_warning
from glossator.retrieve import retrieve

DATA = Path(__file__).parents[1] / "data" / "languages.toml"
LANGUAGES = tomllib.loads(DATA.read_text("utf-8"))
QUESTIONS = [
    (language, f"{language}/{number}.md", question)
    for language, book in LANGUAGES.items()
    for number, passage in enumerate(book["passages"])
    for question in passage["questions"]
]
TERMS_OF_FORMAT = (3, "8e876d7af967fe34")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """A book with a folder for each language, and in it a page for each passage."""
    folder = tmp_path_factory.mktemp("languages")
    for language, texts in LANGUAGES.items():
        (folder / "book" / language).mkdir(parents=True)
        for number, passage in enumerate(texts["passages"]):
            (folder / "book" / language / f"{number}.md").write_text(f"# Page\n\n{passage['text']}\n", "utf-8")
    with glossator.open(folder / "data") as opened:
        opened.ingest(folder / "book")
        yield opened


@pytest.mark.parametrize(("language", "page", "question"), QUESTIONS)
def test_keywords_alone_find_the_passage(book: Book, language: str, page: str, question: str) -> None:
    generation = book.engine.generation()
    asked = Question(question, filters=Filters(source_url_prefix=f"/book/{language}/"))
    found = retrieve(None, generation.index, generation.documents, asked, 1)
    assert found.passages[0].document_id == page


def test_report_and_doctor_name_a_language_that_the_model_does_not_support(tmp_path: Path) -> None:
    folder, data = tmp_path / "book", tmp_path / "data"
    folder.mkdir()
    (folder / "page.md").write_text("\n\n".join(p["text"] for p in LANGUAGES["urdu"]["passages"]), "utf-8")
    report = json.loads(run("ingest", folder, "--data-dir", data, "--json").out)
    [note] = report["notes"]
    assert note["note"].startswith("the text is Urdu, but the embedding model supports only English")
    assert "GLOSSATOR_EMBEDDER" in note["note"]
    result = run("doctor", "--data-dir", data, "--json")
    [finding] = [each for each in json.loads(result.out) if each["topic"] == "language"]
    assert finding["is_warning"]
    assert finding["why"] == note["note"]
    assert "! language" in run("doctor", "--data-dir", data).out.replace("  ", " ")


def test_doctor_warns_of_each_source_in_a_language_that_the_model_does_not_know(tmp_path: Path) -> None:
    data = tmp_path / "data"
    texts = {
        language: "\n\n".join(p["text"] for p in LANGUAGES[language]["passages"]) for language in ("urdu", "hindi")
    }
    texts["english"] = "The pump runs until the tank is full, and then the valve is closed by the spring.\n\n" * 40
    for language, text in texts.items():
        (tmp_path / language).mkdir()
        (tmp_path / language / "page.md").write_text(f"# {language}\n\n{text}\n", "utf-8")
    run("ingest", *(tmp_path / language for language in texts), "--data-dir", data)
    result = json.loads(run("doctor", "--data-dir", data, "--json").out)
    found = {each["value"]: each["why"].partition(",")[0] for each in result if each["topic"] == "language"}
    assert found == {"urdu": "the text is Urdu", "hindi": "the text is Hindi"}


def test_an_english_book_is_not_warned_of(sample: Book) -> None:
    engine = sample.engine
    language = language_of(engine.generation().documents.all())
    assert engine.generation().manifest.languages == (language,) == ("en",)
    assert language_warning(language, engine.embedder) == ""


def test_the_format_of_the_index_changes_with_its_terms() -> None:
    """An index of other terms would be searched wrongly: increase FORMAT, then put the new pair here."""
    texts = " ".join(passage["text"] for book in LANGUAGES.values() for passage in book["passages"])
    terms = hashlib.sha256(search_text(texts).encode()).hexdigest()[:16]
    assert (FORMAT, terms) == TERMS_OF_FORMAT
