"""Running headers and footers: lines at the edge of pages that repeat, or that carry the page number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.ingest.formats.pdf.lines import Line, PdfPage

_EDGE = 0.14
"""Of the page's height, at the top and at the bottom."""
_ROW_HEIGHT = 3
"""In points: lines of different pages that are this near are at one height."""
_MIN_PAGES = 3
_MIN_NUMBERED = 0.6
"""Of the lines at one height, which carry a number that grows with the pages."""
_ROUNDS = 3
"""Headers and footers may have several lines: each round removes one."""
_NUMBER = re.compile(r"(?:^|(?<=\s))\d{1,5}(?=\s|$)")
_NUMERALS = re.compile(r"\d+|\b[ivxlc]+\b")
_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?[-–—|\s]*(?:\d{1,5}|[ivxlc]{1,8})[-–—|\s]*(?:(?:of|/)\s*\d{1,5})?", re.IGNORECASE
)


def without_running_lines(pages: Sequence[PdfPage]) -> list[PdfPage]:
    """The pages without their headers, footers and page numbers."""
    for _ in range(_ROUNDS):
        removed = {id(line) for top in (True, False) for line in _running(pages, top=top)}
        if not removed:
            break
        pages = [replace(p, lines=tuple(line for line in p.lines if id(line) not in removed)) for p in pages]
    return list(pages)


def _running(pages: Sequence[PdfPage], *, top: bool) -> list[Line]:
    """The outermost lines of pages that are headers, or footers."""
    edge = [line for page in pages if (line := _edge_line(page, top)) is not None]
    rows: dict[int, list[Line]] = defaultdict(list)
    for line in edge:
        rows[round(line.bottom / _ROW_HEIGHT)].append(line)
    found = [line for row in rows.values() for line in _of_row(row)]
    repeated = Counter(_key(line) for line in edge)
    found += [line for line in edge if repeated[_key(line)] >= _MIN_PAGES and len(_key(line)) > 1]
    found += [line for line in edge if _PAGE_NUMBER.fullmatch(line.text)]
    return found


def _edge_line(page: PdfPage, top: bool) -> Line | None:
    if not page.lines:
        return None
    position: Callable[[Line], float] = (lambda line: line.bottom) if top else (lambda line: -line.bottom)
    line = max(page.lines, key=position)
    inside = line.bottom > page.height * (1 - _EDGE) if top else line.top < page.height * _EDGE
    return line if inside else None


def _of_row(row: list[Line]) -> list[Line]:
    """All lines of a row at one height if most carry a number that grows with the pages."""
    if len(row) < _MIN_PAGES:
        return []
    offsets = Counter(offset for line in row for offset in _offsets(line))
    grows = bool(offsets) and offsets.most_common(1)[0][1] >= max(_MIN_PAGES, _MIN_NUMBERED * len(row))
    return row if grows else []


def _offsets(line: Line) -> set[int]:
    """By how much the numbers at the ends of a line differ from the number of its page."""
    numbers = _NUMBER.findall(line.text)
    return {int(number) - line.page for number in (*numbers[:1], *numbers[-1:])}


def _key(line: Line) -> str:
    return _NUMERALS.sub("", line.text.lower()).strip()
