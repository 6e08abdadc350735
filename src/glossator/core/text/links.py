"""Deep links: the page, the heading's anchor, and a text fragment that selects the quote."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import quote

from glossator.core.types import CELL_SEPARATOR

_WORD = re.compile(r"\S+")
_RENDERED_OTHERWISE = re.compile(
    r"\$[^$\s](?:[^$]*[^$\s])?\$|(?<!\S)[^\s$]*(?:[⁰ⁱ¹²³⁴-ⁿ₀-₎]|(?<=[^\W_])[\^_](?:\(|[^\W_](?!\w)))[^\s$]*"
)
"""Formulas, and words with superscripts or subscripts: the page has other characters there."""
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0670]")
_UNSPACED = "\u0e00"
"""First code point of the scripts without spaces between words, where any character may begin one."""

_MAX_EXACT_LENGTH = 80
"""Quotes up to this length are matched whole; longer ones by their first and last words."""


def deep_link(url: str, anchor: str, page: str, start: int, end: int) -> str:
    """A link that opens `url` at `page[start:end]`; the fragment is omitted if it would match elsewhere."""
    directive = text_fragment(page, start, end)
    fragment = quote(anchor, safe="-._~!$'()*+,;:@/?=") if anchor else ""
    if not directive:
        return f"{url}#{fragment}" if fragment else url
    return f"{url}#{fragment}:~:text={directive}"


def text_fragment(page: str, start: int, end: int) -> str:
    """The shortest fragment whose first match on the page is the quote, or an empty string.

    Of a table row it is the longest cell: browsers do not match text across cells.
    """
    start, end = _longest_cell(page, start, end)
    start, end = _without_other_characters(page, start, end)
    words = [match.span() for match in _WORD.finditer(page, start, end)]
    if not words:
        return ""
    if end - start <= _MAX_EXACT_LENGTH and _is_first_match(page, start, end):
        return _encode(page[start:end])
    for count in range(4, min(len(words), 24) + 1):
        opening = words[count - 1][1]
        if not _is_first_match(page, start, opening):
            continue
        if len(words) <= count + 4:
            return _encode(page[start : end if end - start <= 4 * _MAX_EXACT_LENGTH else opening])
        closing = words[-4][0]
        if _is_first_match(page, closing, end, opening):
            return f"{_encode(page[start:opening])},{_encode(page[closing:end])}"
        return _encode(page[start:opening])
    return _with_prefix(page, words)


def _with_prefix(page: str, words: list[tuple[int, int]]) -> str:
    """A fragment with the words before the quote, in its block or at the end of the one above: for a quote that occurs
    on the page more than once."""
    start = words[0][0]
    end = max((stop for _, stop in words if stop - start <= 4 * _MAX_EXACT_LENGTH), default=words[0][1])
    above = len(page[:start].removesuffix(CELL_SEPARATOR).rstrip())
    line = max(_after_last(mark, page, above) for mark in ("\n", CELL_SEPARATOR))
    before = [match.start() for match in _WORD.finditer(page, max(line, start - 60), above)]
    for prefix in reversed(before[-5:]):
        if _is_first_match(page, prefix, end):
            return f"{_encode(page[prefix:above])}-,{_encode(page[start:end])}"
    return ""


def _after_last(mark: str, page: str, end: int) -> int:
    """The position after the last mark before `end`; 0 if there is none."""
    found = page.rfind(mark, 0, end)
    return found + len(mark) if found >= 0 else 0


def _longest_cell(page: str, start: int, end: int) -> tuple[int, int]:
    """The longest cell of a table row; other text as it is."""
    after = page[end : end + len(CELL_SEPARATOR)]
    is_line = page[start - 1 : start] in ("", "\n") and (after[:1] in ("", "\n") or after == CELL_SEPARATOR)
    if not is_line or CELL_SEPARATOR not in page[start:end]:
        return start, end
    cells = page[start:end].split(CELL_SEPARATOR)
    longest = max(range(len(cells)), key=lambda number: len(cells[number]))
    first = start + sum(len(cell) + len(CELL_SEPARATOR) for cell in cells[:longest])
    return first, first + len(cells[longest])


def _is_first_match(page: str, start: int, end: int, after: int = 0) -> bool:
    """Whether the first match of `page[start:end]` from `after` on is at `start`, as browsers compare words."""
    text, words = _folded_page(page), _fold(page[start:end])
    found = text.find(words, _folded_length(page, after))
    while found > 0 and text[found - 1].isalnum() and text[found - 1] < _UNSPACED:
        found = text.find(words, found + 1)
    return found == _folded_length(page, start)


def _fold(text: str) -> str:
    """Text without case and accents."""
    if text.isascii():
        return text.lower()
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold()


_folded_page = lru_cache(maxsize=64)(_fold)


@lru_cache(maxsize=1024)
def _folded_length(page: str, at: int) -> int:
    """The offset in the folded page of an offset in the page."""
    return len(_fold(page[:at]))


def _without_other_characters(page: str, start: int, end: int) -> tuple[int, int]:
    """The longest span without text that a browser renders as other characters."""
    others = [match.span() for match in _RENDERED_OTHERWISE.finditer(page, start, end)]
    begins = [start, *(stop for _, stop in others)]
    ends = [*(begin for begin, _ in others), end]
    left, right = max(zip(begins, ends, strict=True), key=lambda span: span[1] - span[0])
    stretch = page[left:right]
    return left + len(stretch) - len(stretch.lstrip()), max(left, right - len(stretch) + len(stretch.rstrip()))


def _encode(words: str) -> str:
    return quote(words, safe="!'()*._~;:@/?$+").replace("-", "%2D")
