"""One stretch of a draft as the checks want it: what it says, what it cites, and what would be shown of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from glossator.verification.claims.asides import is_aside
from glossator.verification.claims.citations import plain, take_marks, visible
from glossator.verification.claims.layout import SPACE, Unit, is_separator

_CELL = re.compile(r"(?<!\\)\|")
_QUOTE = re.compile(r"^[ \t]*> ?", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")
_LAYOUT = rf"[{SPACE}\n]*+"
# These read a piece from its end, so that they need not be tried at every place in it.
_TAILS = {
    Unit.TEXT: re.compile(_LAYOUT),
    Unit.HEADING: re.compile(rf"{_LAYOUT}(?:#++(?=[{SPACE}]){_LAYOUT})?"),
    Unit.ROW: re.compile(rf"{_LAYOUT}(?:\|(?!\\){_LAYOUT})?"),
}


class Kind(StrEnum):
    """What a piece of a draft is."""

    CLAIM = "claim"
    ASIDE = "aside"
    CODE = "code"
    HEADING = "heading"
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a draft: `raw` is its own characters, `body` what would be shown, `text` what a reader reads."""

    raw: str
    text: str
    citations: tuple[int, ...]
    kind: Kind
    lead: str
    body: str
    tail: str


def make_piece(unit: Unit, lead: str, rest: str, header: bool) -> Piece:
    """The piece of a sentence, a heading or a table row; `header`: the row stands above a table's rule."""
    raw = lead + rest
    if unit is Unit.SPACE or (unit is Unit.ROW and is_separator(f"|{rest.rstrip()}\n", True)):
        return Piece(raw, "", (), Kind.SPACE, raw, "", "")
    core, tail = _part(unit, rest)
    body, citations = take_marks(core)
    text = plain(_CELL.sub(" ", body) if unit is Unit.ROW else body)
    return Piece(raw, text, citations, _kind(unit, text, header), lead, body, tail)


def make_code(lead: str, block: str, below: str, code: str, quoted: bool) -> Piece:
    """The piece of a code block, or of a part of one, with the marks below it; `code` is the block without fences."""
    code = _QUOTE.sub("", code) if quoted else code
    citations = take_marks(below)[1]
    body, tail = _part(Unit.TEXT, block)
    if below:
        tail = _part(Unit.TEXT, below)[1]
    return Piece(lead + block + below, visible(code.rstrip("\n")), citations, Kind.CODE, lead, body, tail)


def _part(unit: Unit, rest: str) -> tuple[str, str]:
    """What a piece says, and the layout that closes it."""
    found = _TAILS[unit].match(rest[::-1])
    end = len(rest) - (found.end() if found else 0)
    return rest[:end], rest[end:]


def _kind(unit: Unit, text: str, header: bool) -> Kind:
    """What a piece is; one without a word says nothing."""
    if not _WORD.search(text):
        return Kind.SPACE
    if unit is Unit.HEADING or header:
        return Kind.HEADING
    return Kind.ASIDE if unit is Unit.TEXT and is_aside(text) else Kind.CLAIM
