"""Plain text: paragraphs between blank lines, and labels on lines of their own above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from glossator.core.types import Block, BlockKind
from glossator.ingest.formats.html import ExtractedPage

MAX_PARAGRAPHS, CHARACTERS_PER_PARAGRAPH = 4_000, 40
"""Of a text with more paragraphs than the first number and one for this many characters, the rest is one paragraph."""

MAX_TITLE_CHARACTERS = 80

_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_LABEL = re.compile(r"[^\n]{1,80}[^\s.!?:;,…-](?=\s*\n)")


def read_plain_text(text: str) -> ExtractedPage:
    """A short first paragraph that is not a sentence is the title."""
    blocks: list[Block] = []
    parts: list[str] = []
    length = 0
    for paragraph in _paragraphs(text.replace("\r\n", "\n")):
        separator = "\n\n" if parts else ""
        start = length + len(separator)
        length = start + len(paragraph)
        blocks.append(Block(BlockKind.PARAGRAPH, start, length))
        parts.append(separator + paragraph)
    first = parts[0] if parts else ""
    title = first if len(first) <= MAX_TITLE_CHARACTERS and not first.endswith((".", "!", "?", ":")) else ""
    return ExtractedPage(title, "".join(parts), tuple(blocks))


def _paragraphs(text: str) -> Iterator[str]:
    found = _PARAGRAPH.finditer(text)
    limit = MAX_PARAGRAPHS + len(text) // CHARACTERS_PER_PARAGRAPH
    for part in chain.from_iterable(_without_label(match[0]) for match in islice(found, limit)):
        yield " ".join(part.split())
    if rest := next(found, None):
        yield " ".join(text[rest.start() :].split())


def _without_label(paragraph: str) -> tuple[str, ...]:
    """A first line that ends early, though the next word would have fitted, is a label."""
    label = _LABEL.match(paragraph)
    if not label:
        return (paragraph,)
    rest = paragraph[label.end() :].lstrip()
    width = max(map(len, paragraph.split("\n")[1:]))
    fits = label.end() + 1 + len(rest.split(maxsplit=1)[0]) <= width
    return (label[0], rest) if fits and rest[0].isupper() else (paragraph,)
