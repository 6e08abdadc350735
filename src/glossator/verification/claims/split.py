"""A draft becomes pieces as it arrives: each sentence as soon as it is complete, with its own citations."""

from __future__ import annotations

import re

from glossator.core.text.sentences import MAX_SENTENCE
from glossator.verification.claims.asides import is_aside
from glossator.verification.claims.buffer import MAX_RUN, SPACES, Draft, More, known
from glossator.verification.claims.layout import SPACE, Unit, is_separator, read_opening
from glossator.verification.claims.scan import CodeBlock, Sentence
from glossator.verification.claims.segments import Kind, Piece, make_code, make_piece

__all__ = ["Kind", "Piece", "Splitter", "is_aside", "split_claims"]

_BLANKS = re.compile(rf"(?:[{SPACE}]*+\n)*+")
_QUOTES = re.compile(rf"[{SPACE}>]*+")


class Splitter:
    """Takes a draft in chunks of any size and gives its pieces, each as soon as it is certain."""

    def __init__(self) -> None:
        self._draft = Draft()
        self._start = self._body = 0
        self._line_start = True
        self._fence = ""
        self._cut_unit = Unit.TEXT
        self._unit: Unit | None = None
        self._reader: Sentence | CodeBlock | None = None

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this much more text completes."""
        given = self._start
        self._draft.text = self._draft.text[given:] + text
        self._start, self._body = 0, self._body - given
        if self._reader:
            self._reader.shift(given)
        return self._drain()

    def finish(self) -> list[Piece]:
        """The pieces that are left."""
        self._draft.final = True
        return self._drain()

    def _drain(self) -> list[Piece]:
        """Every piece that is certain."""
        pieces = []
        try:
            while self._start < len(self._draft.text):
                pieces.append(self._next())
        except More:
            pass
        return pieces

    def _next(self) -> Piece:
        """The next piece, when enough of the draft is there."""
        unit = self._unit or self._open()
        header, draft = False, self._draft
        if self._reader:
            end = self._reader.end()
        elif unit is Unit.SPACE:
            end, draft.fresh = self._body, True
        else:
            end, header = self._line_end(unit)
        piece = self._piece(unit, end, header)
        self._line_start = piece.raw.endswith("\n")
        draft.cased = draft.cased or piece.raw != piece.raw.lower()
        self._start, self._unit, self._reader = end, None, None
        return piece

    def _piece(self, unit: Unit, end: int, header: bool) -> Piece:
        """The piece that ends at a place."""
        text, body, block = self._draft.text, self._body, self._reader
        lead = text[self._start : body]
        if not isinstance(block, CodeBlock):
            return make_piece(unit, lead, text[body:end], header)
        self._fence = self._fence if block.goes_on else ""
        code = text[block.code.start : block.code.end]
        return make_code(lead, text[body : block.block], text[block.block : end], code, self._draft.quoted)

    def _open(self) -> Unit:
        """Read the layout before a piece, and know what it opens."""
        draft, start = self._draft, self._start
        if self._fence:
            return self._enter(Unit.CODE, start, start)
        if not self._line_start:
            at = draft.run(SPACES, start)
            if draft.at(at) != "\n":
                return self._enter(self._cut_unit, at, at)
        found = _BLANKS.match(draft.text, start, start + MAX_RUN)
        at = found.end() if found else start
        if at == start + MAX_RUN:
            return self._enter(Unit.SPACE, at, at)
        if draft.text.count("\n", start, at) + self._line_start > 1:
            draft.fresh, draft.table = True, False
        return self._open_line(at)

    def _open_line(self, at: int) -> Unit:
        """Read the layout of the line that a piece begins with."""
        draft = self._draft
        line, whole = draft.line(at)
        opening = read_opening(line, whole, draft.fresh or draft.listed)
        if opening is None:
            raise More
        marked = _QUOTES.fullmatch(opening.marks) is None
        draft.listed = marked or (draft.listed and not draft.fresh)
        draft.quoted = ">" in opening.marks or (draft.quoted and not draft.fresh)
        draft.table = draft.table and opening.unit is Unit.ROW
        draft.fresh, self._cut_unit, self._fence = False, Unit.TEXT, opening.fence
        return self._enter(opening.unit, min(at + opening.width, len(draft.text)), at + len(line))

    def _enter(self, unit: Unit, body: int, inner: int) -> Unit:
        """Note what a piece is and where its body begins; code begins with the line behind its fence, at `inner`."""
        self._unit, self._body = unit, body
        if unit is Unit.TEXT:
            self._reader = Sentence(self._draft, body)
        elif unit is Unit.CODE:
            self._reader = CodeBlock(self._draft, self._fence, self._start, inner, self._line_start)
        return unit

    def _line_end(self, unit: Unit) -> tuple[int, bool]:
        """The end of a heading or a table row, and whether the row is a table's header."""
        draft = self._draft
        end = draft.text.find("\n", self._body, self._body + MAX_SENTENCE)
        if end < 0:
            cut, self._cut_unit = draft.cut(self._body), unit
            return cut, False
        opens_table = unit is Unit.ROW and not draft.table
        header = opens_table and known(is_separator(*draft.line(end + 1)))
        draft.table = unit is Unit.ROW
        draft.fresh, self._cut_unit = True, Unit.TEXT
        return end + 1, header


def split_claims(draft: str) -> list[Piece]:
    """The pieces of a draft that is all there."""
    splitter = Splitter()
    return [*splitter.feed(draft), *splitter.finish()]
