"""Nodes of a parsed page: which are hidden, which are formulas, and what their text is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from selectolax.lexbor import LexborNode

from glossator.core.text.characters import LINE_BREAK_HINTS
from glossator.ingest.formats.mathml import mathml_to_tex

HIDDEN_TAGS = frozenset(
    """
    script style noscript template svg nav footer aside form button input select textarea iframe object
    head title dialog audio video canvas datalist del s strike rp rt rtc
    """.split()
)
VOID_TAGS = frozenset("area base br col embed hr img input link meta source track wbr".split())
"""Elements without content and end tag."""
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
REMOVED_CHARACTERS = re.compile(f"[{LINE_BREAK_HINTS}\u0000]")


def formula_tex(node: LexborNode) -> str:
    """The TeX of a formula, wherever the site generator put it."""
    source = node.css_first("annotation[encoding='application/x-tex']")
    formula = node if node.tag == "math" else node.css_first("math")
    tex = source.text() if source is not None else node.attributes.get("alttext") or ""
    tex = tex or (mathml_to_tex(formula) if formula is not None else node.text())
    tex = one_line(tex)
    return tex.removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]").strip("$ ")


@dataclass(frozen=True, slots=True)
class Traits:
    """What the tag and the attributes of a node tell: its classes, and how its text is read and displayed.

    `is_plain` if the tag alone tells it; `is_left_out` if the node is not displayed; `is_hidden` if its text cannot be
    quoted, as it is left out, deleted, a reading or the mark of a footnote; `is_struck` if its style deletes its text.
    """

    classes: tuple[str, ...] = ()
    is_plain: bool = True
    is_formula: bool = False
    is_left_out: bool = False
    is_hidden: bool = False
    is_struck: bool = False


def traits(node: LexborNode) -> Traits:
    """The traits of a node; few nodes of a book differ in them."""
    attributes = node.attributes
    if _TELLING_ATTRIBUTES.isdisjoint(attributes):
        return _traits_of_tag(node.tag or "")
    get = attributes.get
    hidden = "hidden" in attributes, get("aria-hidden") == "true"
    return _traits(node.tag or "", get("class") or "", get("style") or "", get("type") or "", *hidden)


@lru_cache(maxsize=256)
def _traits_of_tag(tag: str) -> Traits:
    is_left_out = tag in HIDDEN_TAGS and tag not in _SHOWN_TAGS
    return Traits(is_formula=tag in _MATH_TAGS, is_left_out=is_left_out, is_hidden=tag in HIDDEN_TAGS)


@lru_cache(maxsize=1024)
def _traits(tag: str, class_names: str, style: str, kind: str, hidden: bool, aria_hidden: bool) -> Traits:
    classes = tuple(class_names.split())
    is_struck = bool(_DELETED_STYLE.search(style))
    is_math = tag in _MATH_TAGS or not _MATH_CLASSES.isdisjoint(classes)
    if is_math if tag != "script" else kind.startswith("math/tex"):
        return Traits(classes, is_plain=False, is_formula=True, is_struck=is_struck)
    is_box = tag == "input" and kind == "checkbox"
    is_left_out = hidden or (
        not is_box
        and (
            aria_hidden
            or (tag in HIDDEN_TAGS and tag not in _SHOWN_TAGS)
            or bool(_HIDDEN_STYLE.search(style))
            or not HIDDEN_CLASSES.isdisjoint(name for name in classes if name != "footnote-ref")
        )
    )
    is_hidden = is_left_out or is_struck or tag in _SHOWN_TAGS or "footnote-ref" in classes
    return Traits(classes, is_plain=False, is_left_out=is_left_out, is_hidden=is_hidden, is_struck=is_struck)


def is_inline_formula(node: LexborNode) -> bool:
    """Whether a formula is part of a sentence."""
    if node.tag == "script":
        return "display" not in (node.attributes.get("type") or "")
    if node.tag in _MATH_TAGS:
        return node.attributes.get("display") not in ("block", "true")
    classes = traits(node).classes
    return "inline" in classes or (node.tag == "span" and not {"katex-display", "block"}.intersection(classes))


def visible_text(text: str | None) -> str:
    """Text without invisible characters."""
    return text if text and text.isascii() and "\0" not in text else REMOVED_CHARACTERS.sub("", text or "")


def one_line(text: str) -> str:
    """Text with single spaces."""
    return " ".join(text.split())
