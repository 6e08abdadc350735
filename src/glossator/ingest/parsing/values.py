"""Input and output of a parser; both are exchanged between processes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from glossator.core.types import Block, BlockKind
from glossator.ingest.formats.html import ExtractedPage


@dataclass(frozen=True, slots=True)
class ParseContext:
    """What the pages of a source have in common: the folder below which they may include files, and their layout.

    `references` has the title and the target of every page and label that a page may name, and `attributes` the
    values that the site's configuration defines. `extensions` are the Markdown extensions of the site, `mdx` tells
    whether its files named .md are MDX, and `snippets` is another folder whose files they may include.
    """

    root: str
    layout: str
    max_bytes: int
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    mdx: bool = False
    snippets: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A page of a file; `name` is its path within the file, empty if the file is one page."""

    page: ExtractedPage
    name: str = ""
    chapters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The pages of a file in reading order, its own title, and what was left out."""

    pages: tuple[ParsedPage, ...]
    title: str = ""
    notes: tuple[str, ...] = ()


def context_to_json(context: ParseContext) -> str:
    return json.dumps(asdict(context))


def context_from_json(text: str) -> ParseContext:
    values = json.loads(text)
    references = {name: (title, target) for name, (title, target) in values["references"].items()}
    return ParseContext(**values | {"references": references, "extensions": tuple(values["extensions"])})


def file_to_json(file: ParsedFile) -> str:
    return json.dumps({"title": file.title, "notes": file.notes, "pages": [_page_values(page) for page in file.pages]})


def file_from_values(values: dict[str, Any]) -> ParsedFile:
    """A parsed file; a ValueError, TypeError or KeyError if the values are not those of one."""
    return ParsedFile(tuple(map(_page, values["pages"])), str(values["title"]), strings(values["notes"]))


def _page_values(parsed: ParsedPage) -> dict[str, Any]:
    return {"name": parsed.name, "chapters": parsed.chapters, **extracted_values(parsed.page)}


def extracted_values(page: ExtractedPage) -> dict[str, Any]:
    blocks = [(b.kind.value, b.start, b.end, b.level, b.anchor) for b in page.blocks]
    return {
        "title": page.title,
        "text": page.text,
        "blocks": blocks,
        "markup": page.markup,
        "notes": page.notes,
    }


def _page(values: dict[str, Any]) -> ParsedPage:
    return ParsedPage(extracted_page(values), str(values["name"]), strings(values["chapters"]))


def extracted_page(values: dict[str, Any]) -> ExtractedPage:
    """An extracted page; a ValueError, TypeError or KeyError if the values are not those of one."""
    blocks = tuple(
        Block(BlockKind(kind), int(start), int(end), int(level), str(anchor))
        for kind, start, end, level, anchor in values["blocks"]
    )
    text = str(values["text"])
    if any(not 0 <= a.start <= a.end <= len(text) for a in blocks):
        raise ValueError("blocks outside the text")
    return ExtractedPage(str(values["title"]), text, blocks, str(values["markup"]), strings(values["notes"]))


def strings(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(map(str, values))
