"""Where a sentence or a code block ends, in a draft that is still arriving."""

from __future__ import annotations

import re

from glossator.core.text.sentences import (
    CLOSERS,
    MAX_SENTENCE,
    OTHER_STOPS,
    REACH,
    STOPS,
    WIDE_STOPS,
    goes_on,
    needs_word,
)
from glossator.core.types import Span
from glossator.verification.claims.buffer import MAX_RUN, SPACES, Draft, More
from glossator.verification.claims.citations import INVISIBLE, PRICE, Mark
from glossator.verification.claims.layout import SPACE

MAX_CODE = 20_000
_QUOTES = re.compile(rf"[{SPACE}>]*+")
_GAP = re.compile(rf"[{SPACE}]*+\n?[{SPACE}]*+")
_ANY_STOP = STOPS + WIDE_STOPS + OTHER_STOPS
_STOP = re.compile(rf"[{STOPS}]++|[{WIDE_STOPS}]++|[{OTHER_STOPS}]++")
_CLOSING = re.compile(rf"[{CLOSERS}{INVISIBLE}]*+")
_AFTER_MARK = re.compile(rf"[{CLOSERS}{INVISIBLE}{_ANY_STOP}]*+")
_SIGN = re.compile(rf"[{_ANY_STOP}`$\\\n]")
_IN_CODE, _IN_FORMULA = re.compile("[`\n]"), re.compile(r"[$\\\n]")
_TICKS, _AMOUNT = re.compile("`++"), re.compile(r"\$[\d.,]*+[kKmMbBn]*+")
_LABEL = re.compile(r"[^\[\]\n]*+")
_DOLLAR = "$"
_FORMULAS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_DISPLAYED = ("$$", "\\]")


class Sentence:
    """A sentence from its first character on; `end` is asked again whenever more text has arrived."""

    def __init__(self, draft: Draft, begin: int) -> None:
        self._draft = draft
        self._begin = self._at = self._passed = begin
        self._region = ""

    def shift(self, width: int) -> None:
        """Note that the draft lost characters at its front."""
        self._begin, self._at, self._passed = self._begin - width, self._at - width, self._passed - width

    def end(self) -> int:
        """Where the sentence ends, with the marks and the white space behind it."""
        text, limit = self._draft.text, self._begin + MAX_SENTENCE
        while self._at < limit:
            signs = _SIGN if not self._region else _IN_CODE if self._region[0] == "`" else _IN_FORMULA
            found = signs.search(text, self._at, limit)
            if not found:
                self._at = min(limit, len(text))
                break
            end = self._read(found.start())
            if end is not None:
                return end
        return self._draft.cut(self._begin)

    def _read(self, at: int) -> int | None:
        """Go past a sign; the end of the sentence, if it is there."""
        sign = self._draft.text[at]
        if sign == "\n":
            return self._newline(at)
        if sign not in "`$\\":
            return self._stop(at)
        delimiter = self._delimiter(at)
        if not self._region:
            self._region = self._opened_by(delimiter, at)
        elif delimiter == self._region and not (sign == delimiter == _DOLLAR and self._draft.text[at - 1].isspace()):
            self._region = ""
        self._at = at + len(delimiter)
        return None

    def _delimiter(self, at: int) -> str:
        """A run of ticks, a dollar sign or two, or a backslash with what it escapes."""
        text = self._draft.text
        if text[at] == "`":
            return text[at : self._draft.run(_TICKS, at)]
        following = self._draft.at(at + 1)
        if text[at] == _DOLLAR:
            return "$$" if following == _DOLLAR and self._region != _DOLLAR else _DOLLAR
        return text[at] if following == "\n" else text[at : at + 2]

    def _opened_by(self, delimiter: str, at: int) -> str:
        """What closes the code or the formula that a delimiter opens; nothing if it opens none."""
        if delimiter[0] == "`":
            return delimiter
        return _DOLLAR if delimiter == _DOLLAR and self._is_formula(at) else _FORMULAS.get(delimiter, "")

    def _is_formula(self, at: int) -> bool:
        """Whether a dollar sign opens a formula, and names no price."""
        self._draft.run(_AMOUNT, at)
        following = self._draft.at(at + 1)
        price = PRICE.match(self._draft.text, at, at + MAX_RUN)
        return not (price or not following or following.isspace() or following in ".,;:!?)")

    def _newline(self, at: int) -> int | None:
        """Where the sentence ends if its paragraph ends with this line."""
        draft = self._draft
        if draft.blank(at + 1) if self._region in _DISPLAYED else draft.breaks(at + 1):
            return draft.leave(at + 1)
        self._at = at + 1
        return None

    def _stop(self, at: int) -> int | None:
        """Where the sentence ends if it ends with this full stop."""
        draft = self._draft
        stop = draft.run(_STOP, at)
        after = draft.run(_CLOSING, stop)
        following = draft.at(after)
        if draft.text[at] in WIDE_STOPS or not following or following.isspace() or draft.mark(after):
            end, beyond, ended = self._behind(after)
            if ended or not (self._goes_on(at, stop, beyond) or self._in_link(at)):
                return end
        self._at = self._passed = after
        return None

    def _goes_on(self, at: int, stop: int, beyond: int) -> bool:
        """Whether the sentence goes on behind a full stop, as `core.sentences` sees it."""
        text, begin = self._draft.text, self._begin
        if text[at] not in STOPS:
            return False
        before, rest = text[max(begin, at - 40) : at], text[beyond : beyond + REACH]
        cased = self._draft.cased or text[begin:at] != text[begin:at].lower()
        whole = self._draft.final or len(rest) == REACH or len(f"{rest}.".split()) > 1
        if not whole and needs_word(before, text[at:stop], rest, cased):
            raise More
        return goes_on(before, text[at:stop], rest, cased)

    def _in_link(self, at: int) -> bool:
        """Whether a full stop stands in the text of a link, which is not to be torn."""
        draft = self._draft
        bracket = draft.text.rfind("[", max(self._begin, at - MAX_RUN), at)
        if bracket < 0 or "]" in draft.text[bracket:at]:
            return False
        end = draft.run(_LABEL, at)
        return draft.at(end) == "]" and draft.at(end + 1) == "("

    def _behind(self, after: int) -> tuple[int, int, bool]:
        """Past the marks and white space behind a full stop: the piece's end, what follows, and if the block ends."""
        draft, end = self._draft, max(after, self._passed)
        while end < self._begin + 2 * MAX_SENTENCE:
            at = draft.run(SPACES, end)
            if at - end == MAX_RUN:
                break
            end = at
            if draft.at(at) == "\n":
                if draft.breaks(at + 1):
                    return draft.leave(at + 1), at, True
                end = at + 1
                at = draft.run(_QUOTES if draft.quoted else SPACES, end)
            mark = draft.joined_mark(at, end > after)
            if not mark:
                return end, at, False
            end = self._passed = self._close(mark)
        return end, end, True

    def _close(self, mark: Mark) -> int:
        """The end of a mark, with the quotation marks, emphasis or second full stop that close it."""
        end = self._draft.run(_AFTER_MARK, mark.end)
        following = self._draft.at(end)
        return mark.end if following and not following.isspace() else end


class CodeBlock:
    """A fenced code block, or what is left of one after it was cut; `block` is where it ends, `code` is within it."""

    def __init__(self, draft: Draft, fence: str, start: int, at: int, line_start: bool) -> None:
        self._draft = draft
        self._fence, self._start, self._at, self._line_start = fence, start, at, line_start
        self._passed = start
        self._inner = at
        self.closed, self.goes_on = False, False
        self.block, self.code = start, Span(at, at)

    def shift(self, width: int) -> None:
        """Note that the draft lost characters at its front."""
        self._start, self._at, self._passed = self._start - width, self._at - width, self._passed - width
        self._inner -= width

    def end(self) -> int:
        """The end of the block, or of as much of it as one piece may hold."""
        text, limit = self._draft.text, self._start + MAX_CODE
        while True:
            end = text.find("\n", self._at, limit) + 1
            if not end and len(text) >= limit:
                self.goes_on = True
                return self._leave(self._at if self._at - self._start > MAX_CODE // 2 else limit)
            if not end and not self._draft.final:
                raise More
            if self._is_over(text[self._at : end or limit]):
                return self._leave(end or len(text)) if self.closed else self._leave(self._at)
            if not end:
                return self._leave(len(text))
            self._at = end

    def _is_over(self, line: str) -> bool:
        """Whether a line closes the block, or stands behind the quotation that the block is in."""
        inside = self._at > self._start
        ticks = line.strip().lstrip("> ") if self._draft.quoted else line.strip()
        fenced = len(ticks) >= len(self._fence) and ticks == self._fence[0] * len(ticks)
        self.closed = fenced and (inside or self._line_start)
        return self.closed or (inside and self._draft.quoted and not line.lstrip().startswith(">"))

    def _leave(self, end: int) -> int:
        """The end of the piece when the code itself ends at `end`."""
        self.block, self.code = end, Span(self._inner, self._at if self.closed else end)
        below = self._marks_below(end) if self.closed and self._draft.text[end - 1] == "\n" else end
        self._draft.fresh = True
        return below

    def _marks_below(self, end: int) -> int:
        """The end of the paragraph below the block if it holds nothing but citation marks, else the block's end."""
        draft = self._draft
        at = max(draft.run(_GAP, end), self._passed)
        while mark := draft.joined_mark(at, self._passed > end):
            at = self._passed = draft.run(SPACES, mark.end)
        following = draft.at(at)
        if self._passed <= end or following not in ("", "\n"):
            return end
        if not following:
            return at
        return draft.leave(at + 1) if draft.breaks(at + 1) else end
