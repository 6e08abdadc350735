"""A draft as far as it has arrived: whoever needs to see more of it is told to wait."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glossator.core.text.sentences import MAX_SENTENCE, last_space
from glossator.verification.claims.citations import Mark, match_mark, may_be_mark
from glossator.verification.claims.layout import SPACE, breaks

MAX_RUN = 200
"""Longer white space, or a longer run of one sign, is cut: none of it may hold a sentence back for ever."""

_MAX_LINE = 500
"""What a line is must show in this many characters, or it is ordinary text."""

SPACES = re.compile(rf"[{SPACE}]*+")
_BLANK = re.compile(rf"[{SPACE}]*+\n")


class More(Exception):
    """The text that decides has not arrived."""


@dataclass(slots=True)
class Draft:
    """What has arrived of a draft and is not yet given out, and where it stands; `final`: nothing follows."""

    text: str = ""
    final: bool = False
    fresh: bool = True
    listed: bool = False
    quoted: bool = False
    table: bool = False
    cased: bool = False

    def at(self, position: int) -> str:
        """The character at a place, or nothing behind the end."""
        if position >= len(self.text) and not self.final:
            raise More
        return self.text[position : position + 1]

    def line(self, start: int) -> tuple[str, bool]:
        """The line from a place on, and whether it is all there or longer than anyone needs to see."""
        end = self.text.find("\n", start, start + _MAX_LINE)
        line = self.text[start : end + 1 if end >= 0 else start + _MAX_LINE]
        if end >= 0 or len(line) == _MAX_LINE:
            return line, True
        return (line + "\n", True) if self.final else (line, False)

    def run(self, pattern: re.Pattern[str], start: int) -> int:
        """The end of a run of characters, which is cut where it is too long."""
        found = pattern.match(self.text, start, start + MAX_RUN)
        end = found.end() if found else start
        if end < start + MAX_RUN:
            self.at(end)
        return end

    def mark(self, start: int) -> Mark | None:
        """The citation mark at a place."""
        self.at(start)
        if not self.final and may_be_mark(self.text, start):
            raise More
        return match_mark(self.text, start)

    def joined_mark(self, at: int, joined: bool) -> Mark | None:
        """The citation mark at a place, also behind the comma that joins it to the one before."""
        sign = self.at(at)
        comma = joined and sign != "" and sign in ",;،、"
        return self.mark(self.run(SPACES, at + 1) if comma else at)

    def breaks(self, at: int) -> bool:
        """Whether the line at a place ends the paragraph above it."""
        line, whole = self.line(at)
        return known(breaks(line, whole, self.listed, self.quoted))

    def blank(self, at: int) -> bool:
        """Whether the line at a place is blank."""
        line, whole = self.line(at)
        return known(True if _BLANK.match(line) else None if not whole and SPACES.fullmatch(line) else False)

    def leave(self, at: int) -> int:
        """The end of a paragraph whose last line ends at a place, with the blank line behind it."""
        blank = _BLANK.match(self.text, at)
        self.fresh = self.fresh or blank is not None
        return blank.end() if blank else at

    def cut(self, begin: int) -> int:
        """Where a piece without an end is cut: at white space, and not in a citation mark."""
        limit = begin + MAX_SENTENCE
        if not self.at(limit):
            return len(self.text)
        cut = last_space(self.text, begin, limit)
        bracket = self.text.rfind("[", cut - MAX_RUN, cut)
        return bracket if bracket > 0 and "]" not in self.text[bracket:cut] else cut


def known(answer: bool | None) -> bool:
    """An answer that has arrived."""
    if answer is None:
        raise More
    return answer
