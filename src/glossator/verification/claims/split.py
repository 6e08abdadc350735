"""Splits a streamed draft into segments: each sentence as soon as it is complete, with its citations."""

from __future__ import annotations

import re

from glossator.core.text.sentences import MAX_SENTENCE_LENGTH
from glossator.verification.claims.asides import is_aside
from glossator.verification.claims.buffer import MAX_RUN, SPACE_RUN, DraftBuffer, NeedMoreText, require_known
from glossator.verification.claims.layout import SPACES, LineKind, is_delimiter_row, is_underline, parse_line_start
from glossator.verification.claims.scan import CodeBlockScanner, SentenceScanner
from glossator.verification.claims.segments import Segment, SegmentKind, make_code_segment, make_segment

__all__ = ["DraftSplitter", "Segment", "SegmentKind", "is_aside", "split_draft"]

_BLANKS = re.compile(rf"(?:[{SPACES}]*+\n)*+")
_QUOTES = re.compile(rf"[{SPACES}>]*+")


class DraftSplitter:
    """Splits a draft that arrives in pieces of any size; returns each segment as soon as it is complete."""

    def __init__(self) -> None:
        self._draft = DraftBuffer()
        self._start = self._body = 0
        self._line_start = True
        self._fence = ""
        self._cut_kind = LineKind.TEXT
        self._line_kind: LineKind | None = None
        self._scanner: SentenceScanner | CodeBlockScanner | None = None

    def feed(self, text: str) -> list[Segment]:
        """The segments that are complete with this text."""
        removed = self._start
        self._draft.text = self._draft.text[removed:] + text
        self._start, self._body = 0, self._body - removed
        if self._scanner:
            self._scanner.shift(removed)
        return self._drain()

    def finish(self) -> list[Segment]:
        """The remaining segments, at the end of the draft."""
        self._draft.complete = True
        return self._drain()

    def _drain(self) -> list[Segment]:
        """Every segment that is complete."""
        segments = []
        try:
            while self._start < len(self._draft.text):
                segments.append(self._next_segment())
        except NeedMoreText:
            pass
        return segments

    def _next_segment(self) -> Segment:
        """The next segment; raises `NeedMoreText` if it is not complete."""
        kind = self._line_kind or self._start_segment()
        header, draft = False, self._draft
        if self._scanner:
            end = self._scanner.find_end()
            header = kind is LineKind.TEXT and self._is_underlined(end)
        elif kind is LineKind.SPACE:
            end, draft.new_block = self._body, True
        else:
            end, header = self._line_end(kind)
        segment = self._make_segment(kind, end, header)
        self._line_start = segment.raw.endswith("\n")
        draft.has_uppercase = draft.has_uppercase or segment.raw != segment.raw.lower()
        self._start, self._line_kind, self._scanner = end, None, None
        return segment

    def _is_underlined(self, end: int) -> bool:
        """Whether the next line makes a heading of a segment that ends with its line."""
        draft = self._draft
        ends_line = draft.text[end - 1] == "\n" and not draft.new_block
        return self._line_start and ends_line and is_underline(draft.line_at(end)[0])

    def _make_segment(self, kind: LineKind, end: int, header: bool) -> Segment:
        """The segment that ends at a position."""
        text, body, block = self._draft.text, self._body, self._scanner
        prefix = text[self._start : body]
        if not isinstance(block, CodeBlockScanner):
            return make_segment(kind, prefix, text[body:end], header)
        self._fence = self._fence if block.was_cut else ""
        code = text[block.code.start : block.code.end]
        return make_code_segment(
            prefix, text[body : block.block_end], text[block.block_end : end], code, self._draft.in_quote
        )

    def _start_segment(self) -> LineKind:
        """Read the layout before a segment and return what the segment is."""
        draft, start = self._draft, self._start
        if self._fence:
            return self._begin(LineKind.CODE, start, start)
        if not self._line_start:
            at = draft.run_end(SPACE_RUN, start)
            if draft.char_at(at) != "\n":
                return self._begin(self._cut_kind, at, at)
        found = _BLANKS.match(draft.text, start, start + MAX_RUN)
        at = found.end() if found else start
        if at == start + MAX_RUN:
            return self._begin(LineKind.SPACE, at, at)
        if draft.text.count("\n", start, at) + self._line_start > 1:
            draft.new_block, draft.in_table = True, False
        return self._start_line(at)

    def _start_line(self, at: int) -> LineKind:
        """Read the layout at the start of a line."""
        draft = self._draft
        line, whole = draft.line_at(at)
        parsed = parse_line_start(line, whole, draft.new_block or draft.in_list)
        if parsed is None:
            raise NeedMoreText
        in_list = _QUOTES.fullmatch(parsed.markers) is None
        draft.in_list = in_list or (draft.in_list and not draft.new_block)
        draft.in_quote = ">" in parsed.markers or (draft.in_quote and not draft.new_block)
        draft.in_table = draft.in_table and parsed.kind is LineKind.ROW
        draft.new_block, self._cut_kind, self._fence = False, LineKind.TEXT, parsed.fence
        return self._begin(parsed.kind, min(at + parsed.width, len(draft.text)), at + len(line))

    def _begin(self, kind: LineKind, body: int, code_start: int) -> LineKind:
        """Begin a segment whose body starts at a position; code starts on the line after its fence, at `code_start`."""
        self._line_kind, self._body = kind, body
        if kind is LineKind.TEXT:
            self._scanner = SentenceScanner(self._draft, body)
        elif kind is LineKind.CODE:
            self._scanner = CodeBlockScanner(self._draft, self._fence, self._start, code_start, self._line_start)
        return kind

    def _line_end(self, kind: LineKind) -> tuple[int, bool]:
        """The end of a heading or table row, and whether the row is the header of a table."""
        draft = self._draft
        end = draft.text.find("\n", self._body, self._body + MAX_SENTENCE_LENGTH)
        if end < 0:
            cut, self._cut_kind = draft.cut_point(self._body), kind
            return cut, False
        opens_table = kind is LineKind.ROW and not draft.in_table
        header = opens_table and require_known(is_delimiter_row(*draft.line_at(end + 1)))
        draft.in_table = kind is LineKind.ROW
        draft.new_block, self._cut_kind = True, LineKind.TEXT
        return end + 1, header


def split_draft(draft: str) -> list[Segment]:
    """The segments of a complete draft."""
    splitter = DraftSplitter()
    return [*splitter.feed(draft), *splitter.finish()]
