"""Reads a PDF as one page of text, in which every block has its printed page number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path

from glossator.core.errors import SourceError
from glossator.core.text.sentences import split_sentences
from glossator.ingest.files import check_size
from glossator.ingest.formats.html import extract
from glossator.ingest.formats.pdf.blocks import PdfBlock, PdfBlockKind, find_blocks
from glossator.ingest.formats.pdf.columns import in_reading_order
from glossator.ingest.formats.pdf.headings import find_headings
from glossator.ingest.formats.pdf.lines import PdfContent
from glossator.ingest.formats.pdf.pdfium import read_content
from glossator.ingest.formats.pdf.running_lines import without_running_lines
from glossator.ingest.parsing.values import ParsedFile, ParsedPage

_NO_TITLE = re.compile(
    r"(?:untitled|title|microsoft word - .*|.*\.(?:docx?|dvi|tex|indd|pdf|pptx?|rtf))?", re.IGNORECASE
)
_OCR = "Add a text layer (for example with `ocrmypdf`)."


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or the part of one that is on one page."""

    page: int
    kind: PdfBlockKind
    text: str
    level: int = 0


def read_pdf(path: Path, max_bytes: int) -> ParsedFile:
    """The text of a PDF; pages without a text layer are named in the notes."""
    check_size(path, max_bytes)
    content = read_content(path)
    scanned = [page.number for page in content.pages if page.is_scanned]
    pages = without_running_lines([in_reading_order(page) for page in content.pages])
    headings = find_headings(pages, content.outline)
    pieces = [piece for block in find_blocks(pages, headings) for piece in _pieces(block)]
    if not pieces:
        reason = "the PDF has no text: its pages are images." if scanned else "the PDF has no text."
        raise SourceError(reason, _OCR if scanned else "")
    page = extract(f"<main>{''.join(_html(pieces))}</main>")
    title = _title(content, pieces)
    notes = [f"{_page_ranges(scanned)} no text layer, and {_was_or_were(scanned)} left out. {_OCR}"] if scanned else []
    return ParsedFile((ParsedPage(replace(page, title=title)),), title, tuple(notes))


def _page_ranges(numbers: Sequence[int]) -> str:
    """Pages as ranges: `pages 2-4 and 7 have`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    shown = [f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in ranges[:20]]
    more = [f"{len(ranges) - 20} more ranges"] if len(ranges) > 20 else []
    *first, last = [*shown, *more]
    return (
        f"page {last} has"
        if len(numbers) == 1
        else f"pages {' and '.join(filter(None, (', '.join(first), last)))} have"
    )


def _was_or_were(numbers: Sequence[int]) -> str:
    return "was" if len(numbers) == 1 else "were"


def _title(content: PdfContent, pieces: Sequence[_Piece]) -> str:
    """The title that the file declares; without one, the first of the largest headings of its first pages."""
    if not _NO_TITLE.fullmatch(content.title):
        return content.title
    headings = [p for p in pieces if p.kind is PdfBlockKind.HEADING and p.page <= pieces[0].page + 1]
    return min(headings, key=lambda p: p.level).text if headings else ""


def _pieces(block: PdfBlock) -> Iterator[_Piece]:
    """The parts of a block, each on one page: a sentence over two pages is on the first."""
    if block.kind is PdfBlockKind.HEADING:
        yield _Piece(block.lines[0].page, block.kind, block.title, block.level)
        return
    kind = block.kind
    rest = list(block.parts)
    while rest:
        page, text = rest.pop(0)
        if rest:
            text, (next_page, remaining) = _whole_sentence(text, rest[0])
            rest[0] = (next_page, remaining)
            if not remaining:
                rest.pop(0)
        yield _Piece(page, kind, text if kind is PdfBlockKind.CODE else " ".join(text.split()))
        kind = PdfBlockKind.PARAGRAPH if kind is PdfBlockKind.ITEM else kind


def _whole_sentence(text: str, following: tuple[int, str]) -> tuple[str, tuple[int, str]]:
    """A text with the end of its last sentence, which is on the next page, and what remains there."""
    page, rest = following
    broken = text.endswith("-") and rest[:1].islower()
    joined = text[:-1] + rest if broken else f"{text} {rest}"
    start = len(text) - 1 if broken else len(text)
    ends = [span.end for span in split_sentences(joined, 0, len(joined))]
    end = next((end for end in ends if end > start), len(joined))
    return joined[:end], (page, joined[end:].strip())


def _html(pieces: Sequence[_Piece]) -> Iterator[str]:
    for page, on_page in groupby(pieces, key=lambda piece: piece.page):
        body = "".join(_group(kind, list(group)) for kind, group in groupby(on_page, key=lambda piece: piece.kind))
        yield f'<section id="page={page}">{body}</section>'


def _group(kind: PdfBlockKind, pieces: list[_Piece]) -> str:
    texts = [escape(piece.text, quote=False) for piece in pieces]
    if kind is PdfBlockKind.ITEM:
        return f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>"
    if kind is PdfBlockKind.ROW:
        return f"<table>{''.join(f'<tr><td>{text}</td></tr>' for text in texts)}</table>"
    if kind is PdfBlockKind.CODE:
        return "".join(f"<pre>{text}</pre>" for text in texts)
    if kind is PdfBlockKind.HEADING:
        return "".join(f"<h{p.level}>{text}</h{p.level}>" for p, text in zip(pieces, texts, strict=True))
    return "".join(f"<p>{text}</p>" for text in texts)
