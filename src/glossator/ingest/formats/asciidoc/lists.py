"""Lists of AsciiDoc: items with other lists and blocks in them, and terms with their descriptions."""

from __future__ import annotations

import re

from glossator.ingest.formats.asciidoc.lines import LIST_ITEM, TERM, LineReader

_CALLOUT = re.compile(r"<[\d.]{1,3}>")
_BREAKS_TEXT = re.compile(r"\+|-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|--|\|={3,}|`{3,}.*|\[.*\]|//.*")
MAX_LIST_DEPTH = 12


def read_list(reader: LineReader, above: tuple[str, ...]) -> str:
    """The list at the reader's position; `above` are the markers of the lists that it is in."""
    own = _marker(reader.line)
    is_terms = own in ("::", ":::", "::::", ";;")
    items = []
    while (found := _marker(reader.line)) == own and found:
        items.append(_term(reader, (*above, own)) if is_terms else _item(reader, (*above, own)))
        _skip_to_item(reader)
    if is_terms:
        return f"<dl>{''.join(items)}</dl>"
    tag = "ol" if own.startswith((".", "#")) or _CALLOUT.fullmatch(own) or own == "<>" else "ul"
    return f"<{tag}>{''.join(items)}</{tag}>"


def _marker(line: str) -> str:
    """What kind of item a line begins; numbers are all of one kind."""
    item = LIST_ITEM.fullmatch(line)
    if item:
        marker = item["marker"]
        if _CALLOUT.fullmatch(marker):
            return "<>"
        return "#." if marker[0].isalnum() else marker
    term = TERM.fullmatch(line)
    return term["marker"] if term and "://" not in term["text"] else ""


def _skip_to_item(reader: LineReader) -> None:
    """Pass blank lines if the list goes on after them."""
    position = reader.position
    reader.skip_blank()
    if not _marker(reader.line):
        reader.position = position


def _item(reader: LineReader, markers: tuple[str, ...]) -> str:
    match = LIST_ITEM.fullmatch(reader.line)
    text = match["text"] if match else reader.line
    reader.position += 1
    box = re.match(r"\[([ x*])\]\s+", text)
    mark = ("☑ " if box[1] != " " else "☐ ") if box else ""
    lines = [text[box.end() :] if box else text, *_text_lines(reader)]
    return f"<li>{mark}{reader.text(lines)}{_inside(reader, markers)}</li>"


def _term(reader: LineReader, markers: tuple[str, ...]) -> str:
    match = TERM.fullmatch(reader.line)
    reader.position += 1
    term, rest = (match["text"], match["rest"] or "") if match else (reader.line, "")
    if not rest:
        reader.skip_blank()
    is_item = bool(_marker(reader.line)) and not rest
    lines = [rest] if rest else []
    lines += [] if is_item else _text_lines(reader)
    text = f"<p>{reader.text(lines)}</p>" if lines else ""
    return f"<dt>{reader.inline.html(term)}</dt><dd>{text}{_inside(reader, markers)}</dd>"


def _text_lines(reader: LineReader) -> list[str]:
    """The lines of an item's first paragraph."""
    lines = []
    while reader.line.strip() and not _marker(reader.line) and not _BREAKS_TEXT.fullmatch(reader.line.strip()):
        lines.append(reader.line)
        reader.position += 1
    return lines


def _inside(reader: LineReader, markers: tuple[str, ...]) -> str:
    """The lists and blocks that belong to an item: lists of other markers, and blocks after a line with `+`."""
    parts: list[str] = []
    while reader.position < len(reader.lines):
        if reader.line.strip() == "+":
            reader.position += 1
            parts.append(_attached(reader))
            continue
        position = reader.position
        reader.skip_blank()
        found = _marker(reader.line)
        if found and found not in markers and len(markers) < MAX_LIST_DEPTH:
            parts.append(read_list(reader, markers))
            continue
        if reader.line.strip() == "+":
            continue
        reader.position = position
        break
    return "".join(parts)


def _attached(reader: LineReader) -> str:
    """One block that belongs to an item."""
    count = len(reader.out)
    outside, reader.is_in_item = reader.is_in_item, True
    reader.block()
    reader.is_in_item = outside
    written = reader.out[count:]
    del reader.out[count:]
    return "".join(written)
