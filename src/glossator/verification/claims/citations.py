"""Citation marks in a draft, and what a reader reads of its Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f"
"""Zero-width and bidi control characters, for use in a character class."""

OPENERS = "[【［("
MAX_CITATIONS = 50
_HIGHEST = 10**6
_REACH = 400
"""No mark is longer: a bracket that nothing closes must not hold a draft back."""

_SOURCES = "sources source src quellen quelle fuentes fuente المصادر المصدر مصادر مصدر الماخذ ماخذ مآخذ مأخذ".split()
_ANDS = "and und y و اور".split()
_SOURCE, _AND = "|".join(_SOURCES), "|".join(_ANDS)
_DROPPED = re.compile(f"[{INVISIBLE}]")
_INSIDE = r"[^\[\]()【】［］\n]{1,200}"
_MARK = re.compile(
    rf"[\[(][ \t{INVISIBLE}]*(?P<nest>(?:\[{_INSIDE}\][ \t,;{INVISIBLE}]*+)++)[\])]"
    rf"|\[(?P<square>{_INSIDE})\]|【(?P<lens>{_INSIDE})】|［(?P<wide>{_INSIDE})］|\((?P<round>{_INSIDE})\)"
)
_ITEM = rf"(?:(?P<word>{_SOURCE})[\s:#.]*|\^\s*)?(?P<first>\d+)(?:\s*[-–—‑]\s*(?:(?:{_SOURCE})\s*)?(?P<last>\d+))?"
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _ITEM)
_ITEMS = re.compile(rf"{_UNNAMED}(?:\s*(?:[,;&،、]|\b(?:{_AND})\b)\s*{_UNNAMED})*")
_NUMBERS = re.compile(_ITEM)
_LETTERS = re.compile(r"[^\W\d_]+")
_SIGNS = r"(?:[\w,;&،、:#.^†‑–—-]|[^\S\n])"
_PARTIAL = re.compile(rf"[\[【［(]{_SIGNS}*|[\[(][ \t]*(?:\[{_SIGNS}*\][ \t,;]*)*(?:\[{_SIGNS}*)?")

_PRICE = r"\$\d[\d.,]*+[kKmMbBn]*+(?![\w\\^{$])"
PRICE = re.compile(_PRICE)
_VERBATIM = (
    r"(?<!`)(?P<tick>`++)(?P<code>.+?)(?<!`)(?P=tick)(?!`)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\\\[(?P<bracket>(?:[^\\]|\\[^\[\]])++)\\\]"
    r"|\\\((?P<paren>(?:[^\\]|\\[^()])++)\\\)"
    rf"|(?!{_PRICE})\$(?P<math>(?![\s.,;:!?)])[^$]++(?<=[^\s\\]))\$"
    r"|!?\[(?P<label>[^\[\]\n]*+)\]\((?:<[^<>\n]*+>|[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)(?:\s+[\"'][^\"'\n]*+[\"'])?\)"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
)
_CANDIDATE = re.compile(rf"{_VERBATIM}|(?P<opener>[\[【［(])(?=[\s{INVISIBLE}]*+\[?[\s{INVISIBLE}]*+[\w^])", re.DOTALL)
_INLINE = re.compile(rf"{_VERBATIM}|(?P<emphasis>\*++|_++)|(?P<strike>~~)|(?P<line>\n[ \t>]*+)", re.DOTALL)
_PROSE = re.compile(r"(?:^|[\s(\"'“‘«*—–-])(?:[^\W\d_]{2,}|\d[\d.,]*|_[^\W_][^_]*_)$")
_GOES_ON = re.compile(r"[\w=(]|\.\w|\[(?!\s*\^?\d)")
_JOIN = re.compile(rf"\s*[,;&،、–-]?\s*(?:{_AND})?\s*")
_FULL_STOPS = tuple(".!?…")
_WRAPPERS = (("**", "**"), ("*", "*"), ("_", "_"), ("<sup>", "</sup>"))


class Mark(NamedTuple):
    """A citation mark: where it begins and ends, and the source numbers it names."""

    start: int
    end: int
    numbers: tuple[int, ...]


def match_mark(text: str, at: int) -> Mark | None:
    """The citation mark that begins at a place; a link is none."""
    found = _MARK.match(text, at, at + _REACH)
    numbers = _read(found) if found else None
    if found is None or numbers is None:
        return None
    linked = not found["round"] and text.startswith("(", found.end()) and not match_mark(text, found.end())
    return None if linked else Mark(at, found.end(), numbers)


def may_be_mark(text: str, at: int) -> bool:
    """Whether it takes more text to know if a mark begins at a place."""
    if len(text) - at >= 2 * _REACH or text[at] not in OPENERS:
        return False
    head = text[at:]
    found = _MARK.match(head, 0, _REACH)
    if not found:
        return len(head) < _REACH and _is_partial(head)
    if _read(found) is None or found["round"]:
        return False
    return found.end() == len(head) or (head[found.end()] == "(" and may_be_mark(head, found.end()))


def _is_partial(head: str) -> bool:
    """Whether an unclosed bracket holds only what a mark may hold."""
    head = _DROPPED.sub("", head).casefold().partition("†")[0]
    known = all(any(word.startswith(letters) for word in _SOURCES + _ANDS) for letters in _LETTERS.findall(head))
    return known and _PARTIAL.fullmatch(head) is not None


def _read(found: re.Match[str]) -> tuple[int, ...] | None:
    """The numbers in a bracket, or None where it is no citation."""
    if found["nest"]:
        parts = [_numbers(part[1:-1], "square") for part in re.findall(r"\[[^\]]*\]", found["nest"])]
        return None if None in parts else tuple(number for part in parts for number in part or ())
    kind = found.lastgroup or ""
    return _numbers(found[kind], kind)


@lru_cache(1000)
def _numbers(content: str, kind: str) -> tuple[int, ...] | None:
    """The numbers of a bracket's content; a plain number that may be a year is none."""
    content = _DROPPED.sub("", content).casefold().strip()
    if kind == "lens":
        content = content.partition("†")[0].strip()
    if not _ITEMS.fullmatch(content):
        return None
    items = list(_NUMBERS.finditer(content))
    named = any(item["word"] for item in items)
    long = any(len(item[group] or "") > 3 for item in items for group in ("first", "last"))
    if not named and (kind == "round" or (long and kind == "square" and "^" not in content)):
        return None
    return tuple(number for item in items for number in _range(item))[:MAX_CITATIONS]


def _range(item: re.Match[str]) -> Iterator[int]:
    """The numbers of `3` or `3-5`; those that no source can have are left out."""
    first = int(item["first"])
    last = int(item["last"] or first)
    numbers = range(first, min(last, first + MAX_CITATIONS) + 1) if first <= last else (first, last)
    return (number for number in numbers if number <= _HIGHEST)


def take_marks(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without its citation marks, and the numbers they name."""
    marks = list(_find_marks(text))
    if not marks:
        return text, ()
    numbers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    return _without(text, marks), tuple(numbers)[:MAX_CITATIONS]


def _find_marks(text: str) -> Iterator[Mark]:
    """The marks outside of code, formulas and links."""
    end = 0
    for found in _CANDIDATE.finditer(text):
        if found.start() < end or not found["opener"]:
            continue
        mark = match_mark(text, found.start())
        if mark and not (mark.start != end and _is_index(text, mark)):
            end = mark.end
            yield mark


def _is_index(text: str, mark: Mark) -> bool:
    """Whether a bracket is code such as `x[1]`, and no mark behind a word of prose."""
    before = text[mark.start - 1 : mark.start]
    if before == "]":
        return True
    code = before == "_" or (before.isalnum() and (before.isascii() or before.isdigit()))
    if not code:
        return False
    return not _PROSE.search(text[max(0, mark.start - 40) : mark.start]) or bool(_GOES_ON.match(text, mark.end))


def _without(text: str, marks: list[Mark]) -> str:
    """The text with its marks cut out, and the white space and signs that only held them together."""
    kept, at = [], 0
    for mark in marks:
        start, end = _widen(text, at, mark)
        gap = text[at:start]
        if at and _JOIN.fullmatch(gap):
            gap = ""
        spaced = gap[-1:].isspace() and text[end : end + 1].isalnum()
        kept.append(gap.rstrip() + (" " if spaced else ""))
        doubled = kept[-1][-1:] in _FULL_STOPS and text.startswith(".", end)
        at = end + doubled
    return "".join([*kept, text[at:]]).strip()


def _widen(text: str, floor: int, mark: Mark) -> tuple[int, int]:
    """A mark's span with the emphasis that stands around the mark alone."""
    for left, right in _WRAPPERS:
        start = mark.start - len(left)
        if start >= floor and text.startswith(left, start) and text.startswith(right, mark.end):
            return start, mark.end + len(right)
    return mark.start, mark.end


def plain(body: str) -> str:
    """What a reader reads of a stretch of Markdown, on one line."""
    return " ".join(visible(_INLINE.sub(_read_inline, body)).split())


def visible(text: str) -> str:
    """The text without zero-width and bidi control characters."""
    return _DROPPED.sub("", text)


def _read_inline(found: re.Match[str]) -> str:
    """What a reader sees of one piece of inline markup."""
    kind = found.lastgroup or ""
    if kind == "label":
        return plain(found["label"])
    if kind == "emphasis":
        return _read_emphasis(found)
    return {"strike": "", "line": " "}.get(kind, found[kind])


def _read_emphasis(found: re.Match[str]) -> str:
    """Nothing for a mark of emphasis; the sign itself in `2 * 3`, `2**3` and `snake_case`."""
    start, end = found.span()
    before, after = found.string[max(0, start - 1) : start], found.string[end : end + 1]
    loose = not (before.strip() or after.strip())
    word = found[0][0] == "_" or (before + after).isascii()
    inside = word and before.isalnum() and after.isalnum()
    return found[0] if loose or inside else ""
