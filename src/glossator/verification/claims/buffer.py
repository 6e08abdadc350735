"""Buffers a streamed draft; raises `NeedMoreText` if the next text is needed to decide."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glossator.core.text.sentences import MAX_SENTENCE_LENGTH, last_space
from glossator.verification.claims.citations import CitationMark, match_citation, may_be_citation
from glossator.verification.claims.layout import SPACES, ends_paragraph

MAX_RUN = 200
"""Longer runs of white space or punctuation are cut, so that they cannot delay a sentence indefinitely."""

_MAX_LINE_START = 500
"""A line whose kind is not clear after this many characters is ordinary text."""

SPACE_RUN = re.compile(rf"[{SPACES}]*+")
_BLANK = re.compile(rf"[{SPACES}]*+\n")


class NeedMoreText(Exception):
    """The text that decides has not arrived yet."""


@dataclass(slots=True)
class DraftBuffer:
    """The part of a draft that has arrived and is not yet split, and the state of the block it is in.

    `complete`: the draft ends here. `has_uppercase`: an earlier segment has capitals.
    """

    text: str = ""
    complete: bool = False
    new_block: bool = True
    in_list: bool = False
    in_quote: bool = False
    in_table: bool = False
    has_uppercase: bool = False

    def char_at(self, position: int) -> str:
        """The character at a position; empty after the end of the draft."""
        if position >= len(self.text) and not self.complete:
            raise NeedMoreText
        return self.text[position : position + 1]

    def line_at(self, start: int) -> tuple[str, bool]:
        """The line from a position, and whether it is complete (or long enough to decide what it is)."""
        end = self.text.find("\n", start, start + _MAX_LINE_START)
        line = self.text[start : end + 1 if end >= 0 else start + _MAX_LINE_START]
        if end >= 0 or len(line) == _MAX_LINE_START:
            return line, True
        return (line + "\n", True) if self.complete else (line, False)

    def run_end(self, pattern: re.Pattern[str], start: int) -> int:
        """The end of a run of characters, at most MAX_RUN long."""
        found = pattern.match(self.text, start, start + MAX_RUN)
        end = found.end() if found else start
        if end < start + MAX_RUN:
            self.char_at(end)
        return end

    def citation_at(self, start: int) -> CitationMark | None:
        """The citation mark at a position."""
        self.char_at(start)
        if not self.complete and may_be_citation(self.text, start):
            raise NeedMoreText
        return match_citation(self.text, start)

    def next_citation(self, at: int, joined: bool) -> CitationMark | None:
        """The citation mark at a position; `joined`: a comma after the previous mark may come first."""
        character = self.char_at(at)
        comma = joined and character != "" and character in ",;،、"
        return self.citation_at(self.run_end(SPACE_RUN, at + 1) if comma else at)

    def ends_paragraph_at(self, at: int) -> bool:
        """Whether the line at a position ends the paragraph above it."""
        line, whole = self.line_at(at)
        return require_known(ends_paragraph(line, whole, self.in_list, self.in_quote))

    def is_blank_line(self, at: int) -> bool:
        """Whether the line at a position is blank."""
        line, whole = self.line_at(at)
        return require_known(True if _BLANK.match(line) else None if not whole and SPACE_RUN.fullmatch(line) else False)

    def close_paragraph(self, at: int) -> int:
        """The end of a paragraph whose last line ends at a position, including a blank line after it."""
        blank = _BLANK.match(self.text, at)
        self.new_block = self.new_block or blank is not None
        return blank.end() if blank else at

    def cut_point(self, begin: int) -> int:
        """Where to cut a segment that is too long: at white space, and not inside a citation mark."""
        limit = begin + MAX_SENTENCE_LENGTH
        if not self.char_at(limit):
            return len(self.text)
        cut = last_space(self.text, begin, limit)
        bracket = self.text.rfind("[", cut - MAX_RUN, cut)
        return bracket if bracket > 0 and "]" not in self.text[bracket:cut] else cut


def require_known(answer: bool | None) -> bool:
    """The answer, unless it depends on text that has not arrived."""
    if answer is None:
        raise NeedMoreText
    return answer
