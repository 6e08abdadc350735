"""The markup of a page for display, with formulas, task boxes and admonitions in a normal form."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from glossator.core.text.markup import ADMONITION_KINDS, ALIGNMENTS
from glossator.ingest.formats.nodes import Traits, formula_tex, is_inline_formula, traits

_ADMONITION = re.compile(r"(?:theme-|markdown-)?(?:admonition|alert)|blockquote-tag|callout")
_ADMONITION_TITLE = re.compile(r"admonition-?(?:title|heading)|markdown-alert-title", re.IGNORECASE)
_ALIGNMENT = re.compile(rf"(?<![\w-])text-align\s*:\s*({'|'.join(sorted(ALIGNMENTS))})(?![\w-])", re.IGNORECASE)
_KIND = re.compile(rf"(?<![a-z])({'|'.join(sorted(ADMONITION_KINDS))})(?![a-z])")


def page_markup(tree: LexborHTMLParser, root: LexborNode) -> str:
    """The HTML of a page without hidden nodes; it is not sanitized."""
    replaced: list[LexborNode] = []
    struck: list[LexborNode] = []
    inside: set[int] = set()
    inside_struck: set[int] = set()
    for node in root.traverse():
        above = node.parent.mem_id if (inside or inside_struck) and node.parent is not None else 0
        if above in inside:
            inside.add(node.mem_id)
            continue
        known, tag = traits(node), node.tag
        if (known.is_formula or known.is_left_out or tag == "input") and node.mem_id != root.mem_id:
            inside.add(node.mem_id)
            replaced.append(node)
            continue
        if not known.is_plain or tag == "a":
            _unify(node, known)
        if above in inside_struck or known.is_struck:
            inside_struck.add(node.mem_id)
            struck += [] if above in inside_struck else [node]
    for node in replaced:  # only now: a node that is removed while the tree is being read is freed memory
        _replace(tree, node)
    for node in struck:
        _mark_deleted(tree, node)
    return root.inner_html or ""


def _mark_deleted(tree: LexborHTMLParser, node: LexborNode) -> None:
    """Put the text of a node into elements for deleted text: its style will be gone."""
    texts = [text for text in node.traverse(include_text=True) if text.is_text_node]
    for text in texts:
        if text.parent is not None and not traits(text.parent).is_formula:
            deleted = tree.create_node("del")
            deleted.insert_child(text.text(deep=True))
            text.replace_with(deleted)


def _replace(tree: LexborHTMLParser, node: LexborNode) -> None:
    if traits(node).is_formula:
        _set_formula(tree, node)
    elif node.tag == "input" and node.attributes.get("type") == "checkbox":
        _set_task_box(tree, node)
    else:
        node.decompose()


def _set_formula(tree: LexborHTMLParser, node: LexborNode) -> None:
    """Put a formula's TeX in place of what the site generator made of it."""
    formula = tree.create_node("span" if is_inline_formula(node) else "div")
    formula.attrs["class"] = "math"
    formula.insert_child(formula_tex(node))
    node.replace_with(formula)


def _set_task_box(tree: LexborHTMLParser, node: LexborNode) -> None:
    """Put a sign in place of a check box, which would be a form field without a label."""
    done = "checked" in node.attributes
    box = tree.create_node("span")
    box.attrs["class"], box.attrs["role"] = "task", "img"
    box.attrs["aria-label"] = "done" if done else "to do"
    box.insert_child("☑ " if done else "☐ ")
    node.replace_with(box)


def _unify(node: LexborNode, known: Traits) -> None:
    """Give the classes of admonitions and the alignment of cells one form, and the targets of links an id."""
    if node.tag == "a" and not node.id and node.attributes.get("name"):
        node.attrs["id"] = node.attributes["name"] or ""
    if node.tag in ("td", "th") and (style := _ALIGNMENT.search(node.attributes.get("style") or "")):
        node.attrs["align"] = style[1].lower()
    classes = " ".join(known.classes)
    if not classes:
        return
    if _ADMONITION_TITLE.search(classes):
        node.attrs["class"] = "admonition-title"
    elif _ADMONITION.search(classes) and node.tag in ("div", "aside", "section", "blockquote"):
        kind = _KIND.search(classes)
        node.attrs["class"] = f"admonition {kind[0] if kind else ''}"
