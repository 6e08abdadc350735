"""The command line: what each command prints, in JSON and for people, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import START, Outcome, quick_folder, run, run_alone
from glossator.pipeline.wiring import built_in_model

MOON = "What causes tides?"
PAGE = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range.
"""


@pytest.fixture(scope="module")
def book() -> Iterator[Path]:
    """A folder with one page; its data directory is `data` beside it."""
    with quick_folder() as folder:
        (folder / "book").mkdir()
        (folder / "book" / "tides.md").write_text(PAGE, "utf-8")
        with glossator.open(folder / "data") as opened:
            opened.ingest(folder / "book", base_url="https://example.org/book")
        yield folder / "book"


@pytest.fixture(scope="module")
def data(book: Path) -> Path:
    return book.parent / "data"


def report(outcome: Outcome) -> dict[str, object]:
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert isinstance(found, dict)
    return found


def test_ingest_reports_in_the_promised_shape(book: Path, room: Path) -> None:
    found = report(run("ingest", book, "--data-dir", room / "new", "--json"))
    assert found.keys() >= {"generation", "documents", "chunks", "embeddings", "seconds"}
    assert found["documents"] == {"added": 1, "changed": 0, "removed": 0, "unchanged": 0, "skipped": 0}
    assert found["embeddings"] == {"made": 2, "reused": 0}


def test_ingest_tells_people_what_it_did_and_what_it_left_out(book: Path, room: Path) -> None:
    (room / "broken.md").write_text("---\ntitle: x\n\nno end", "utf-8")
    outcome = run("ingest", book, room / "broken.md", "--data-dir", room / "new")
    assert outcome.failed_with(3, "broken.md", "front matter is not closed", "Add a line with ---")
    (room / "good.md").write_text("# Good\n\nA page that can be read.\n", "utf-8")
    outcome = run("ingest", room, "--data-dir", room / "new")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Generation 1: 1 added")
    assert "left out" in outcome.out
    assert "front matter is not closed" in outcome.out


def test_search_gives_passages_in_the_promised_shape(data: Path) -> None:
    found = report(run("search", MOON, "--data-dir", data, "--json", "--top-k", "1"))
    assert found["query"] == MOON
    assert found["generation"] == 1
    (passage,) = found["results"]  # type: ignore[misc]
    fields = "chunk_id document_id url title section heading_path anchor position start end text score"
    assert list(passage) == fields.split()
    assert passage["url"] == "https://example.org/book/tides"


def test_ask_gives_an_answer_in_the_promised_shape(data: Path) -> None:
    found = report(run("ask", MOON, "--data-dir", data, "--json"))
    assert found.keys() >= {"text", "sentences", "citations", "abstained", "mode", "confidence", "receipt_id"}
    citation = found["citations"][0]  # type: ignore[index]
    assert citation.keys() >= {"number", "url", "title", "section", "quote", "start", "end", "score"}
    assert (found["abstained"], found["mode"]) == (False, "full")


def test_ask_prints_sentences_with_links_for_people(data: Path) -> None:
    outcome = run("ask", MOON, "--data-dir", data)
    assert (outcome.code, outcome.err) == (0, "")
    assert "gravity of the Moon. [1]" in " ".join(outcome.out.split())
    assert "https://example.org/book/tides#tides:~:text=Tides%20are%20caused" in outcome.out


def test_ask_abstains_with_sections_to_look_at(data: Path) -> None:
    outcome = run("ask", "How do I file a tax return in Portugal?", "--data-dir", data)
    assert outcome.code == 0
    assert "does not answer" in outcome.out
    assert "Nearest sections:" in outcome.out


def test_filters_reach_the_search(data: Path) -> None:
    def sections(*options: str) -> list[str]:
        found = report(run("search", MOON, "--data-dir", data, "--json", *options))
        return sorted(passage["section"] for passage in found["results"])  # type: ignore[attr-defined]

    assert sections("--section", "Spring tides") == ["Spring tides"]
    assert sections("--chapter", "Tides", "--url-prefix", "/book/") == ["Spring tides", "Tides"]
    assert sections("--url-prefix", "https://elsewhere.org") == []


def test_search_shows_people_where_passages_stand(data: Path) -> None:
    outcome = run("search", "spring tides", "--data-dir", data, "--top-k", "1")
    assert "1. Tides › Spring tides" in outcome.out
    assert "https://example.org/book/tides#spring-tides" in outcome.out
    assert "Nothing found" in run("search", "x", "--data-dir", data, "--section", "none").out


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_selection_keeps_its_offsets_with_any_line_ends(data: Path, room: Path, source: str) -> None:
    selection = "Line one.\r\n\r\nGeysers erupt when water boils underground.\r\n"
    (room / "selection.txt").write_bytes(selection.encode())
    name = "-" if source == "standard input" else str(room / "selection.txt")
    arguments = ("ask", "Why do geysers erupt?", "--selection", name, "--data-dir", data, "--json")
    found = report(run(*arguments, stdin=selection.encode()))
    for citation in found["citations"]:  # type: ignore[attr-defined]
        assert selection[citation["start"] : citation["end"]] == citation["quote"]
    assert "Geysers erupt" in str(found["text"])


def test_a_hostile_book_cannot_command_the_terminal(room: Path) -> None:
    (room / "evil.md").write_text(
        "# Evil \x1b]0;owned\x07 [link=file:///etc/passwd]title[/link]\n\n"
        "The lighthouse \x1b[2J keeper \x9b31m lights the lamp [bold]every[/bold] evening.\n",
        "utf-8",
    )
    run("ingest", room, "--data-dir", room / "data")
    for command in ("ask", "search"):
        outcome = run(command, "Who lights the lamp?", "--data-dir", room / "data")
        assert outcome.code == 0
        assert "[bold]every[/bold]" in outcome.out
        assert not {character for character in outcome.out if character < " " or "\x7f" <= character < "\xa0"} - {"\n"}


def test_output_that_the_terminal_cannot_show_is_no_crash(data: Path) -> None:
    outcome = run_alone("doctor", "--data-dir", data, env={"PYTHONIOENCODING": "ascii"})
    assert (outcome.code, outcome.err) == (0, "")
    assert "\\u2713" in outcome.out


def test_a_reader_that_leaves_early_is_no_crash(data: Path) -> None:
    search = subprocess.Popen(
        [*START, "search", MOON, "--data-dir", data, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert search.stdout is not None
    search.stdout.close()
    assert search.stderr is not None
    with search.stderr:
        assert search.stderr.read() == b""
    assert search.wait() == 1


def test_ask_imports_neither_an_llm_library_nor_a_web_framework(data: Path) -> None:
    code = (
        "import sys; from glossator.cli.main import main; main();"
        "unwanted = {'openai', 'agents', 'fastapi', 'starlette', 'uvicorn', 'torch'} & sys.modules.keys();"
        "sys.exit(f'imported: {unwanted}' if unwanted else 0)"
    )
    command = [sys.executable, "-c", code, "ask", MOON, "--data-dir", data]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Moon" in done.stdout


def test_an_interrupted_ingest_ends_at_once_and_leaves_the_index(room: Path) -> None:
    (room / "page.md").write_text(PAGE, "utf-8")
    assert run("ingest", room, "--data-dir", room / "data").code == 0
    for page in range(300):
        (room / f"{page}.md").write_text(f"# Page {page}\n\nThe number of this page is {page}.\n", "utf-8")
    (room / "data" / "ingest.lock").unlink()
    ingest = subprocess.Popen([*START, "ingest", room, "--data-dir", room / "data"], stderr=subprocess.PIPE)
    while not (room / "data" / "ingest.lock").exists() and ingest.poll() is None:
        time.sleep(0.01)
    ingest.send_signal(signal.SIGINT)
    _, errors = ingest.communicate(timeout=60)
    assert (ingest.returncode, errors) == (130, b"glossator: interrupted.\n")
    assert report(run("search", MOON, "--data-dir", room / "data", "--json"))["generation"] == 1


def test_no_arguments_show_the_help(room: Path) -> None:
    outcome = run()
    assert outcome.code == 2
    assert "Usage: glossator" in outcome.err
    assert run("--version").out.startswith("glossator, version ")
    assert "ingest" in run("--help").out


def topics(outcome: Outcome) -> dict[str, dict[str, object]]:
    return {finding["topic"]: finding for finding in json.loads(outcome.out)}


def test_doctor_shows_what_is_active_and_why(book: Path, data: Path) -> None:
    outcome = run("doctor", "--data-dir", data, "--json")
    found = topics(outcome)
    assert outcome.code == 0
    assert list(found) == [
        *("data directory", "embeddings", "generation", "index", "source"),
        *("checks", "answers", "storage", "records"),
    ]
    assert all(finding["good"] for finding in found.values())
    assert "bge_small_en" in str(found["embeddings"]["value"])
    assert "384 dimensions" in str(found["embeddings"]["value"])
    assert found["generation"]["value"] == "1"
    assert found["index"]["value"] == "1 documents, 2 chunks"
    assert found["source"]["value"] == str(book)
    assert all(finding["why"] for finding in found.values())


def test_doctor_shows_people_the_same(data: Path) -> None:
    outcome = run("doctor", "--data-dir", data)
    assert outcome.code == 0
    assert outcome.out.count("✓") == 9
    assert "✗" not in outcome.out


def test_doctor_before_the_first_ingest_names_the_command(room: Path) -> None:
    outcome = run("doctor", "--data-dir", room / "nothing", "--json")
    found = topics(outcome)
    assert outcome.code == 4
    assert "not made yet" in str(found["data directory"]["why"])
    assert "glossator ingest" in str(found["index"]["why"])
    assert not found["index"]["good"]
    assert not (room / "nothing").exists()


def test_doctor_names_another_model(data: Path, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "other").symlink_to(built_in_model())
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(room / "other"))
    outcome = run("doctor", "--data-dir", data, "--json")
    found = topics(outcome)
    assert outcome.code == 4
    assert found["embeddings"]["why"] == "set by GLOSSATOR_EMBEDDER; it embeds"
    assert "local:bge_small_en" in str(found["index"]["value"])
    assert "glossator ingest" in str(found["index"]["why"])


def test_doctor_names_a_missing_model(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "/nowhere")
    outcome = run("doctor", "--data-dir", data, "--json")
    found = topics(outcome)
    assert outcome.code == 4
    assert "GLOSSATOR_EMBEDDER is '/nowhere'" in str(found["embeddings"]["value"])
    assert found["index"]["value"] == "not looked at"


def test_doctor_names_a_damaged_index(book: Path, room: Path) -> None:
    run("ingest", book, "--data-dir", room / "data")
    os.truncate(room / "data" / "generations" / "000001" / "sentences.f16", 10)
    outcome = run("doctor", "--data-dir", room / "data", "--json")
    assert outcome.code == 4
    assert "incomplete" in str(topics(outcome)["index"]["value"])


GOLDEN = """version: 1
questions:
  - {{id: tides, kind: answerable, question: "What causes tides?", sections: [{{page: tides.md, section: {section}}}]}}
"""


@pytest.mark.parametrize(("section", "code"), [("Tides", 0), ("Elsewhere", 1)])
def test_eval_fails_when_too_many_golden_questions_fail(data: Path, room: Path, section: str, code: int) -> None:
    (room / "golden.yaml").write_text(GOLDEN.format(section=section), "utf-8")
    outcome = run("eval", room / "golden.yaml", "--data-dir", data, "--json")
    assert outcome.code == code
    assert [item["id"] for item in json.loads(outcome.out)["failed"]] == ["tides"] * code
    assert "passed" in run("eval", room / "golden.yaml", "--data-dir", data).out
