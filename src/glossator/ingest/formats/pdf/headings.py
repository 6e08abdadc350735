"""Headings: the lines that the outline names; others are larger than the text, or bold and alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from glossator.ingest.formats.pdf.lines import Line, OutlineEntry, PdfPage

MAX_HEADING_LINES, MAX_HEADING_CHARACTERS = 4, 200
_TOP_LEVEL, _MAX_LEVEL = 2, 6
_LARGER = 1.12
_MAX_SHARE = 0.25
"""If more lines than this share were bold headings, bold is the style of the text."""
_NUMBERING = re.compile(
    r"^(?:(?:chapter|appendix|part|section|kapitel|chapitre)\s+)?(?:\d+|[a-z]|[ivxlc]+)(?:\.\d+)*[.:)]?\s+",
    re.IGNORECASE,
)
_MARK_LINES, _MARK_CHARACTERS = 2, 20
_PAGE_AFTER = re.compile(r"(.*\S)[\s.]+\d{1,5}$")
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*[\divxlc]+\s*$")
_NO_LETTERS = re.compile(r"[\W_]+")
_SENTENCE_END = (".", ",", ";", "。")


@dataclass(frozen=True, slots=True)
class Heading:
    """The title and the level of a heading; `lines` says how many lines it has."""

    title: str
    level: int
    lines: int


@dataclass(frozen=True, slots=True)
class Headings:
    """Headings by page and number of their first line, and lines that only say where a chapter is or begins."""

    by_line: dict[tuple[int, int], Heading]
    marks: frozenset[tuple[int, int]]


def find_headings(pages: Sequence[PdfPage], outline: Sequence[OutlineEntry]) -> Headings:
    """All headings of a document."""
    found: dict[tuple[int, int], Heading] = {}
    titles = {_letters(entry.title) for entry in outline}
    marks = {(p.number, n) for p in pages for n, line in enumerate(p.lines) if _is_contents_line(line, titles)}
    entries: dict[int, list[OutlineEntry]] = defaultdict(list)
    for entry in outline:
        entries[entry.page].append(entry)
    for page in pages:
        start = 0
        for entry in entries[page.number]:
            at, count = _match(page.lines, entry.title, start)
            if count:
                found[page.number, at] = Heading(entry.title, _level(entry.depth), count)
                marks |= {(page.number, n) for n in _chapter_marks(page.lines, at)}
                start = at + count
    deepest = max((entry.depth for entry in outline), default=-1)
    _add_by_style(pages, found, marks, deepest)
    return Headings(found, frozenset(marks))


def _level(depth: int) -> int:
    return min(_TOP_LEVEL + depth, _MAX_LEVEL)


def _match(lines: Sequence[Line], title: str, start: int) -> tuple[int, int]:
    """The first line of a title and the number of its lines; no lines if the page does not have it."""
    wanted = _letters(title)
    for at in range(start, len(lines)) if wanted else ():
        first = lines[at].text
        for text in (_letters(first), _letters(_NUMBERING.sub("", first))):
            count = 1
            while text and text != wanted and wanted.startswith(text) and count < MAX_HEADING_LINES:
                text += _letters(lines[at + count].text) if at + count < len(lines) else "\n"
                count += 1
            if text == wanted:
                return at, count
    return 0, 0


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


def _chapter_marks(lines: Sequence[Line], at: int) -> list[int]:
    """The short lines above the first heading of a page, such as CHAPTER and ONE."""
    above = lines[:at]
    is_mark = at <= _MARK_LINES and all(len(line.text) <= _MARK_CHARACTERS for line in above)
    return list(range(at)) if is_mark else []


def _is_contents_line(line: Line, titles: set[str]) -> bool:
    """Whether a line is one of the table of contents: a title of the outline and a page number."""
    title, number = _PAGE_AFTER.match(line.text), _LEADERS.search(line.text)
    if number is not None:
        return True
    return title is not None and bool({_letters(title[1]), _letters(_NUMBERING.sub("", title[1]))} & titles)


def body_size(pages: Sequence[PdfPage]) -> float:
    """The size of most of the text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _add_by_style(
    pages: Sequence[PdfPage], found: dict[tuple[int, int], Heading], marks: set[tuple[int, int]], deepest: int
) -> None:
    """Headings that the outline does not have, below those that it has."""
    body = body_size(pages)
    taken = {(page, at + n) for (page, at), heading in found.items() for n in range(heading.lines)} | marks
    candidates = {
        (page.number, n): line
        for page in pages
        for n, line in enumerate(page.lines)
        if (page.number, n) not in taken and _may_be_heading(line)
    }
    large = {place: line for place, line in candidates.items() if line.size > body * _LARGER}
    bold = {p: line for p, line in candidates.items() if p not in large and line.is_bold and line.size >= body * 0.95}
    total = sum(len(page.lines) for page in pages)
    styled = large if len(bold) > _MAX_SHARE * total else {**large, **bold}
    sizes = sorted({round(line.size) for line in styled.values()}, reverse=True)
    levels = {size: _level(deepest + 1 + rank) for rank, size in enumerate(sizes)}
    _join_lines(styled, levels, found)


def _may_be_heading(line: Line) -> bool:
    text = line.text
    return (
        not line.is_mono
        and len(line.cells) == 1
        and 2 <= len(text) <= MAX_HEADING_CHARACTERS
        and any(c.isalpha() for c in text)
        and not text.endswith(_SENTENCE_END)
        and not text[0].islower()
    )


def _join_lines(
    styled: dict[tuple[int, int], Line], levels: dict[int, int], found: dict[tuple[int, int], Heading]
) -> None:
    """Add the lines as headings; lines of one style directly below each other are one."""
    done: set[tuple[int, int]] = set()
    for (page, at), line in styled.items():
        if (page, at) in done:
            continue
        lines = [line]
        while len(lines) < MAX_HEADING_LINES:
            below = styled.get((page, at + len(lines)))
            if below is None or below.size != line.size or lines[-1].bottom - below.top > 0.6 * line.size:
                break
            lines.append(below)
        done |= {(page, at + n) for n in range(len(lines))}
        title = " ".join(each.text for each in lines)
        found[page, at] = Heading(title, levels[round(line.size)], len(lines))
