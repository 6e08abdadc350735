"""Tables of AsciiDoc."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from html import escape

from glossator.ingest.formats.asciidoc.lines import LineReader, Style

_CELL = re.compile(
    r"(?:(?<=\s)|^)(?:(?P<count>\d{1,3})?(?:\.(?P<rows>\d{1,3}))?(?P<kind>[+*]))?(?:[<^>]?(?:\.[<^>])?)(?P<style>[adehlms])?(?<!\\)\|"
    r"|(?<!\\)\|",
    re.MULTILINE,
)
_COLUMNS = re.compile(r"cols=\"([^\"]*)\"|cols=(\d+)")
MAX_COLUMNS = 100


def table(body: list[str], style: Style, reader: LineReader, kind: str) -> str:
    """A table; its first row is a heading if it says so, or if a blank line follows it."""
    cells = list(_separated(body, kind, reader) if kind in ",:" else _cells(body, reader, kind))
    columns = _column_count(body, style, cells, kind)
    has_header = (
        "%header" in style.attributes or 'options="header' in style.attributes or "opts=header" in style.attributes
    )
    has_header = has_header or _implied_header(body)
    caption = f"<caption>{reader.inline.html(style.title)}</caption>" if style.title else ""
    rows = []
    for start in range(0, len(cells), columns):
        tag = "th" if has_header and start == 0 else "td"
        rows.append("<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells[start : start + columns]) + "</tr>")
    return f"<table>{caption}{''.join(rows)}</table>"


def _column_count(body: list[str], style: Style, cells: list[str], kind: str) -> int:
    found = _COLUMNS.search(style.attributes)
    if found:
        count = int(found[2]) if found[2] else _listed(found[1])
    else:
        first = next((line for line in body if line.strip()), "")
        count = len(next(csv.reader([first], delimiter=kind))) if kind in ",:" else len(_CELL.findall(first)) or 1
    return max(1, min(count, MAX_COLUMNS, max(len(cells), 1)))


def _listed(columns: str) -> int:
    """The number of columns in `1,2a,3*`."""
    total = 0
    for part in re.split(r"[,;]", columns):
        times = re.match(r"\s*(\d+)\*", part)
        total += int(times[1]) if times else 1
    return total


def _implied_header(body: list[str]) -> bool:
    return len(body) > 1 and bool(body[0].strip()) and not body[1].strip()


def _cells(body: list[str], reader: LineReader, kind: str) -> Iterator[str]:
    text = "\n".join(body)
    text = text.replace("!", "|") if kind == "!" else text
    marks = list(_CELL.finditer(text))
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        content = text[mark.end() : end].strip().replace("\\|", "|")
        html = _cell(content, mark["style"] or "", reader)
        yield html
        times = min(int(mark["count"] or 1), MAX_COLUMNS)
        yield from [html if mark["kind"] == "*" else ""] * (times - 1)


def _cell(content: str, style: str, reader: LineReader) -> str:
    if style == "a":
        return reader.nested(content.split("\n"))
    if style == "m":
        return f"<code>{reader.inline.html(content)}</code>"
    if style == "l":
        return f"<pre>{escape(content, quote=False)}</pre>"
    return reader.inline.html(content)


def _separated(body: list[str], kind: str, reader: LineReader) -> Iterator[str]:
    """The cells of a table in the form of CSV."""
    try:
        for row in csv.reader(body, delimiter=kind):
            yield from (reader.inline.html(cell) for cell in row)
    except csv.Error:
        return
