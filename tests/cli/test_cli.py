"""The commands: their output, as text and as JSON, and their exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import glossator
from commands import COMMAND, CommandResult, quick_folder, run, run_in_subprocess
from glossator.cli import terminal
from glossator.cli.report import MAX_NOTES
from glossator.core.answers import Citation
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import built_in_model
from record_helpers import sample_receipt

pytestmark = pytest.mark.slow

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


def json_of(result: CommandResult) -> dict[str, object]:
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert isinstance(found, dict)
    return found


def test_ingest_json_report(book: Path, fast_tmp_path: Path) -> None:
    found = json_of(run("ingest", book, "--data-dir", fast_tmp_path / "new", "--json"))
    assert found.keys() >= {"generation", "documents", "chunks", "embeddings", "seconds"}
    assert found["documents"] == {
        "added": 1,
        "changed": 0,
        "moved": 0,
        "removed": 0,
        "unchanged": 0,
        "skipped": 0,
    }
    assert found["embeddings"] == {"made": 2, "reused": 0}


def test_ingest_prints_a_summary_and_skipped_files(book: Path, fast_tmp_path: Path) -> None:
    (fast_tmp_path / "broken.md").write_text("---\ntitle: x\n\nno end", "utf-8")
    result = run("ingest", book, fast_tmp_path / "broken.md", "--data-dir", fast_tmp_path / "new")
    assert result.failed_with(3, "broken.md", "front matter is not closed", "Add a line with ---")
    (fast_tmp_path / "good.md").write_text("# Good\n\nA page that can be read.\n", "utf-8")
    result = run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "new")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Generation 1: 1 added")
    assert "skipped" in result.out
    assert "front matter is not closed" in result.out


def test_ingest_reports_what_was_left_out_of_pages(fast_tmp_path: Path) -> None:
    (fast_tmp_path / "docs").mkdir()
    for name in ("one", "two"):
        (fast_tmp_path / "docs" / f"{name}.md").write_text(f"# Page {name}\n\n::: a.b\n\n::: a.c\n", "utf-8")
    (fast_tmp_path / "mkdocs.yml").write_text("plugins: [mkdocstrings]", "utf-8")
    found = json_of(run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data", "--json"))
    note = "2 ::: blocks left out: mkdocstrings generates their text from code."
    assert found["notes"] == [{"path": "one.md", "note": note}, {"path": "two.md", "note": note}]
    result = run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data")
    assert f"note one.md: {note}\nnote two.md: {note}\n" in result.out


def test_only_the_first_notes_are_printed(fast_tmp_path: Path) -> None:
    for number in range(MAX_NOTES + 3):
        (fast_tmp_path / f"{number}.md").write_text(f"# Page {number}\n\n::: a.b\n", "utf-8")
    result = run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data")
    assert result.out.count("mkdocstrings") == MAX_NOTES
    assert "3 more notes; --json prints all." in result.out


def test_search_json_passages(data: Path) -> None:
    found = json_of(run("search", MOON, "--data-dir", data, "--json", "--top-k", "1"))
    assert found["query"] == MOON
    assert found["generation"] == 1
    (passage,) = found["results"]  # type: ignore[misc]
    fields = "chunk_id document_id url title section heading_path anchor position start end text score version"
    assert list(passage) == fields.split()
    assert passage["url"] == "https://example.org/book/tides"


def test_ask_json_answer(data: Path) -> None:
    found = json_of(run("ask", MOON, "--data-dir", data, "--json"))
    assert found.keys() >= {"text", "sentences", "citations", "abstained", "mode", "confidence", "receipt_id"}
    citation = found["citations"][0]  # type: ignore[index]
    assert citation.keys() >= {"number", "url", "title", "section", "quote", "start", "end", "score"}
    assert (found["abstained"], found["mode"]) == (False, "full")


def test_ask_prints_sentences_with_links(data: Path) -> None:
    result = run("ask", MOON, "--data-dir", data)
    assert (result.code, result.err) == (0, "")
    assert "gravity of the Moon. [1]" in " ".join(result.out.split())
    assert "https://example.org/book/tides#tides:~:text=Tides%20are%20caused" in result.out


def test_ask_abstains_with_suggested_sections(data: Path) -> None:
    result = run("ask", "How do I file a tax return in Portugal?", "--data-dir", data)
    assert result.code == 0
    assert "does not answer" in result.out
    assert "Sections that may help:" in result.out


def test_search_applies_filters(data: Path) -> None:
    def sections(*options: str) -> list[str]:
        found = json_of(run("search", MOON, "--data-dir", data, "--json", *options))
        return sorted(passage["section"] for passage in found["results"])  # type: ignore[attr-defined]

    assert sections("--section", "Spring tides") == ["Spring tides"]
    assert sections("--chapter", "Tides", "--url-prefix", "/book/") == ["Spring tides", "Tides"]
    assert sections("--url-prefix", "https://elsewhere.org") == []


def test_search_prints_section_and_url(data: Path) -> None:
    result = run("search", "spring tides", "--data-dir", data, "--top-k", "1")
    assert "1. Tides › Spring tides" in result.out
    assert "https://example.org/book/tides#spring-tides" in result.out
    assert "No passages found" in run("search", "x", "--data-dir", data, "--section", "none").out


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_selection_offsets_with_crlf_line_ends(data: Path, fast_tmp_path: Path, source: str) -> None:
    selection = "Line one.\r\n\r\nGeysers erupt when water boils underground.\r\n"
    (fast_tmp_path / "selection.txt").write_bytes(selection.encode())
    name = "-" if source == "standard input" else str(fast_tmp_path / "selection.txt")
    arguments = ("ask", "Why do geysers erupt?", "--selection", name, "--data-dir", data, "--json")
    found = json_of(run(*arguments, stdin=selection.encode()))
    for citation in found["citations"]:  # type: ignore[attr-defined]
        assert selection[citation["start"] : citation["end"]] == citation["quote"]
    assert "Geysers erupt" in str(found["text"])


def test_control_characters_of_a_book_are_not_printed(fast_tmp_path: Path) -> None:
    (fast_tmp_path / "evil.md").write_text(
        "# Evil \x1b]0;owned\x07 [link=file:///etc/passwd]title[/link]\n\n"
        "The lighthouse \x1b[2J keeper \x9b31m lights the lamp [bold]every[/bold] evening.\n",
        "utf-8",
    )
    run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data")
    for command in ("ask", "search"):
        result = run(command, "Who lights the lamp?", "--data-dir", fast_tmp_path / "data")
        assert result.code == 0
        assert "[bold]every[/bold]" in result.out
        assert not {character for character in result.out if character < " " or "\x7f" <= character < "\xa0"} - {"\n"}


def test_output_to_a_terminal_without_unicode(data: Path) -> None:
    result = run_in_subprocess("doctor", "--data-dir", data, env={"PYTHONIOENCODING": "ascii"})
    assert (result.code, result.err) == (0, "")
    assert "\\u2713" in result.out


def test_closed_output_pipe_is_not_an_error(data: Path) -> None:
    search = subprocess.Popen(
        [*COMMAND, "search", MOON, "--data-dir", data, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
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


def test_interrupted_ingest_stops_at_once_and_keeps_the_index(fast_tmp_path: Path) -> None:
    (fast_tmp_path / "page.md").write_text(PAGE, "utf-8")
    assert run("ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data").code == 0
    for page in range(300):
        (fast_tmp_path / f"{page}.md").write_text(f"# Page {page}\n\nThe number of this page is {page}.\n", "utf-8")
    (fast_tmp_path / "data" / "ingest.lock").unlink()
    command = [*COMMAND, "ingest", fast_tmp_path, "--data-dir", fast_tmp_path / "data"]
    ingest = subprocess.Popen(command, stderr=subprocess.PIPE)
    while not (fast_tmp_path / "data" / "ingest.lock").exists() and ingest.poll() is None:
        time.sleep(0.01)
    ingest.send_signal(signal.SIGINT)
    _, errors = ingest.communicate(timeout=60)
    assert (ingest.returncode, errors) == (130, b"glossator: interrupted.\n")
    assert json_of(run("search", MOON, "--data-dir", fast_tmp_path / "data", "--json"))["generation"] == 1


def test_help_without_arguments(fast_tmp_path: Path) -> None:
    result = run()
    assert result.code == 2
    assert "Usage: glossator" in result.err
    assert run("--version").out.startswith("glossator, version ")
    module = subprocess.run(
        [sys.executable, "-m", "glossator", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout == run("--version").out
    assert "ingest" in run("--help").out


@pytest.mark.parametrize("group", ["sources", "books", "sessions", "keys"])
def test_group_without_a_command_lists(group: str, data: Path) -> None:
    for options in (["--data-dir", data], ["--json", "--data-dir", data]):
        result = run(group, *options)
        assert (result.code, result.err) == (0, "")
        assert result == run(group, "list", *options)
    assert "Commands:" in run(group, "--help").out


def test_options_before_a_command_are_refused(data: Path) -> None:
    result = run("sources", "--data-dir", data, "remove", "book")
    assert (result.code, "unexpected extra arguments" in result.err) == (2, True)


def topics(result: CommandResult) -> dict[str, dict[str, object]]:
    return {finding["topic"]: finding for finding in json.loads(result.out)}


def test_doctor_json_findings(book: Path, data: Path) -> None:
    result = run("doctor", "--data-dir", data, "--json")
    found = topics(result)
    assert result.code == 0
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


def test_doctor_prints_the_findings(data: Path) -> None:
    result = run("doctor", "--data-dir", data)
    assert result.code == 0
    assert result.out.count("✓") == 9
    assert "✗" not in result.out


def test_doctor_suggests_ingest_without_an_index(fast_tmp_path: Path) -> None:
    result = run("doctor", "--data-dir", fast_tmp_path / "nothing", "--json")
    found = topics(result)
    assert result.code == 4
    assert "not created yet" in str(found["data directory"]["why"])
    assert "glossator ingest" in str(found["index"]["why"])
    assert not found["index"]["good"]
    assert not (fast_tmp_path / "nothing").exists()


def test_doctor_reports_an_index_of_another_model(
    data: Path, fast_tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fast_tmp_path / "other").symlink_to(built_in_model())
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", str(fast_tmp_path / "other"))
    result = run("doctor", "--data-dir", data, "--json")
    found = topics(result)
    assert result.code == 4
    assert found["embeddings"]["why"] == "set by GLOSSATOR_EMBEDDER; works"
    assert "local:bge_small_en" in str(found["index"]["value"])
    assert "glossator ingest" in str(found["index"]["why"])


def test_doctor_reports_a_missing_model(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "/nowhere")
    result = run("doctor", "--data-dir", data, "--json")
    found = topics(result)
    assert result.code == 4
    assert "GLOSSATOR_EMBEDDER is '/nowhere'" in str(found["embeddings"]["value"])
    assert found["index"]["value"] == "not checked"


def test_doctor_reports_a_damaged_index(book: Path, fast_tmp_path: Path) -> None:
    run("ingest", book, "--data-dir", fast_tmp_path / "data")
    os.truncate(fast_tmp_path / "data" / "generations" / "000001" / "sentences.f16", 10)
    result = run("doctor", "--data-dir", fast_tmp_path / "data", "--json")
    assert result.code == 4
    assert "incomplete" in str(topics(result)["index"]["value"])


GOLDEN = """version: 1
questions:
  - {{id: tides, kind: answerable, question: "What causes tides?", sections: [{{page: tides.md, section: {section}}}]}}
"""


@pytest.mark.parametrize(("section", "code"), [("Tides", 0), ("Elsewhere", 1)])
def test_eval_fails_if_too_many_golden_questions_fail(data: Path, fast_tmp_path: Path, section: str, code: int) -> None:
    (fast_tmp_path / "golden.yaml").write_text(GOLDEN.format(section=section), "utf-8")
    result = run("eval", fast_tmp_path / "golden.yaml", "--data-dir", data, "--json")
    assert result.code == code
    assert [item["id"] for item in json.loads(result.out)["failed"]] == ["tides"] * code
    assert "passed" in run("eval", fast_tmp_path / "golden.yaml", "--data-dir", data).out


def test_code_in_an_answer_is_printed_as_lines() -> None:
    citation = Citation(1, "https://book.example/a", "Guide", "Install", "x", 0, 1, 0.9)
    text = "Run this: [1]\n\n```bash\npip install x\nx --help [1]\n```\n[1]\n\nThen wait. [1]"
    answer = replace(sample_receipt().answer, text=text, citations=(citation,), degraded=False)
    with terminal.console.capture() as captured:
        terminal.show_answer(answer, load_settings())
    shown = captured.get().splitlines()[:7]
    assert shown == ["Run this: [1]", "", "    pip install x", "    x --help [1]", "[1]", "", "Then wait. [1]"]


def test_sources_of_one_section_are_printed_together() -> None:
    cited = (("tides", "Spring"), ("tides", "Neap"), ("moon", "Spring"), ("tides", "Spring"))
    citations = tuple(
        Citation(number, f"https://book.example/{page}#a", "Tides", section, "x", 0, 1, 0.9)
        for number, (page, section) in enumerate(cited, 1)
    )
    answer = replace(sample_receipt().answer, text="", citations=citations, degraded=False)
    with terminal.console.capture() as captured:
        terminal.show_answer(answer, load_settings())
    lines = [line.strip() for line in captured.get().splitlines() if line.strip()]
    assert lines == [
        "[1] [4] Tides › Spring",
        "https://book.example/tides#a",
        "[2] Tides › Neap",
        "https://book.example/tides#a",
        "[3] Tides › Spring",
        "https://book.example/moon#a",
    ]
