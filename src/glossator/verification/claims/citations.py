"""Finds citation marks such as [1], [Source 2] and 【3】 in a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from glossator.core.text.characters import INVISIBLE, strip_invisible
from glossator.verification.claims.inline import VERBATIM

OPENERS = "[【［("
MAX_CITATIONS = 50
_MAX_NUMBER = 10**6
_MAX_LENGTH = 400
"""In characters. No mark is longer: an unclosed bracket must not delay the stream."""

_SOURCE_WORDS = (
    "sources source src quellen quelle fuentes fuente المصادر المصدر مصادر مصدر الماخذ ماخذ مآخذ مأخذ".split()
)
_AND_WORDS = "and und y و اور".split()
_SOURCE, _AND = "|".join(_SOURCE_WORDS), "|".join(_AND_WORDS)
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
_ALLOWED = r"(?:[\w,;&،、:#.^†‑–—-]|[^\S\n])"
_PARTIAL = re.compile(rf"[\[【［(]{_ALLOWED}*|[\[(][ \t]*(?:\[{_ALLOWED}*\][ \t,;]*)*(?:\[{_ALLOWED}*)?")

_CANDIDATE = re.compile(rf"{VERBATIM}|(?P<opener>[\[【［(])(?=[\s{INVISIBLE}]*+\[?[\s{INVISIBLE}]*+[\w^])", re.DOTALL)
_PROSE_WORD = re.compile(r"(?:^|[\s(\"'“‘«*—–-])(?:[^\W\d_]{2,}|\d[\d.,]*|_[^\W_][^_]*_)$")
_CODE_FOLLOWS = re.compile(r"[\w=(]|\.\w|\[(?!\s*\^?\d)")
_JOIN = re.compile(rf"(?:[,;&،、–-]\s*)?(?:{_AND})?")
_FULL_STOPS = tuple(".!?…")
_WRAPPERS = (("**", "**"), ("*", "*"), ("_", "_"), ("<sup>", "</sup>"))


class CitationMark(NamedTuple):
    """A citation mark: its span and the source numbers it names."""

    start: int
    end: int
    numbers: tuple[int, ...]


def match_citation(text: str, at: int) -> CitationMark | None:
    """The citation mark at a position; a link is not one."""
    found = _MARK.match(text, at, at + _MAX_LENGTH)
    numbers = _source_numbers(found) if found else None
    if found is None or numbers is None:
        return None
    linked = not found["round"] and text.startswith("(", found.end()) and not match_citation(text, found.end())
    return None if linked else CitationMark(at, found.end(), numbers)


def may_be_citation(text: str, at: int) -> bool:
    """Whether more text is needed to tell if a citation mark begins at a position."""
    if len(text) - at >= 2 * _MAX_LENGTH or text[at] not in OPENERS:
        return False
    head = text[at:]
    found = _MARK.match(head, 0, _MAX_LENGTH)
    if not found:
        return len(head) < _MAX_LENGTH and _is_partial(head)
    if _source_numbers(found) is None or found["round"]:
        return False
    return found.end() == len(head) or (head[found.end()] == "(" and may_be_citation(head, found.end()))


def _is_partial(head: str) -> bool:
    """Whether an unclosed bracket contains only what a citation mark may contain."""
    head = strip_invisible(head).casefold().partition("†")[0]
    known = all(
        any(word.startswith(letters) for word in _SOURCE_WORDS + _AND_WORDS) for letters in _LETTERS.findall(head)
    )
    return known and _PARTIAL.fullmatch(head) is not None


def _source_numbers(found: re.Match[str]) -> tuple[int, ...] | None:
    """The source numbers in a bracket, or None if it is not a citation."""
    if found["nest"]:
        parts = [_parse_numbers(part[1:-1], "square") for part in re.findall(r"\[[^\]]*\]", found["nest"])]
        return None if None in parts else tuple(number for part in parts for number in part or ())
    kind = found.lastgroup or ""
    return _parse_numbers(found[kind], kind)


@lru_cache(1000)
def _parse_numbers(content: str, kind: str) -> tuple[int, ...] | None:
    """The source numbers in the content of a bracket; a plain number that may be a year is not a citation."""
    content = strip_invisible(content).casefold().strip()
    if kind == "lens":
        content = content.partition("†")[0].strip()
    if not _ITEMS.fullmatch(content):
        return None
    items = list(_NUMBERS.finditer(content))
    named = any(item["word"] for item in items)
    long = any(len(item[group] or "") > 3 for item in items for group in ("first", "last"))
    if not named and (kind == "round" or (long and kind == "square" and "^" not in content)):
        return None
    return tuple(number for item in items for number in _expand_range(item))[:MAX_CITATIONS]


def _expand_range(item: re.Match[str]) -> Iterator[int]:
    """The numbers of `3` or `3-5`, without those that are too high for a source."""
    first = int(item["first"])
    last = int(item["last"] or first)
    numbers = range(first, min(last, first + MAX_CITATIONS) + 1) if first <= last else (first, last)
    return (number for number in numbers if number <= _MAX_NUMBER)


def extract_citations(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without its citation marks, and the source numbers they name."""
    marks = list(_find_marks(text))
    if not marks:
        return text, ()
    numbers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    return _remove_marks(text, marks), tuple(numbers)[:MAX_CITATIONS]


def _find_marks(text: str) -> Iterator[CitationMark]:
    """The citation marks outside of code, formulas and links."""
    end = 0
    for found in _CANDIDATE.finditer(text):
        if found.start() < end or not found["opener"]:
            continue
        mark = match_citation(text, found.start())
        if mark and not (mark.start != end and _is_index(text, mark)):
            end = mark.end
            yield mark


def _is_index(text: str, mark: CitationMark) -> bool:
    """Whether a bracket is an index in code such as `x[1]`, rather than a citation after a word."""
    before = text[mark.start - 1 : mark.start]
    if before == "]":
        return True
    code = before == "_" or (before.isalnum() and (before.isascii() or before.isdigit()))
    if not code:
        return False
    return not _PROSE_WORD.search(text[max(0, mark.start - 40) : mark.start]) or bool(
        _CODE_FOLLOWS.match(text, mark.end)
    )


def _remove_marks(text: str, marks: list[CitationMark]) -> str:
    """The text without its citation marks and the white space and punctuation that joined them."""
    kept, at = [], 0
    for mark in marks:
        start, end = _widen(text, at, mark)
        gap = text[at:start]
        if at and _JOIN.fullmatch(gap.strip()):
            gap = ""
        spaced = gap[-1:].isspace() and text[end : end + 1].isalnum()
        kept.append(gap.rstrip() + (" " if spaced else ""))
        doubled = kept[-1][-1:] in _FULL_STOPS and text.startswith(".", end)
        at = end + doubled
    return "".join([*kept, text[at:]]).strip()


def _widen(text: str, floor: int, mark: CitationMark) -> tuple[int, int]:
    """The span of a mark, with emphasis that encloses only the mark."""
    for left, right in _WRAPPERS:
        start = mark.start - len(left)
        if start >= floor and text.startswith(left, start) and text.startswith(right, mark.end):
            return start, mark.end + len(right)
    return mark.start, mark.end
