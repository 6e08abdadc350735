"""Tags of a page before it is parsed: what would make parsing slow, or fill the memory, is dropped or renamed."""

from __future__ import annotations

import re

from glossator.ingest.formats.nodes import HIDDEN_CLASSES, HIDDEN_TAGS, VOID_TAGS

MAX_TAG_NESTING = 500
"""Deeper tags are dropped before parsing: parsing time can grow with the square of the nesting."""

MAX_ELEMENTS, CHARACTERS_PER_ELEMENT = 10_000, 30
"""Of a page with more elements than the first number and one for this many characters, the rest is read as plain text:
reading takes its time for each element, however small."""

MAX_REOPENED = 500_000
"""Elements that a page may gain while it is parsed: what it leaves open inside a paragraph, a parser opens again in
every paragraph after it, so that 20 KB of tags could become gigabytes of elements."""

_FLAT_TAGS = VOID_TAGS | frozenset("p li dt dd tr td th thead tbody tfoot option optgroup rp rt".split())
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>")
_MAY_HIDE = re.compile("|".join(("hidden", "display", "line-through", *sorted(HIDDEN_CLASSES))), re.IGNORECASE)
_FORMATTING_NAMES = tuple("a b big code em font i nobr s small strike strong tt u".split())
"""The elements that a parser opens again."""
_FORMATTING = re.compile(rf"<(/?)({'|'.join(_FORMATTING_NAMES)})(?=[\s/>])", re.IGNORECASE)
_OPENED = re.compile(rf"<(?:{'|'.join(_FORMATTING_NAMES)})(?=[\s/>])", re.IGNORECASE)
_RENAMED = {"code": "samp", "tt": "samp", "s": "del", "strike": "del"}
"""Elements that look alike and are not opened again; `span` for all others."""
_SPACE = r"[ \t\n\f\r]"
_VALUE = rf"""{_SPACE}*+={_SPACE}*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++)"""
_PLAIN_TAG = re.compile(
    rf"""<(/?)([a-zA-Z][a-zA-Z0-9:._-]*+)(?:{_SPACE}++[^\s"'<>/=`]++(?:{_VALUE})?+)*+{_SPACE}*+/?>|<"""
)
"""A tag without errors, about which every parser agrees; or anything else that may be one, without a name."""
_PARAGRAPHS = frozenset("p li dt dd rp rt".split())
"""Tags that end others of their kind."""
_MAX_PARAGRAPHS_INSIDE = 4
"""A parser closes an element around more than eight nested ones not at all."""


def without_excess(html: str, notes: list[str]) -> str:
    """The page without tags that are nested too deep, that are too many, or that would be opened again too often."""
    return _without_reopened(_drop_excess_tags(html, notes), notes)


def _drop_excess_tags(html: str, notes: list[str]) -> str:
    """The page without tags that are nested too deep, and without elements that are too many."""
    depth = elements = 0
    limit = MAX_ELEMENTS + len(html) // CHARACTERS_PER_ELEMENT

    def keep_or_drop(tag: re.Match[str]) -> str:
        nonlocal depth, elements
        elements += not tag[1]
        if elements > limit and not tag[1] and tag[2].lower() not in HIDDEN_TAGS and not _MAY_HIDE.search(tag[0]):
            return " "
        if tag[2].lower() in _FLAT_TAGS or tag[0].endswith("/>"):
            return tag[0]
        before, depth = depth, max(0, depth + (-1 if tag[1] else 1))
        return tag[0] if max(before, depth) <= MAX_TAG_NESTING else " "

    kept = _TAG.sub(keep_or_drop, html) if _may_have_excess_tags(html, limit) else html
    if elements > limit:
        notes.append(f"it has too many elements; from number {limit + 1:,} on they are plain text.")
    return kept


def _may_have_excess_tags(html: str, max_elements: int) -> bool:
    """Whether tags may be nested too deep or be too many; this is much faster than looking at each."""
    if html.count("<") - html.count("</") > max_elements:
        return True
    depth = 0
    for closing, name in _TAG.findall(html) if html.count("<") > MAX_TAG_NESTING else ():
        if name.lower() in _FLAT_TAGS:
            continue
        depth = max(0, depth + (-1 if closing else 1))
        if depth > MAX_TAG_NESTING:
            return True
    return False


def _without_reopened(html: str, notes: list[str]) -> str:
    """The page with other names for formatting elements, if it leaves many of them open."""
    tags = html.count("<")
    opened = len(_OPENED.findall(html))
    if opened * tags <= MAX_REOPENED or (opened - _closed(html)) * tags <= MAX_REOPENED:
        return html
    notes.append("its tags are not closed in order; links and emphasis are left out.")
    return _FORMATTING.sub(lambda tag: f"<{tag[1]}{_RENAMED.get(tag[2].lower(), 'span')}", html)


def _closed(html: str) -> int:
    """The formatting elements that are certainly closed: by the tag for it, with nothing but whole elements inside."""
    count = paragraphs = 0
    opened: list[tuple[str, int]] = []
    for closing, mixed in _PLAIN_TAG.findall(html):
        name = mixed.lower()
        if name in VOID_TAGS:
            continue
        if name in _PARAGRAPHS:
            paragraphs += not closing
        elif not closing and name and name not in _FLAT_TAGS:
            opened.append((name, paragraphs))
        elif closing and opened and opened[-1][0] == name:
            inside = paragraphs - opened.pop()[1]
            count += name in _FORMATTING_NAMES and inside <= _MAX_PARAGRAPHS_INSIDE
        else:
            opened.clear()
    return count
