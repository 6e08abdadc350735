"""Inline Markdown: the visible text of code, formulas, links and emphasis."""

from __future__ import annotations

import re

from glossator.core.text.characters import strip_invisible

_PRICE = r"\$\d[\d.,]*+[kKmMbBn]*+(?![\w\\^{$])"
PRICE = re.compile(_PRICE)
VERBATIM = (
    r"(?<!`)(?P<tick>`++)(?P<code>.+?)(?<!`)(?P=tick)(?!`)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\\\[(?P<bracket>(?:[^\\]|\\[^\[\]])++)\\\]"
    r"|\\\((?P<paren>(?:[^\\]|\\[^()])++)\\\)"
    rf"|(?!{_PRICE})\$(?P<math>(?![\s.,;:!?)])[^$]++(?<=[^\s\\]))\$"
    r"|!?\[(?P<label>[^\[\]\n]*+)\]\((?:<[^<>\n]*+>|[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)(?:\s+[\"'][^\"'\n]*+[\"'])?\)"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
)
"""Code, formulas, links, images and escapes: nothing inside them is a citation or emphasis."""


_INLINE = re.compile(rf"{VERBATIM}|(?P<emphasis>\*++|_++)|(?P<strike>~~)|(?P<line>\n[ \t>]*+)", re.DOTALL)


def plain_text(body: str) -> str:
    """The visible text of inline Markdown, on one line."""
    return " ".join(strip_invisible(_INLINE.sub(_inline_text, body)).split())


def _inline_text(found: re.Match[str]) -> str:
    """The visible text of one inline element."""
    kind = found.lastgroup or ""
    if kind == "label":
        return plain_text(found["label"])
    if kind == "emphasis":
        return _emphasis_text(found)
    return {"strike": "", "line": " "}.get(kind, found[kind])


def _emphasis_text(found: re.Match[str]) -> str:
    """Nothing for an emphasis marker; the character itself in `2 * 3`, `2**3` and `snake_case`."""
    start, end = found.span()
    before, after = found.string[max(0, start - 1) : start], found.string[end : end + 1]
    loose = not (before.strip() or after.strip())
    word = found[0][0] == "_" or (before + after).isascii()
    inside = word and before.isalnum() and after.isalnum()
    return found[0] if loose or inside else ""
