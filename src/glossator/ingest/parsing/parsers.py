"""The parser of each format that is parsed in a child process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from glossator.ingest.parsing.values import ParseContext, ParsedFile, ParsedPage


def parse_file(path: Path, context: ParseContext) -> ParsedFile:
    """The pages of a file, by the ending of its name."""
    return _PARSERS[path.suffix.lower()](path, context)


def _epub(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.epub.read import read_epub

    return read_epub(path, context.max_bytes)


def _rst(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.rst.read import read_rst

    return ParsedFile((ParsedPage(read_rst(path, context)),))


def _pdf(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.pdf.read import read_pdf

    return read_pdf(path, context.max_bytes)


_PARSERS: dict[str, Callable[[Path, ParseContext], ParsedFile]] = {
    ".epub": _epub,
    ".pdf": _pdf,
    ".rst": _rst,
}
