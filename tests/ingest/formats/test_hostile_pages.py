"""Pages of Markdown, MDX, HTML and text are parsed in child processes: one that ends them costs that page only."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from glossator.core.book.sources import Layout
from glossator.core.errors import ParserUnavailable, SourceError
from glossator.ingest.layouts.page import READABLE_SUFFIXES
from glossator.ingest.parsing import files, parsers
from glossator.ingest.parsing.files import FileParser
from glossator.ingest.parsing.pool import ParserPool
from glossator.ingest.parsing.process import ParserLimits
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.read import SourceContents, read_source
from paths import BOOK

LIMITS = ParserLimits(cpu_seconds=1, elapsed_per_cpu_second=60, memory_bytes=1_000_000_000)
REASONS = {
    "crash.md": "it crashed the parser: it is damaged, or needs more than 1.0 GB. Repair or split the file.",
    "exit.mdx": "it crashed the parser: it is damaged, or needs more than 1.0 GB. Repair or split the file.",
    "busy.md": "reading it took more than 1 seconds. Split or simplify the file.",
    "memory.md": "reading it needs too much memory. Split the file.",
    "nested.html": "it is nested too deeply. Simplify the file.",
    "bug.txt": "the file cannot be parsed (ZeroDivisionError). Check that it is not damaged.",
}


def read_in_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SourceContents:
    parser = partial(FileParser, limits=LIMITS, parser="hostile_parsers:parse_page")
    monkeypatch.setattr("glossator.ingest.read.FileParser", parser)
    return read_source(str(folder), "https://x.org", 10_000_000, Layout.PLAIN)


def test_a_page_that_ends_its_process_is_skipped_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in REASONS:
        (tmp_path / name).write_text("Words of a hostile page.", "utf-8")
        (tmp_path / f"{name.partition('.')[0]}-after.md").write_text(f"# After {name}\n\nWords.", "utf-8")
    contents = read_in_processes(tmp_path, monkeypatch)
    assert {Path(skip.path).name: skip.reason for skip in contents.skipped} == REASONS
    assert [d.title for d in contents.documents] == [f"After {name}" for name in sorted(REASONS)]


def test_a_book_is_read_as_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_source(str(BOOK), None, 10_000_000)
    monkeypatch.setattr(files, "_BATCH_BYTES", 20_000)
    monkeypatch.setattr("glossator.ingest.read.FileParser", FileParser)
    assert read_source(str(BOOK), None, 10_000_000) == expected


def test_a_small_source_needs_one_process(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.md" for number in range(10)]
    with FileParser(ParseContext(str(tmp_path), "plain", 1000), LIMITS, "hostile_parsers:parse_process") as parser:
        parser.start(paths)
        assert len({parser.result(path).title for path in paths}) == 1


def test_a_process_that_cannot_be_started_is_an_error_of_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "missing"))
    with FileParser(ParseContext(str(tmp_path), "plain", 1000)) as parser:
        parser.start([tmp_path / "a.md", tmp_path / "b.md"])
        for name in ("a.md", "b.md"):
            with pytest.raises(ParserUnavailable, match=r"No process can be started .*No such file or directory"):
                parser.result(tmp_path / name)


def test_a_result_of_another_form_is_an_error(tmp_path: Path) -> None:
    context = ParseContext(str(tmp_path), "plain", 1000)
    with ParserPool("hostile_parsers:parse", context, lambda values: values["missing"], LIMITS) as pool:
        (future,) = pool.submit([(str(tmp_path / "a.md"), None)])
        with pytest.raises(SourceError, match="no valid result"):
            future.result()


def test_every_readable_format_has_a_parser() -> None:
    assert set(parsers._PARSERS) == READABLE_SUFFIXES
