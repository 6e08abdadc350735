"""Plain text: paragraphs between blank lines, with labels above them; and the part of a page that is read as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import chain, islice

from glossator.core.types import Block, BlockKind
from glossator.ingest.formats.html import ExtractedPage

MAX_PARAGRAPHS, CHARACTERS_PER_PARAGRAPH = 4_000, 40
"""Of a text with more paragraphs than the first number and one for this many characters, the rest is one paragraph."""

MAX_TITLE_CHARACTERS = 80

MAX_LINES, CHARACTERS_PER_LINE = 4_000, 100
"""Of a page with more lines than the first number and one for this many characters, the rest is read as plain text:
parsing takes its time for each line, however short."""

MAX_PARAGRAPH_CHARACTERS = 20_000

_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_LINE = re.compile(r"^[^\S\n]*\S", re.MULTILINE)
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


def split_at_limit(
    text: str,
    notes: list[str],
    constructs: re.Pattern[str] = _LINE,
    limit: int = MAX_LINES,
    characters: int = CHARACTERS_PER_LINE,
    slow: int = 1,
) -> tuple[str, str]:
    """The part of a page that is parsed, and the rest, with a note; constructs in a named group count `slow` times."""
    left = limit + len(text) // characters
    beyond = None
    for found in constructs.finditer(text) if len(text) > limit else ():
        left -= slow if found.lastgroup else 1
        if left < 0:
            beyond = found
            break
    if beyond is None:
        return text, ""
    end = text.rfind("\n", 0, beyond.end()) + 1
    notes.append(f"it has too many short lines; from line {text.count(chr(10), 0, end) + 1:,} on they are plain text.")
    return text[:end], text[end:]


def plain_paragraphs(text: str) -> str:
    """HTML of a text that is not parsed."""
    words = " ".join(text.split())
    pieces = (words[at : at + MAX_PARAGRAPH_CHARACTERS] for at in range(0, len(words), MAX_PARAGRAPH_CHARACTERS))
    return "".join(f"<p>{escape(piece)}</p>" for piece in pieces)


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
