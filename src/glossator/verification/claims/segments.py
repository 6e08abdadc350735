"""A segment of a draft: its text, its citations and its layout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from glossator.core.text.characters import strip_invisible
from glossator.verification.claims.asides import is_aside
from glossator.verification.claims.citations import extract_citations
from glossator.verification.claims.inline import plain_text
from glossator.verification.claims.layout import SPACES, LineKind, is_delimiter_row

_CELL_BORDER = re.compile(r"(?<!\\)\|")
_QUOTE_MARKER = re.compile(r"^[ \t]*> ?", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")
_LAYOUT = rf"[{SPACES}\n]*+"
# Matched against the reversed text, so that they are not tried at every position.
_REVERSED_SUFFIXES = {
    LineKind.TEXT: re.compile(_LAYOUT),
    LineKind.HEADING: re.compile(rf"{_LAYOUT}(?:#++(?=[{SPACES}]){_LAYOUT})?"),
    LineKind.ROW: re.compile(rf"{_LAYOUT}(?:\|(?!\\){_LAYOUT})?"),
}


class SegmentKind(StrEnum):
    """What a segment of a draft is."""

    CLAIM = "claim"
    ASIDE = "aside"
    CODE = "code"
    HEADING = "heading"
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a draft.

    `raw` is its exact text: `prefix` (layout), `body` (Markdown, here without citation marks), `suffix` (layout).
    `text` is the body as a user sees it.
    """

    raw: str
    text: str
    citations: tuple[int, ...]
    kind: SegmentKind
    prefix: str
    body: str
    suffix: str


def make_segment(line: LineKind, prefix: str, rest: str, header: bool) -> Segment:
    """The segment of a sentence, a heading or a table row; `header`: the row is above the delimiter row of a table."""
    raw = prefix + rest
    if line is LineKind.SPACE or (line is LineKind.ROW and is_delimiter_row(f"|{rest.rstrip()}\n", True)):
        return Segment(raw, "", (), SegmentKind.SPACE, raw, "", "")
    content, suffix = _split_suffix(line, rest)
    body, citations = extract_citations(content)
    text = plain_text(_CELL_BORDER.sub(" ", body) if line is LineKind.ROW else body)
    return Segment(raw, text, citations, _segment_kind(line, text, header), prefix, body, suffix)


def make_code_segment(prefix: str, block: str, below: str, code: str, quoted: bool) -> Segment:
    """The segment of a code block or a part of one, with the citations below it; `code` is the block without fences."""
    code = _QUOTE_MARKER.sub("", code) if quoted else code
    citations = extract_citations(below)[1]
    body, suffix = _split_suffix(LineKind.TEXT, block)
    if below:
        suffix = _split_suffix(LineKind.TEXT, below)[1]
    return Segment(
        prefix + block + below, strip_invisible(code.rstrip("\n")), citations, SegmentKind.CODE, prefix, body, suffix
    )


def _split_suffix(line: LineKind, rest: str) -> tuple[str, str]:
    """A segment without the layout at its end, and that layout."""
    found = _REVERSED_SUFFIXES[line].match(rest[::-1])
    end = len(rest) - (found.end() if found else 0)
    return rest[:end], rest[end:]


def _segment_kind(line: LineKind, text: str, header: bool) -> SegmentKind:
    """The kind of a segment; one without a word is SPACE."""
    if not _WORD.search(text):
        return SegmentKind.SPACE
    if line is LineKind.HEADING or header:
        return SegmentKind.HEADING
    return SegmentKind.ASIDE if line is LineKind.TEXT and is_aside(text) else SegmentKind.CLAIM
