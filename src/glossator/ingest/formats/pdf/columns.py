"""Reading order: columns one after the other, between the lines that cross them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from glossator.ingest.formats.pdf.lines import Line, PdfPage

_BINS = 100
_MIN_COLUMN_LINES = 6
_MIN_COLUMN_WIDTH = 0.26
"""Of the page's width: narrower ones are the columns of a table."""
_MAX_CROSSING = 0.2
_MAX_JUMPS = 0.15


def in_reading_order(page: PdfPage) -> PdfPage:
    """The page with its lines in order: by columns if it has two, else as in the file, unless that is no order."""
    pieces = [replace(line, cells=(cell,)) for line in page.lines for cell in line.cells]
    gutter = _gutter(pieces, page.width)
    if gutter is not None:
        return replace(page, lines=tuple(_by_columns(pieces, gutter)))
    jumps = sum(after.bottom > before.top for before, after in pairwise(page.lines))
    if jumps > max(2, _MAX_JUMPS * len(page.lines)):
        return replace(page, lines=tuple(sorted(page.lines, key=lambda line: (-round(line.bottom), line.left))))
    return page


def _gutter(pieces: Sequence[Line], width: float) -> float | None:
    """Where the gap between two columns is; None if the page has none."""
    if width <= 0 or len(pieces) < 2 * _MIN_COLUMN_LINES:
        return None
    covered = [0] * (_BINS + 1)
    for piece in pieces:
        first, last = (min(max(int(x / width * _BINS), 0), _BINS) for x in (piece.left, piece.right))
        for position in range(first, last + 1):
            covered[position] += 1
    middle = range(int(_BINS * 0.35), int(_BINS * 0.65))
    fewest = min(covered[position] for position in middle)
    gaps = [position for position in middle if covered[position] == fewest]
    gutter = (gaps[len(gaps) // 2] + 0.5) / _BINS * width
    sides = [p for p in pieces if p.right <= gutter], [p for p in pieces if p.left >= gutter]
    if any(len(side) < _MIN_COLUMN_LINES for side in sides) or fewest > _MAX_CROSSING * len(pieces):
        return None
    if any(median(p.right - p.left for p in side) < _MIN_COLUMN_WIDTH * width for side in sides):
        return None
    return gutter


def _by_columns(pieces: Sequence[Line], gutter: float) -> Iterator[Line]:
    left: list[Line] = []
    right: list[Line] = []
    for piece in sorted(pieces, key=lambda p: -p.top):
        if piece.right <= gutter:
            left.append(piece)
        elif piece.left >= gutter:
            right.append(piece)
        else:
            yield from (*left, *right, piece)
            left, right = [], []
    yield from (*left, *right)
