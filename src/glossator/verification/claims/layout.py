"""Recognizes Markdown blocks by the start of a line, even while the line is incomplete."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from glossator.core.text.characters import INVISIBLE
from glossator.core.text.sentences import OTHER_STOPS, STOPS, WIDE_STOPS

_WHITE_SPACE = " \t\r\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPACES = _WHITE_SPACE + INVISIBLE
"""White space and invisible characters within a line, for use in a character class."""

_RULE = rf"([-*_=])(?:[{SPACES}]*\1){{2,}}[{SPACES}]*\n"
_CHECKBOX = rf"(?:\[[ xX]\](?=[{_WHITE_SPACE}\n]))?"
_STOPS = STOPS + WIDE_STOPS + OTHER_STOPS
_TITLE = rf"(?:[^*\n{_STOPS}]|\.(?![\s*]))"


def _prefix(number: str) -> re.Pattern[str]:
    """Block quote and list markers at the start of a line."""
    marker = rf"(?:[-*+•]|{number}[.)])(?=[{_WHITE_SPACE}\n])"
    return re.compile(rf"(?:[{SPACES}]*+(?:>|{marker}))*+[{SPACES}]*+{_CHECKBOX}[{SPACES}]*+")


def _paragraph_break(number: str) -> re.Pattern[str]:
    """The start of a line that ends the paragraph above it."""
    marker = rf"(?:[-*+•]|#{{1,6}}|{number}[.)])[{_WHITE_SPACE}\n]"
    return re.compile(rf"\n|>|\||{marker}|`{{3,}}[^`\n]*\n|~{{3,}}|{_RULE}")


# Inside a paragraph only `1.` starts a list: a line may begin with `40.` because the text was wrapped there.
_PREFIXES = {True: _prefix("[0-9]{1,3}"), False: _prefix("1")}
_BREAKS = {True: _paragraph_break("[0-9]{1,3}"), False: _paragraph_break("1")}
_INDENT = {True: re.compile(rf"[{SPACES}>]*+"), False: re.compile(rf"[{SPACES}]*+")}
_FENCE = re.compile(r"(`{3,})[^`\n]*\n|(~{3,})[^\n]*\n")
_HEADING = re.compile(rf"#{{1,6}}(?:[{_WHITE_SPACE}]+|(?=\n))")
_TABLE_ROW = re.compile(rf"\|[{SPACES}]*")
_RULE_OR_BLANK = re.compile(rf"{_RULE}|\n?\Z")
_BOLD_HEADING = re.compile(
    rf"(?P<b>\*\*|__)(?=\S)(?:[0-9]{{1,3}}[.)][{SPACES}]*)?{_TITLE}{{1,120}}(?P=b):?[{SPACES}]*\n",
)
_PARTIAL_BREAK = re.compile(
    rf"(?:[-*+•]|[0-9]{{1,3}}[.)]?|#{{1,6}}|`{{1,2}}|`{{3,}}[^`]*|~{{1,2}}|([-*_=])(?:[{SPACES}]*\1)*[{SPACES}]*)?"
)
_PARTIAL_START = re.compile(
    rf"(?:\||#{{1,6}})[{SPACES}]*|~{{3,}}.*|\[[ xX]?\]?"
    rf"|(?:\*\*|__)(?:[0-9]{{1,3}}[.)]?[{SPACES}]*)?{_TITLE}{{0,120}}(?:\*\*?:?[{SPACES}]*)?"
)
_UNDERLINE = re.compile(rf"={{3,}}[{SPACES}]*+\n")
_DELIMITER_ROW = re.compile(rf"[{SPACES}>]*\|?(?:[{SPACES}]*:?-+:?[{SPACES}]*\|)*(?:[{SPACES}]*:?-+:?[{SPACES}]*)?\n")
_PARTIAL_DELIMITER_ROW = re.compile(rf"[{SPACES}>|:-]*")


class LineKind(Enum):
    """What a line starts, and so how far its segment goes: to the end of a sentence, a line or a code block."""

    TEXT = auto()
    HEADING = auto()
    ROW = auto()
    CODE = auto()
    SPACE = auto()


@dataclass(frozen=True, slots=True)
class LineStart:
    """The start of a line: `width` is the layout before its first word, `markers` its block quote and list markers."""

    kind: LineKind
    width: int
    markers: str
    fence: str = ""


def parse_line_start(line: str, whole: bool, numbered: bool) -> LineStart | None:
    """What a line starts; None if the rest of the line decides. `numbered`: any number may start a list item."""
    found = _PREFIXES[numbered].match(line)
    markers = found[0] if found else ""
    rest = line[len(markers) :]
    if not whole and (_PARTIAL_BREAK.fullmatch(rest) or _PARTIAL_START.fullmatch(rest)):
        return None
    if fence := _FENCE.match(rest):
        return LineStart(LineKind.CODE, len(markers), markers, fence[1] or fence[2])
    if _RULE_OR_BLANK.match(rest):
        return LineStart(LineKind.SPACE, len(line), markers)
    for kind, pattern in ((LineKind.HEADING, _HEADING), (LineKind.ROW, _TABLE_ROW)):
        if layout := pattern.match(rest):
            return LineStart(kind, len(markers) + layout.end(), markers)
    return LineStart(LineKind.HEADING if _BOLD_HEADING.match(rest) else LineKind.TEXT, len(markers), markers)


def ends_paragraph(line: str, whole: bool, numbered: bool, quoted: bool) -> bool | None:
    """Whether a line ends the paragraph above it; None if the rest of the line decides."""
    indent = _INDENT[quoted].match(line)
    rest = line[indent.end() if indent else 0 :]
    if _BREAKS[numbered].match(rest):
        return True
    return None if not whole and _PARTIAL_BREAK.fullmatch(rest) else False


def is_delimiter_row(line: str, whole: bool) -> bool | None:
    """Whether a line is the delimiter row of a table; None if the rest of the line decides."""
    if not whole:
        return None if _PARTIAL_DELIMITER_ROW.fullmatch(line) else False
    return "|" in line and "-" in line and _DELIMITER_ROW.fullmatch(line) is not None


def is_underline(line: str) -> bool:
    """Whether a line marks the line above it as a heading; of dashes, it is rather a rule."""
    return _UNDERLINE.fullmatch(line) is not None
