"""Nodes of a parsed page: which are hidden, which are formulas, and what their text is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from glossator.core.text.characters import LINE_BREAK_HINTS
from glossator.ingest.formats.mathml import mathml_to_tex

HIDDEN_TAGS = frozenset(
    """
    script style noscript template svg nav footer aside form button input select textarea iframe object
    head title dialog audio video canvas datalist del s strike rp rt rtc
    """.split()
)
HIDDEN_CLASSES = frozenset(
    """
    headerlink hash-link header-anchor anchor-link anchorjs-link linenos lineno toctree-wrapper
    breadcrumbs pagination-nav theme-doc-footer theme-doc-breadcrumbs theme-doc-toc-mobile
    tocCollapsible sr-only visually-hidden footnote-ref footnote-backref skip-link
    link-target
    """.split()
)
"""The last is the address that Sphinx prints after every link in an EPUB: the link is still there."""
_MATH_CLASSES = frozenset({"math", "katex", "katex-display", "MathJax", "arithmatex"})
_MATH_TAGS = frozenset({"math", "mjx-container"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DELETED_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_SHOWN_TAGS = frozenset("del s strike rp rt".split())
_TELLING_ATTRIBUTES = frozenset("class style hidden aria-hidden type".split())
SPACE = re.compile(r"\s+")
INVISIBLE = re.compile(f"[{LINE_BREAK_HINTS}\u0000]")


def formula_tex(node: LexborNode) -> str:
    """The TeX of a formula, wherever the site generator put it."""
    source = node.css_first("annotation[encoding='application/x-tex']")
    formula = node if node.tag == "math" else node.css_first("math")
    tex = source.text() if source is not None else node.attributes.get("alttext") or ""
    tex = tex or (mathml_to_tex(formula) if formula is not None else node.text())
    tex = SPACE.sub(" ", tex.strip())
    return tex.removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]").strip("$ ")


def is_formula(node: LexborNode) -> bool:
    """Whether a node is a formula."""
    attributes = node.attributes
    if node.tag == "script":
        return (attributes.get("type") or "").startswith("math/tex")
    return node.tag in _MATH_TAGS or ("class" in attributes and bool(_MATH_CLASSES & _classes(attributes)))


def is_inline_formula(node: LexborNode) -> bool:
    """Whether a formula is part of a sentence."""
    if node.tag == "script":
        return "display" not in (node.attributes.get("type") or "")
    if node.tag in _MATH_TAGS:
        return node.attributes.get("display") not in ("block", "true")
    return "inline" in classes_of(node) or (node.tag == "span" and not {"katex-display", "block"} & classes_of(node))


def classes_of(node: LexborNode) -> set[str]:
    """A node's classes."""
    return _classes(node.attributes)


def _classes(attributes: Mapping[str, str | None]) -> set[str]:
    return set((attributes.get("class") or "").split())


def is_plain(node: LexborNode) -> bool:
    """Whether the tag alone tells whether a node is hidden and whether it is a formula."""
    return _TELLING_ATTRIBUTES.isdisjoint(node.attributes)


def is_hidden(node: LexborNode) -> bool:
    """Whether a node is not part of the text that can be quoted."""
    if is_plain(node):
        return node.tag in HIDDEN_TAGS
    return (
        node.tag in _SHOWN_TAGS or is_struck(node) or "footnote-ref" in classes_of(node) or is_left_out(node)
    ) and not is_formula(node)


def is_left_out(node: LexborNode) -> bool:
    """Whether a node is not displayed; deletions, readings and marks of footnotes are, though they are not quoted."""
    if is_plain(node):
        return node.tag in HIDDEN_TAGS and node.tag not in _SHOWN_TAGS
    attributes = node.attributes
    if is_formula(node) or (
        node.tag == "input" and attributes.get("type") == "checkbox" and "hidden" not in attributes
    ):
        return False
    return (
        (node.tag in HIDDEN_TAGS and node.tag not in _SHOWN_TAGS)
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
        or bool((HIDDEN_CLASSES & _classes(attributes)) - {"footnote-ref"})
    )


def is_struck(node: LexborNode) -> bool:
    """Whether the style of a node deletes its text."""
    return bool(_DELETED_STYLE.search(node.attributes.get("style") or ""))


def visible_text(text: str | None) -> str:
    """Text without invisible characters."""
    return INVISIBLE.sub("", text or "")
