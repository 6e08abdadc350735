"""Deep links: the page, the heading's anchor, and a text fragment that names the very words."""

from __future__ import annotations

import re
from urllib.parse import quote

_WORD = re.compile(r"\S+")
_EXACT = 80
"""Quotes up to this length are named whole; longer ones by their first and last words."""


def deep_link(url: str, anchor: str, page: str, start: int, end: int) -> str:
    """A link that opens `url` at `page[start:end]`; the fragment is left off if it would land elsewhere."""
    directive = text_fragment(page, start, end)
    fragment = quote(anchor, safe="-._~!$'()*+,;:@/?") if anchor else ""
    if not directive:
        return f"{url}#{fragment}" if fragment else url
    return f"{url}#{fragment}:~:text={directive}"


def text_fragment(page: str, start: int, end: int) -> str:
    """The shortest fragment whose first match on the page is the quote, or an empty string."""
    start, end = _without_formulas(page, start, end)
    words = [match.span() for match in _WORD.finditer(page, start, end)]
    if not words:
        return ""
    if end - start <= _EXACT and _lands(page, page[start:end], start):
        return _encode(page[start:end])
    for count in range(4, min(len(words), 24) + 1):
        opening = page[start : words[count - 1][1]]
        if not _lands(page, opening, start):
            continue
        if len(words) <= count + 4:
            return _encode(page[start:end]) if end - start <= 4 * _EXACT else _encode(opening)
        closing = page[words[-4][0] : end]
        after = start + len(opening)
        if page.casefold().find(closing.casefold(), after) == words[-4][0]:
            return f"{_encode(opening)},{_encode(closing)}"
        return _encode(opening)
    return _with_prefix(page, start, end)


def _with_prefix(page: str, start: int, end: int) -> str:
    """A quote that stands on the page more than once is told apart by the words before it."""
    before = _WORD.findall(page[max(0, start - 60) : start].rpartition("\n")[2])
    for count in range(1, min(len(before), 5) + 1):
        prefix = " ".join(before[-count:])
        quoted = page[start:end][: 4 * _EXACT]
        if page.casefold().find(f"{prefix} {quoted}".casefold()) == start - len(prefix) - 1:
            return f"{_encode(prefix)}-,{_encode(quoted)}"
    return ""


def _lands(page: str, words: str, start: int) -> bool:
    """Whether a browser's search for these words stops at `start` first."""
    pattern = re.compile(rf"(?<!\w){re.escape(words)}", re.IGNORECASE)
    found = pattern.search(page)
    return found is not None and found.start() == start


def _without_formulas(page: str, start: int, end: int) -> tuple[int, int]:
    """The longest stretch free of formulas, which a browser shows as other characters."""
    if "$" not in page[start:end]:
        return start, end
    stretches = [m.span() for m in re.finditer(r"[^$]+", page[start:end])]
    visible = stretches[::2] if not page[start:end].startswith("$") else stretches[1::2]
    if not visible:
        return start, start
    left, right = max(visible, key=lambda span: span[1] - span[0])
    text = page[start + left : start + right]
    left += len(text) - len(text.lstrip())
    right -= len(text) - len(text.rstrip())
    return start + left, start + max(left, right)


def _encode(words: str) -> str:
    return quote(words, safe="!'()*._~;:@/?$+").replace("-", "%2D")
