"""Finds the end of a sentence or a code block in a draft that is still streaming."""

from __future__ import annotations

import re

from glossator.core.text.characters import INVISIBLE
from glossator.core.text.sentences import (
    CLOSERS,
    LOOKAHEAD_CHARACTERS,
    MAX_SENTENCE_LENGTH,
    OTHER_STOPS,
    STOPS,
    WIDE_STOPS,
    is_inside_sentence,
    needs_next_word,
)
from glossator.core.types import Span
from glossator.verification.claims.buffer import MAX_RUN, SPACE_RUN, DraftBuffer, NeedMoreText
from glossator.verification.claims.citations import CitationMark
from glossator.verification.claims.inline import PRICE
from glossator.verification.claims.layout import SPACES

MAX_CODE_LENGTH = 20_000
_QUOTES = re.compile(rf"[{SPACES}>]*+")
_GAP = re.compile(rf"[{SPACES}]*+\n?[{SPACES}]*+")
_ANY_STOP = STOPS + WIDE_STOPS + OTHER_STOPS
_STOP = re.compile(rf"[{STOPS}]++|[{WIDE_STOPS}]++|[{OTHER_STOPS}]++")
_CLOSING = re.compile(rf"[{CLOSERS}{INVISIBLE}]*+")
_AFTER_CITATION = re.compile(rf"[{CLOSERS}{INVISIBLE}{_ANY_STOP}]*+")
_SPECIAL = re.compile(rf"[{_ANY_STOP}`$\\\n]")
_IN_CODE, _IN_FORMULA = re.compile("[`\n]"), re.compile(r"[$\\\n]")
_TICKS, _AMOUNT = re.compile("`++"), re.compile(r"\$[\d.,]*+[kKmMbBn]*+")
_LABEL = re.compile(r"[^\[\]\n]*+")
_DOLLAR = "$"
_FORMULAS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_DISPLAYED = ("$$", "\\]")


class SentenceScanner:
    """Scans one sentence; `find_end` is called again whenever more text has arrived."""

    def __init__(self, draft: DraftBuffer, begin: int) -> None:
        self._draft = draft
        self._begin = self._at = self._scanned = begin
        self._region = ""

    def shift(self, width: int) -> None:
        """Adjust positions after characters were removed from the start of the buffer."""
        self._begin, self._at, self._scanned = self._begin - width, self._at - width, self._scanned - width

    def find_end(self) -> int:
        """The end of the sentence, including the citations and white space after it."""
        text, limit = self._draft.text, self._begin + MAX_SENTENCE_LENGTH
        while self._at < limit:
            special = _SPECIAL if not self._region else _IN_CODE if self._region[0] == "`" else _IN_FORMULA
            found = special.search(text, self._at, limit)
            if not found:
                self._at = min(limit, len(text))
                break
            end = self._read_special(found.start())
            if end is not None:
                return end
        return self._draft.cut_point(self._begin)

    def _read_special(self, at: int) -> int | None:
        """Read a special character; the end of the sentence, if it ends here."""
        character = self._draft.text[at]
        if character == "\n":
            return self._read_newline(at)
        if character not in "`$\\":
            return self._read_stop(at)
        delimiter = self._delimiter(at)
        if not self._region:
            self._region = self._closing_delimiter(delimiter, at)
        elif delimiter == self._region and not (
            character == delimiter == _DOLLAR and self._draft.text[at - 1].isspace()
        ):
            self._region = ""
        self._at = at + len(delimiter)
        return None

    def _delimiter(self, at: int) -> str:
        """A run of backticks, one or two dollar signs, or a backslash with the character it escapes."""
        text = self._draft.text
        if text[at] == "`":
            return text[at : self._draft.run_end(_TICKS, at)]
        following = self._draft.char_at(at + 1)
        if text[at] == _DOLLAR:
            return "$$" if following == _DOLLAR and self._region != _DOLLAR else _DOLLAR
        return text[at] if following == "\n" else text[at : at + 2]

    def _closing_delimiter(self, delimiter: str, at: int) -> str:
        """What closes the code or formula that a delimiter opens; empty if it opens none."""
        if delimiter[0] == "`":
            return delimiter
        return _DOLLAR if delimiter == _DOLLAR and self._is_formula(at) else _FORMULAS.get(delimiter, "")

    def _is_formula(self, at: int) -> bool:
        """Whether a dollar sign opens a formula rather than a price."""
        self._draft.run_end(_AMOUNT, at)
        following = self._draft.char_at(at + 1)
        price = PRICE.match(self._draft.text, at, at + MAX_RUN)
        return not (price or not following or following.isspace() or following in ".,;:!?)")

    def _read_newline(self, at: int) -> int | None:
        """The end of the sentence if its paragraph ends with this line."""
        draft = self._draft
        if draft.is_blank_line(at + 1) if self._region in _DISPLAYED else draft.ends_paragraph_at(at + 1):
            return draft.close_paragraph(at + 1)
        self._at = at + 1
        return None

    def _read_stop(self, at: int) -> int | None:
        """The end of the sentence if it ends with this full stop."""
        draft = self._draft
        stop = draft.run_end(_STOP, at)
        after = draft.run_end(_CLOSING, stop)
        following = draft.char_at(after)
        if draft.text[at] in WIDE_STOPS or not following or following.isspace() or draft.citation_at(after):
            end, beyond, ended = self._after_stop(after)
            if ended or not (self._continues(at, stop, beyond) or self._in_link_label(at)):
                return end
        self._at = self._scanned = after
        return None

    def _continues(self, at: int, stop: int, beyond: int) -> bool:
        """Whether the sentence continues after a full stop, by the rules of `core.text.sentences`."""
        text, begin = self._draft.text, self._begin
        if text[at] not in STOPS:
            return False
        before, rest = text[max(begin, at - 40) : at], text[beyond : beyond + LOOKAHEAD_CHARACTERS]
        has_uppercase = self._draft.has_uppercase or text[begin:at] != text[begin:at].lower()
        whole = self._draft.complete or len(rest) == LOOKAHEAD_CHARACTERS or len(f"{rest}.".split()) > 1
        if not whole and needs_next_word(before, text[at:stop], rest, has_uppercase):
            raise NeedMoreText
        return is_inside_sentence(before, text[at:stop], rest, has_uppercase)

    def _in_link_label(self, at: int) -> bool:
        """Whether a full stop is inside the label of a link, which must not be split."""
        draft = self._draft
        bracket = draft.text.rfind("[", max(self._begin, at - MAX_RUN), at)
        if bracket < 0 or "]" in draft.text[bracket:at]:
            return False
        end = draft.run_end(_LABEL, at)
        return draft.char_at(end) == "]" and draft.char_at(end + 1) == "("

    def _after_stop(self, after: int) -> tuple[int, int, bool]:
        """Skip citations and white space after a full stop: the end, the next position, and whether the block ends."""
        draft, end = self._draft, max(after, self._scanned)
        while end < self._begin + 2 * MAX_SENTENCE_LENGTH:
            at = draft.run_end(SPACE_RUN, end)
            if at - end == MAX_RUN:
                break
            end = at
            if draft.char_at(at) == "\n":
                if draft.ends_paragraph_at(at + 1):
                    return draft.close_paragraph(at + 1), at, True
                end = at + 1
                at = draft.run_end(_QUOTES if draft.in_quote else SPACE_RUN, end)
            mark = draft.next_citation(at, end > after)
            if not mark:
                return end, at, False
            end = self._scanned = self._mark_end(mark)
        return end, end, True

    def _mark_end(self, mark: CitationMark) -> int:
        """The end of a citation mark, with closing quotes, emphasis or a second full stop after it."""
        end = self._draft.run_end(_AFTER_CITATION, mark.end)
        following = self._draft.char_at(end)
        return mark.end if following and not following.isspace() else end


class CodeBlockScanner:
    """Scans a fenced code block, or the rest of one that was cut.

    `block_end` is where the block ends, without citations below it; `code` is the span between the fences.
    """

    def __init__(self, draft: DraftBuffer, fence: str, start: int, at: int, line_start: bool) -> None:
        self._draft = draft
        self._fence, self._start, self._at, self._line_start = fence, start, at, line_start
        self._scanned = start
        self._code_start = at
        self.closed, self.was_cut = False, False
        self.block_end, self.code = start, Span(at, at)

    def shift(self, width: int) -> None:
        """Adjust positions after characters were removed from the start of the buffer."""
        self._start, self._at, self._scanned = self._start - width, self._at - width, self._scanned - width
        self._code_start -= width

    def find_end(self) -> int:
        """The end of the block, or of the part of it that fits into one segment."""
        text, limit = self._draft.text, self._start + MAX_CODE_LENGTH
        while True:
            end = text.find("\n", self._at, limit) + 1
            if not end and len(text) >= limit:
                self.was_cut = True
                return self._finish(self._at if self._at - self._start > MAX_CODE_LENGTH // 2 else limit)
            if not end and not self._draft.complete:
                raise NeedMoreText
            if self._ends_at(text[self._at : end or limit]):
                return self._finish(end or len(text)) if self.closed else self._finish(self._at)
            if not end:
                return self._finish(len(text))
            self._at = end

    def _ends_at(self, line: str) -> bool:
        """Whether a line closes the block, or is outside the block quote that the block is in."""
        inside = self._at > self._start
        ticks = line.strip().lstrip("> ") if self._draft.in_quote else line.strip()
        fenced = len(ticks) >= len(self._fence) and ticks == self._fence[0] * len(ticks)
        self.closed = fenced and (inside or self._line_start)
        return self.closed or (inside and self._draft.in_quote and not line.lstrip().startswith(">"))

    def _finish(self, end: int) -> int:
        """The end of the segment when the code itself ends at `end`."""
        self.block_end, self.code = end, Span(self._code_start, self._at if self.closed else end)
        below = self._citations_below(end) if self.closed and self._draft.text[end - 1] == "\n" else end
        self._draft.new_block = True
        return below

    def _citations_below(self, end: int) -> int:
        """The end of the paragraph below the block if it has only citation marks, else the end of the block."""
        draft = self._draft
        at = max(draft.run_end(_GAP, end), self._scanned)
        while mark := draft.next_citation(at, self._scanned > end):
            at = self._scanned = draft.run_end(SPACE_RUN, mark.end)
        following = draft.char_at(at)
        if self._scanned <= end or following not in ("", "\n"):
            return end
        if not following:
            return at
        return draft.close_paragraph(at + 1) if draft.ends_paragraph_at(at + 1) else end
