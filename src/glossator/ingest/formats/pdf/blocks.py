"""Blocks: lines become paragraphs, items, code and rows; hyphenated words are joined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from glossator.ingest.formats.pdf.headings import Headings
from glossator.ingest.formats.pdf.lines import Line, PdfPage

_BULLET = re.compile(r"^[•◦▪▸‣●○■□–—∙·*-]\s*(?=\S)")
_NUMBERED = re.compile(r"^\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "”", '"', ")")
_WORD_BREAK = re.compile(r"(\w+)-$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class PdfBlockKind(StrEnum):
    """The kinds of blocks that a PDF shows."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"
    ROW = "row"


@dataclass(slots=True)
class PdfBlock:
    """Lines that belong together; `parts` has the text of each page that they are on."""

    kind: PdfBlockKind
    lines: list[Line]
    level: int = 0
    title: str = ""
    parts: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Measures:
    """The usual distance between the lines of a paragraph, and the right edge of the text of each page."""

    leading: float
    right: dict[int, float]


def find_blocks(pages: Sequence[PdfPage], headings: Headings) -> list[PdfBlock]:
    """The blocks of a document in reading order."""
    measures = _measures(pages)
    blocks: list[PdfBlock] = []
    for page in pages:
        number = 0
        while number < len(page.lines):
            line = page.lines[number]
            heading = headings.by_line.get((page.number, number))
            if heading is not None:
                lines = list(page.lines[number : number + heading.lines])
                blocks.append(PdfBlock(PdfBlockKind.HEADING, lines, heading.level, heading.title))
                number += heading.lines
                continue
            if (page.number, number) not in headings.marks:
                _add(blocks, line, _kind(page.lines, number, measures), measures)
            number += 1
    words = _vocabulary(pages)
    for block in blocks:
        block.parts = list(_parts(block, words))
    return blocks


def _measures(pages: Sequence[PdfPage]) -> _Measures:
    distances = Counter(
        round(before.bottom - after.bottom, 1)
        for page in pages
        for before, after in pairwise(page.lines)
        if before.size == after.size and 0.8 * before.size < before.bottom - after.bottom < 2.5 * before.size
    )
    leading = distances.most_common(1)[0][0] if distances else 12.0
    right = {page.number: max((line.right for line in page.lines), default=0.0) for page in pages}
    return _Measures(leading, right)


def _kind(lines: Sequence[Line], number: int, measures: _Measures) -> PdfBlockKind:
    line = lines[number]
    if line.is_mono and not _is_inside_prose(lines, number, measures):
        return PdfBlockKind.CODE
    if len(line.cells) > 1 and any(len(lines[n].cells) > 1 for n in (number - 1, number + 1) if 0 <= n < len(lines)):
        return PdfBlockKind.ROW
    return PdfBlockKind.ITEM if _BULLET.match(line.text) and len(line.text) > 2 else PdfBlockKind.PARAGRAPH


def _is_inside_prose(lines: Sequence[Line], number: int, measures: _Measures) -> bool:
    """Whether a line of code is one that a sentence goes through."""
    if number == 0 or lines[number - 1].is_mono or (number + 1 < len(lines) and lines[number + 1].is_mono):
        return False
    before = lines[number - 1]
    return _follows(before, lines[number], measures) and not before.text.endswith(":")


def _follows(before: Line, line: Line, measures: _Measures) -> bool:
    """Whether a line is at the usual distance below another."""
    distance = before.bottom - line.bottom
    return before.page == line.page and 0 < distance < 1.3 * max(measures.leading, 0)


def _add(blocks: list[PdfBlock], line: Line, kind: PdfBlockKind, measures: _Measures) -> None:
    last = blocks[-1] if blocks else None
    if last is not None and _continues(last, line, kind, measures):
        last.lines.append(line)
    else:
        blocks.append(PdfBlock(kind, [line]))


def _continues(last: PdfBlock, line: Line, kind: PdfBlockKind, measures: _Measures) -> bool:
    """Whether a line belongs to the block before it."""
    before = last.lines[-1]
    if kind is PdfBlockKind.CODE and last.kind is PdfBlockKind.CODE:
        return before.page == line.page and before.bottom - line.bottom < 2.5 * measures.leading
    if kind is not PdfBlockKind.PARAGRAPH or last.kind not in (PdfBlockKind.PARAGRAPH, PdfBlockKind.ITEM):
        return False
    if abs(before.size - line.size) > 0.15 * before.size:
        return False
    if not _follows(before, line, measures):
        return _goes_on_elsewhere(before, line)
    return not _starts_anew(last, before, line, measures)


def _goes_on_elsewhere(before: Line, line: Line) -> bool:
    """Whether a sentence continues at the top of the next page or column."""
    is_elsewhere = before.page != line.page or line.bottom > before.bottom
    return is_elsewhere and not before.text.endswith(_ENDS) and not _NUMBERED.match(line.text)


def _starts_anew(last: PdfBlock, before: Line, line: Line, measures: _Measures) -> bool:
    """Whether a line directly below another begins a paragraph: numbered, indented, or after a short last line."""
    right = measures.right.get(line.page, 0.0)
    is_short = before.right < right - 0.2 * (right - before.left) and before.text.endswith(_ENDS)
    if _NUMBERED.match(line.text) and (is_short or before.text.endswith(_ENDS)):
        return True
    indent = line.left - before.left
    if last.kind is PdfBlockKind.ITEM:
        return indent < -0.5 * line.size and len(last.lines) > 1
    is_indented = len(last.lines) > 1 and 0.8 * line.size < indent < 4 * line.size
    return (is_indented and before.text.endswith(_ENDS)) or (is_short and line.text[:1].isupper())


def _vocabulary(pages: Sequence[PdfPage]) -> Counter[str]:
    """The words inside lines, which no line break divides."""
    words: Counter[str] = Counter()
    for page in pages:
        for line in page.lines:
            words.update(word.lower() for word in _WORD.findall(" ".join(line.words[:-1])))
    return words


def _parts(block: PdfBlock, words: Counter[str]) -> Iterator[tuple[int, str]]:
    """The text of a block on each of its pages."""
    if block.kind is PdfBlockKind.CODE:
        yield block.lines[0].page, _code(block.lines)
        return
    text, page = "", block.lines[0].page
    for line in block.lines:
        if line.page != page and text:
            yield page, text
            text = ""
        page = line.page
        text = _joined(text, line.text, words)
    yield page, _BULLET.sub("", text) if block.kind is PdfBlockKind.ITEM else text


def _joined(text: str, line: str, words: Counter[str]) -> str:
    """A line after a text; a hyphen at its end goes, unless the word is written with it elsewhere."""
    broken = _WORD_BREAK.search(text)
    if not broken or not line[:1].isalpha():
        return f"{text} {line}".strip()
    rest = _WORD.match(line)
    first = broken[1].lower()
    second = rest[0].lower() if rest else ""
    hyphenated, whole = words[f"{first}-{second}"], words[first + second]
    if hyphenated > whole or (line[0].isupper() and not whole):
        return text + line
    return text[:-1] + line


def _code(lines: Sequence[Line]) -> str:
    """Lines of code with their indentation."""
    left = min(line.left for line in lines)
    widths = [(line.right - line.left) / len(line.text) for line in lines if len(line.text) > 3]
    width = max(sorted(widths)[len(widths) // 2], 1.0) if widths else 6.0
    return "\n".join(" " * max(0, round((line.left - left) / width)) + line.text for line in lines)
