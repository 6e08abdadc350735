"""The parser of each format; all of them run in a child process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from glossator.ingest.files import read_text
from glossator.ingest.parsing.values import ParseContext, ParsedFile, ParsedPage, file_to_json


def file_response(path: str, context: ParseContext) -> str:
    """The pages of a file, as JSON."""
    return file_to_json(parse_file(Path(path), context))


def parse_file(path: Path, context: ParseContext) -> ParsedFile:
    """The pages of a file, by the ending of its name."""
    return _PARSERS[path.suffix.lower()](path, context)


def _markdown(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.parsing.pages import parse_markdown

    return ParsedFile((ParsedPage(parse_markdown(read_text(path, context.max_bytes), path, context)),))


def _html(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.html import extract

    return ParsedFile((ParsedPage(extract(read_text(path, context.max_bytes))),))


def _text(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.plain_text import read_plain_text

    return ParsedFile((ParsedPage(read_plain_text(read_text(path, context.max_bytes))),))


def _epub(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.epub.read import read_epub

    return read_epub(path, context.max_bytes)


def _rst(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.rst.read import read_rst

    return ParsedFile((ParsedPage(read_rst(path, context)),))


def _pdf(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.pdf.read import read_pdf

    return read_pdf(path, context.max_bytes)


def _asciidoc(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.asciidoc.read import read_asciidoc

    return ParsedFile((ParsedPage(read_asciidoc(path, context)),))


def _notebook(path: Path, context: ParseContext) -> ParsedFile:
    from glossator.ingest.formats.notebook import read_notebook

    return ParsedFile((ParsedPage(read_notebook(read_text(path, context.max_bytes), context.layout)),))


_PARSERS: dict[str, Callable[[Path, ParseContext], ParsedFile]] = {
    ".adoc": _asciidoc,
    ".asciidoc": _asciidoc,
    ".epub": _epub,
    ".htm": _html,
    ".html": _html,
    ".ipynb": _notebook,
    ".markdown": _markdown,
    ".md": _markdown,
    ".mdx": _markdown,
    ".pdf": _pdf,
    ".rst": _rst,
    ".text": _text,
    ".txt": _text,
    ".xhtml": _html,
}
