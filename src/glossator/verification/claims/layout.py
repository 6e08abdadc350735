"""What the beginning of a line says about the block it opens or goes on with, also while the line arrives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from glossator.core.text.sentences import OTHER_STOPS, STOPS, WIDE_STOPS
from glossator.verification.claims.citations import INVISIBLE

_WHITE = " \t\r\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPACE = _WHITE + INVISIBLE
"""White space within a line, for use in a character class."""

_RULE = rf"([-*_=])(?:[{SPACE}]*\1){{2,}}[{SPACE}]*\n"
_CHECKBOX = rf"(?:\[[ xX]\](?=[{_WHITE}\n]))?"
_STOPS = STOPS + WIDE_STOPS + OTHER_STOPS
_TITLE = rf"(?:[^*\n{_STOPS}]|\.(?![\s*]))"


def _prefix(number: str) -> re.Pattern[str]:
    """Quotation and list marks at the start of a line."""
    marker = rf"(?:[-*+•]|{number}[.)])(?=[{_WHITE}\n])"
    return re.compile(rf"(?:[{SPACE}]*+(?:>|{marker}))*+[{SPACE}]*+{_CHECKBOX}[{SPACE}]*+")


def _break(number: str) -> re.Pattern[str]:
    """What ends the paragraph above it."""
    marker = rf"(?:[-*+•]|#{{1,6}}|{number}[.)])[{_WHITE}\n]"
    return re.compile(rf"\n|>|\||{marker}|`{{3,}}[^`\n]*\n|~{{3,}}|{_RULE}")


# A number other than 1 opens no list inside a paragraph: a line may begin with `40.` because it was wrapped there.
_PREFIXES = {True: _prefix("[0-9]{1,3}"), False: _prefix("1")}
_BREAKS = {True: _break("[0-9]{1,3}"), False: _break("1")}
_INDENT = {True: re.compile(rf"[{SPACE}>]*+"), False: re.compile(rf"[{SPACE}]*+")}
_FENCE = re.compile(r"(`{3,})[^`\n]*\n|(~{3,})[^\n]*\n")
_HEADING = re.compile(rf"#{{1,6}}(?:[{_WHITE}]+|(?=\n))")
_ROW = re.compile(rf"\|[{SPACE}]*")
_BARE = re.compile(rf"{_RULE}|\n?\Z")
_BOLD = re.compile(
    rf"(?P<b>\*\*|__)(?=\S)(?:[0-9]{{1,3}}[.)][{SPACE}]*)?{_TITLE}{{1,120}}(?P=b):?[{SPACE}]*\n",
)
_UNSURE = re.compile(
    rf"(?:[-*+•]|[0-9]{{1,3}}[.)]?|#{{1,6}}|`{{1,2}}|`{{3,}}[^`]*|~{{1,2}}|([-*_=])(?:[{SPACE}]*\1)*[{SPACE}]*)?"
)
_UNSURE_OPENING = re.compile(
    rf"(?:\||#{{1,6}})[{SPACE}]*|~{{3,}}.*|\[[ xX]?\]?"
    rf"|(?:\*\*|__)(?:[0-9]{{1,3}}[.)]?[{SPACE}]*)?{_TITLE}{{0,120}}(?:\*\*?:?[{SPACE}]*)?"
)
_SEPARATOR = re.compile(rf"[{SPACE}>]*\|?(?:[{SPACE}]*:?-+:?[{SPACE}]*\|)*(?:[{SPACE}]*:?-+:?[{SPACE}]*)?\n")
_UNSURE_SEPARATOR = re.compile(rf"[{SPACE}>|:-]*")


class Unit(Enum):
    """How far a piece goes: to the end of a sentence, of a line or of a code block."""

    TEXT = auto()
    HEADING = auto()
    ROW = auto()
    CODE = auto()
    SPACE = auto()


@dataclass(frozen=True, slots=True)
class Opening:
    """What a line opens: `width` is its layout before the first word, `marks` its quotation and list marks."""

    unit: Unit
    width: int
    marks: str
    fence: str = ""


def read_opening(line: str, whole: bool, numbered: bool) -> Opening | None:
    """What a line opens; None: the rest of it decides. `numbered`: any number may open a list item."""
    found = _PREFIXES[numbered].match(line)
    marks = found[0] if found else ""
    rest = line[len(marks) :]
    if not whole and (_UNSURE.fullmatch(rest) or _UNSURE_OPENING.fullmatch(rest)):
        return None
    if fence := _FENCE.match(rest):
        return Opening(Unit.CODE, len(marks), marks, fence[1] or fence[2])
    if _BARE.match(rest):
        return Opening(Unit.SPACE, len(line), marks)
    for unit, pattern in ((Unit.HEADING, _HEADING), (Unit.ROW, _ROW)):
        if layout := pattern.match(rest):
            return Opening(unit, len(marks) + layout.end(), marks)
    return Opening(Unit.HEADING if _BOLD.match(rest) else Unit.TEXT, len(marks), marks)


def breaks(line: str, whole: bool, numbered: bool, quoted: bool) -> bool | None:
    """Whether a line ends the paragraph above it; None: the rest of the line decides."""
    indent = _INDENT[quoted].match(line)
    rest = line[indent.end() if indent else 0 :]
    if _BREAKS[numbered].match(rest):
        return True
    return None if not whole and _UNSURE.fullmatch(rest) else False


def is_separator(line: str, whole: bool) -> bool | None:
    """Whether a line is the one below a table's header; None: the rest of the line decides."""
    if not whole:
        return None if _UNSURE_SEPARATOR.fullmatch(line) else False
    return "|" in line and "-" in line and _SEPARATOR.fullmatch(line) is not None
