"""Files are parsed in child processes: one that crashes, hangs or takes too much memory fails its file only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glossator.core.errors import SourceError
from glossator.ingest.parsing.files import FileParser
from glossator.ingest.parsing.process import ParserLimits
from glossator.ingest.parsing.values import ParseContext

pytestmark = pytest.mark.slow

LIMITS = ParserLimits(cpu_seconds=1, elapsed_per_cpu_second=60, memory_bytes=1_000_000_000, result_bytes=100_000)
FAILURES = {
    "crash": "it crashed the parser: it is damaged, or needs more than 1.0 GB. Repair or split the file.",
    "exit": "it crashed the parser: it is damaged, or needs more than 1.0 GB. Repair or split the file.",
    "busy": "reading it took more than 1 seconds. Split or simplify the file.",
    "memory": "reading it needs too much memory. Split the file.",
    "much": "its text is larger than 0 MB. Split the file.",
    "bug": "the file cannot be parsed (ZeroDivisionError). Check that it is not damaged.",
    "nested": "it is nested too deeply. Simplify the file.",
    "write": "the file cannot be parsed (OSError). Check that it is not damaged.",
}


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileParser:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    return FileParser(ParseContext(str(tmp_path), "plain", 1000), LIMITS, "hostile_parsers:parse")


def test_each_failure_costs_one_file_and_says_why(parser: FileParser, tmp_path: Path) -> None:
    files = [tmp_path / name for kind in FAILURES for name in (f"{kind}.x", f"{kind}-after.x")]
    with parser:
        parser.start(files)
        for kind, reason in FAILURES.items():
            with pytest.raises(SourceError) as failure:
                parser.result(tmp_path / f"{kind}.x")
            assert str(failure.value) == reason
            assert parser.result(tmp_path / f"{kind}-after.x").title == f"{kind}-after"


def test_a_parser_that_waits_is_ended(tmp_path: Path) -> None:
    limits = ParserLimits(cpu_seconds=1, elapsed_per_cpu_second=2)
    parser = FileParser(ParseContext(str(tmp_path), "plain", 1000), limits, "hostile_parsers:parse")
    with parser, pytest.raises(SourceError) as failure:
        parser.result(tmp_path / "sleep.x")
    assert str(failure.value) == "reading it took more than 2 seconds. Split or simplify the file."


def test_time_limit_grows_with_the_size_of_a_text() -> None:
    limits = ParserLimits()
    assert [limits.cpu_seconds_for(size) for size in (0, 100, 2_000_000, 9_000_000)] == [10, 10, 30, 60]
    assert limits.cpu_seconds_for(None) == 60


def test_a_text_file_that_takes_too_long_for_its_size_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "busy.rst").write_text("short", "utf-8")
    limits = ParserLimits(text_seconds=1, elapsed_per_cpu_second=60)
    context = ParseContext(str(tmp_path), "plain", 1000)
    with FileParser(context, limits, "hostile_parsers:parse") as parser, pytest.raises(SourceError) as failure:
        parser.result(tmp_path / "busy.rst")
    assert str(failure.value) == "reading it took more than 1 seconds. Split or simplify the file."


def test_a_pdf_whose_objects_draw_each_other_costs_that_file_only(tmp_path: Path) -> None:
    """Each of twelve forms draws the next one ten times: 3 KB become 10¹¹ words."""
    pages, form = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", pages, "", "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"]
    resources = "/Resources << /Font << /F 4 0 R >> /XObject << /X {} 0 R >> >>"
    objects[2] = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R {resources.format(5)} >>"
    drawn = "BT /F 9 Tf (words) Tj ET " + "/X Do " * 10
    for number in range(5, 17):
        start = f"{form} {resources.format(number + 1)} /Length {len(drawn)} >>"
        objects.append(f"{start}\nstream\n{drawn}\nendstream")
    body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in enumerate(objects, 1))
    (tmp_path / "bomb.pdf").write_text(f"%PDF-1.7\n{body}trailer << /Size 17 /Root 1 0 R >>\n%%EOF", "ascii")
    with (
        FileParser(ParseContext(str(tmp_path), "plain", 100_000), LIMITS) as parser,
        pytest.raises(SourceError) as failure,
    ):
        parser.result(tmp_path / "bomb.pdf")
    assert "reading it" in str(failure.value)


def test_a_parser_sees_no_secret_and_prints_nothing_into_its_result(parser: FileParser, tmp_path: Path) -> None:
    with parser:
        variables = parser.result(tmp_path / "environment.x").title.split()
    assert "PATH" in variables
    assert "OPENAI_API_KEY" not in variables


def test_closing_ends_the_child_processes(parser: FileParser, tmp_path: Path) -> None:
    with parser:
        process = int(parser.result(tmp_path / "process.x").title)
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
