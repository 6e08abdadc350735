"""Reads a page of AsciiDoc."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from glossator.ingest.files import read_text
from glossator.ingest.formats.asciidoc.blocks import BlockReader
from glossator.ingest.formats.asciidoc.inline import CHARACTERS_PER_MARK, MAX_MARKS, Inline
from glossator.ingest.formats.asciidoc.places import Places
from glossator.ingest.formats.asciidoc.preprocess import Attributes, Preprocessor
from glossator.ingest.formats.html import ExtractedPage, extract
from glossator.ingest.formats.includes import IncludeReader
from glossator.ingest.formats.plain_text import plain_paragraphs, split_at_limit
from glossator.ingest.parsing.values import ParseContext

_CHARACTERS = {
    "empty": "",
    "blank": "",
    "sp": " ",
    "nbsp": "\u00a0",
    "zwsp": "\u200b",
    "plus": "+",
    "vbar": "|",
    "amp": "&amp;",
    "lt": "&lt;",
    "gt": "&gt;",
    "startsb": "[",
    "endsb": "]",
    "backslash": "\\",
    "backtick": "`",
    "caret": "^",
    "tilde": "~",
    "asterisk": "*",
    "two-colons": "::",
    "cpp": "C++",
    "apos": "'",
    "quot": '"',
    "lsquo": "‘",
    "rsquo": "’",
    "ldquo": "“",
    "rdquo": "”",
    "deg": "°",
}
_CONSTRUCTS = re.compile(r"^[^\S\n]*\S|(?<=\S)[ \t]*\|", re.MULTILINE)
"""What takes time to parse: lines, and the cells of tables."""

_NOT_IN_ID = re.compile(r"<[^>]+>|&(?:[a-z]{2,}\d{0,2}|#\d{2,5}|#x[\da-f]{2,4});|[^ \w.-]")
_FALLBACK_ATTRIBUTES = {"backend": "html5", "backend-html5": "", "basebackend-html": "", "doctype": "article"}


def read_asciidoc(path: Path, context: ParseContext) -> ExtractedPage:
    """The page at a path."""
    is_antora = context.layout == "antora"
    root = Path(context.root)
    places = Places(path, root, context.references, is_antora)
    includes = IncludeReader(root)
    site = (
        {"site-gen": "antora", "site-gen-antora": "", "env-site": "", "idprefix": "", "idseparator": "-"}
        if is_antora
        else {}
    )
    attributes = Attributes({**_CHARACTERS, **_FALLBACK_ATTRIBUTES, **site, **context.attributes})
    notes: list[str] = []
    expanded = Preprocessor(Attributes(attributes), includes, places.included)
    text = "\n".join(expanded.lines(read_text(path, context.max_bytes)))
    text, rest = split_at_limit(text, notes, _CONSTRUCTS)
    inline = Inline(places, attributes, MAX_MARKS + len(text) // CHARACTERS_PER_MARK)
    html = inline.finish(BlockReader(_without_author(text.split("\n")), inline, _id_maker(attributes)).html())
    if inline.remaining_marks < 0:
        notes.append("it has too much inline markup; some of it is plain text.")
    page = extract(f"<main>{html}{plain_paragraphs(rest)}</main>")
    return replace(page, notes=tuple(filter(None, (*notes, *page.notes, includes.note()))))


def _without_author(lines: list[str]) -> list[str]:
    """The lines without those of the author and the revision, directly below the title."""
    start = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith(("//", ":"))), 0)
    if start >= len(lines) or not re.match(r"[=#][ \t]", lines[start]):
        return lines
    end = start + 1
    while end < len(lines) and lines[end].strip():
        end += 1
    header = [line for line in lines[start + 1 : end] if line.startswith((":", "//"))]
    return [*lines[: start + 1], *header, *lines[end:]]


def _id_maker(attributes: dict[str, str]) -> Callable[[str], str]:
    """A function that makes the id of a title, as Asciidoctor does; a second title of the same text gets `_2`."""
    seen: dict[str, int] = {}

    def new_id(title: str) -> str:
        prefix, separator = attributes.get("idprefix", "_"), attributes.get("idseparator", "_")
        words = _NOT_IN_ID.sub("", title.lower())
        base = re.sub(r"[ .-]+", separator, words) if separator else words.replace(" ", "")
        base = base.strip(separator) if separator and not prefix else base.rstrip(separator or None)
        base = prefix + base
        seen[base] = seen.get(base, 0) + 1
        return base if seen[base] == 1 else f"{base}{separator}{seen[base]}"

    return new_id
