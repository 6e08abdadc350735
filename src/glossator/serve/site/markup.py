"""The HTML of a book's page for the browser: formulas are typeset, and the output is sanitized."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from html import escape, unescape
from urllib.parse import urljoin

from glossator.core.text.formulas import FORMULA, MathTree, typeset
from glossator.core.text.markup import MEDIA_PATH, sanitize

MAX_TYPESET_CHARACTERS = 50_000
"""Formulas of a page beyond this length together are shown as TeX."""

_FORMULA_NODE = re.compile(r'<(?P<tag>span|div) class="math">(?P<tex>[^<]*)</(?P=tag)>')
_HEADING = re.compile(r"<(/?)h1\b")


@lru_cache(maxsize=32)
def page_html(html: str, path: str, prefix: str = "", *, has_title: bool) -> str:
    """The HTML of a page with at most one first-level heading: its title, unless that is shown above.

    `path` is where the page is, for relative links; `prefix` is what the paths of its book begin with, for images.
    """
    left = MAX_TYPESET_CHARACTERS

    def formula(found: re.Match[str]) -> str:
        nonlocal left
        tex = unescape(found["tex"])
        left -= len(tex)
        tree = typeset(tex, block=found["tag"] == "div") if left >= 0 else None
        return found[0] if tree is None else _element(tree)

    def resolve(tag: str, url: str) -> str:
        return prefix + url if tag == "img" and url.startswith(MEDIA_PATH) else urljoin(path, url)

    clean = sanitize(_FORMULA_NODE.sub(formula, html), resolve)
    kept = 2 if has_title else 0  # tags: the title's first and last
    headings = itertools.count()
    return _HEADING.sub(lambda tag: tag[0] if next(headings) < kept else f"<{tag[1]}h2", clean)


def text_html(text: str) -> str:
    """A text of the book as HTML: its formulas are typeset, and all else is escaped."""
    out, last = [], 0
    for found in FORMULA.finditer(text):
        tree = typeset((found["block"] or found["inline"]).strip(), block=False)
        out += [escape(text[last : found.start()]), escape(found[0]) if tree is None else _element(tree)]
        last = found.end()
    return "".join(out) + escape(text[last:])


def _element(tree: MathTree) -> str:
    tag, attributes, *children = tree
    names = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    content = "".join(escape(child) if isinstance(child, str) else _element(child) for child in children)
    return f"<{tag}{names}>{content}</{tag}>"
