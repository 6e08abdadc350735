"""HTML becomes a page's readable text, with a block for every paragraph, heading, row and code listing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from glossator.core.types import Block, BlockKind

MAX_DEPTH = 150
"""Deeper markup is read as flat text: no page nests so far, only an attack does."""

MAX_NESTING = 500
"""Tags below this are dropped before parsing: a parser's work can grow with the square of the nesting."""

MAX_HEADING = 200
"""A longer "heading" is a paragraph that happens to stand above a line of dashes."""

_UNSEEN = frozenset(
    """
    script style noscript template svg nav footer aside form button input select textarea iframe object
    head title dialog
    """.split()
)
_UNSEEN_CLASSES = frozenset(
    """
    headerlink hash-link header-anchor anchor-link anchorjs-link linenos lineno toctree-wrapper
    breadcrumbs pagination-nav theme-doc-footer theme-doc-breadcrumbs theme-doc-toc-mobile
    tocCollapsible sr-only visually-hidden footnote-ref footnote-backref skip-link
    """.split()
)
_INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby rp rt s samp
    small span strike strong sub sup time tt u var wbr math
    """.split()
)
_MATH_CLASSES = frozenset({"math", "katex", "katex-display", "MathJax", "arithmatex"})
_DO_NOT_NEST = frozenset(
    """
    area base br col embed hr img input link meta source track wbr
    p li dt dd tr td th thead tbody tfoot option optgroup rp rt
    """.split()
)
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MAIN = ("main article", "article", "main", "[role=main]", "div.body", "div.document", "#content", "body")
_LISTING_TABLE = frozenset({"highlighttable", "rouge-table", "codehilitetable"})
_NOT_CODE = "button, .linenos, .lineno, .linenodiv, .boring"
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_CODE_CLASS = re.compile(r"(?:language|lang|highlight|sourceCode)-([\w+#.-]+)")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\u0000]")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The readable text of one page."""

    title: str
    text: str
    blocks: tuple[Block, ...]


def extract(html: str) -> Extracted:
    """Read the main part of a page."""
    tree = LexborHTMLParser(_flattened(html))
    root = next((found[0] for rule in _MAIN if len(found := tree.css(rule)) == 1), None)
    writer = _Writer()
    if root is not None:
        _walk(root, writer, 0)
        writer.finish()
    text = "".join(writer.parts)
    return Extracted(_title(tree, text, writer.blocks), text, tuple(writer.blocks))


def _flattened(html: str) -> str:
    """The page without the tags that are nested too deep."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[2].lower() in _DO_NOT_NEST or tag[0].endswith("/>"):
            return tag[0]
        before, depth = depth, max(0, depth + (-1 if tag[1] else 1))
        return tag[0] if max(before, depth) <= MAX_NESTING else " "

    return _TAG.sub(keep, html) if html.count("<") > MAX_NESTING else html


def _title(tree: LexborHTMLParser, text: str, blocks: list[Block]) -> str:
    """The first-level heading that opens the page, else the browser's title."""
    opening = next((b for b in blocks[:3] if b.kind is BlockKind.HEADING and b.level == 1), None)
    if opening:
        return text[opening.start : opening.end]
    head = tree.css_first("title")
    return _SPACE.sub(" ", _clean(head.text())).strip()[:MAX_HEADING] if head is not None else ""


@dataclass(slots=True)
class _Writer:
    """Collects text and blocks; `inline` holds what the current block has so far."""

    parts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    length: int = 0
    marks: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    anchor: str = ""

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def block(self, kind: BlockKind, text: str, *, level: int = 0, anchor: str = "", mark: str = "") -> None:
        """Append a block; `mark` (a bullet) stands before it and is not part of it."""
        if not text:
            return
        tight = kind in (BlockKind.ITEM, BlockKind.ROW) and self.blocks and self.blocks[-1].kind is kind
        if self.length:
            self.write("\n" if tight else "\n\n")
        self.write(mark)
        start = self.length
        self.write(text)
        self.blocks.append(Block(kind, start, self.length, level, anchor))

    def flush(self) -> None:
        """Close the current block."""
        text = _SPACE.sub(" ", "".join(self.inline)).strip()
        figures, self.figures = self.figures, []
        self.inline.clear()
        self._close(text)
        for alternative in figures:
            self.block(BlockKind.FIGURE, f"[Figure: {alternative}]")

    def _close(self, text: str) -> None:
        if text.startswith("$$") and text.endswith("$$") and text.count("$$") == 2:
            self.block(BlockKind.FORMULA, text)
        elif self.marks and text:
            self.block(BlockKind.ITEM, text, mark=self.marks[-1])
            self.marks[-1] = " " * len(self.marks[-1])
        else:
            self.block(BlockKind.PARAGRAPH, text)

    def finish(self) -> None:
        self.flush()


def _walk(node: LexborNode, writer: _Writer, depth: int) -> None:
    """Write a node's children in reading order."""
    if depth > MAX_DEPTH:
        _remove(node, ", ".join((*_UNSEEN, "[hidden]")))
        writer.inline.append(_clean(node.text(separator=" ")))
        return
    for child in node.iter(include_text=True):
        if child.is_text_node:
            writer.inline.append(_clean(child.text(deep=True)))
        elif child.is_element_node and not _hidden(child):
            _element(child, writer, depth + 1)


def _remove(node: LexborNode, rule: str) -> None:
    for found in node.css(rule):
        found.decompose()


def _element(node: LexborNode, writer: _Writer, depth: int) -> None:
    """Write one element according to its tag."""
    tag = node.tag or ""
    if tag in _HEADINGS:
        writer.flush()
        _heading(node, writer, _HEADINGS[tag])
    elif _is_math(node):
        _formula(node, writer)
    elif tag == "pre":
        writer.flush()
        _code(node, writer)
    elif tag == "table" and not _LISTING_TABLE & _classes(node):
        writer.flush()
        _table(node, writer, depth)
    elif tag == "img":
        _image(node, writer)
    elif tag in ("br", "hr"):
        writer.inline.append(" ")
    elif tag in ("ul", "ol", "menu"):
        writer.flush()
        _list(node, writer, depth, ordered=tag == "ol")
    elif tag in _INLINE:
        writer.anchor = _target(node) or writer.anchor
        _walk(node, writer, depth)
    else:
        _container(node, writer, depth)


def _container(node: LexborNode, writer: _Writer, depth: int) -> None:
    """A block of its own: what came before it ends, and so does what it holds."""
    writer.flush()
    if node.id and node.tag in ("section", "div", "article"):
        writer.anchor = node.id
    _walk(node, writer, depth)
    writer.flush()


def _target(node: LexborNode) -> str:
    """The name under which a link can reach an anchor that stands in the text."""
    return node.id or node.attributes.get("name") or "" if node.tag == "a" else ""


def _heading(node: LexborNode, writer: _Writer, level: int) -> None:
    inner = node.css_first("[id], a[name]")
    anchor = node.id or (inner is not None and (inner.id or _target(inner))) or writer.anchor
    writer.anchor = ""
    _remove(node, "." + ", .".join(_UNSEEN_CLASSES))
    text = _SPACE.sub(" ", _clean(node.text())).strip().removesuffix("¶").removesuffix("#").strip()
    if len(text) > MAX_HEADING:
        writer.block(BlockKind.PARAGRAPH, text)
    else:
        writer.block(BlockKind.HEADING, text, level=level, anchor=anchor or "")


def _code(node: LexborNode, writer: _Writer) -> None:
    _remove(node, _NOT_CODE)
    for line_end in node.css("br"):
        line_end.replace_with("\n")
    code = _INVISIBLE.sub("", node.text()).strip("\n").rstrip()
    if not code.strip():
        return
    fence = "```"
    while fence in code:
        fence += "`"
    writer.block(BlockKind.CODE, f"{fence}{_language(node)}\n{code}\n{fence}")


def _language(node: LexborNode) -> str:
    """The listing's language, from the classes that generators put on or around it."""
    holders = [node.css_first("code"), node, node.parent, node.parent.parent if node.parent else None]
    for holder in holders:
        found = _CODE_CLASS.search((holder.attributes.get("class") or "") if holder is not None else "")
        if found and found[1] not in ("default", "text", "none"):
            return found[1]
    return ""


def _table(node: LexborNode, writer: _Writer, depth: int) -> None:
    parts = [part for part in node.iter() if not _hidden(part)]
    for caption in (part for part in parts if part.tag == "caption"):
        writer.block(BlockKind.PARAGRAPH, _cell(caption, depth))
    for row in (row for part in parts for row in (part.iter() if part.tag != "tr" else [part])):
        cells = [_cell(cell, depth) for cell in row.iter() if cell.tag in ("td", "th") and not _hidden(cell)]
        if any(cells):
            writer.block(BlockKind.ROW, " | ".join(cells))


def _cell(node: LexborNode, depth: int) -> str:
    """A cell's text on one line."""
    inner = _Writer()
    _walk(node, inner, depth + 1)
    inner.finish()
    return _SPACE.sub(" ", "".join(inner.parts)).strip()


def _list(node: LexborNode, writer: _Writer, depth: int, *, ordered: bool) -> None:
    number = 0
    indent = "  " * len(writer.marks)
    for item in node.iter():
        if _hidden(item):
            continue
        if item.tag != "li":
            _element(item, writer, depth + 1)
            continue
        number += 1
        writer.marks.append(f"{indent}{number}. " if ordered else f"{indent}- ")
        _walk(item, writer, depth + 1)
        writer.flush()
        writer.marks.pop()


def _image(node: LexborNode, writer: _Writer) -> None:
    """A picture is its alternative text, marked as such: searchable, but no sentence of the book."""
    alt = _SPACE.sub(" ", _clean(node.attributes.get("alt") or "")).strip()
    if len(alt) > 3:
        writer.figures.append(alt)


def _formula(node: LexborNode, writer: _Writer) -> None:
    """TeX is kept as TeX, wherever the generator put it."""
    source = node.css_first("annotation[encoding='application/x-tex']")
    tex = source.text() if source is not None else node.attributes.get("alttext") or node.text()
    tex = _SPACE.sub(" ", tex.strip())
    tex = tex.removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]").strip("$ ")
    if not tex:
        return
    if _is_inline(node):
        writer.inline.append(f"${tex}$")
    else:
        writer.flush()
        writer.block(BlockKind.FORMULA, f"$$ {tex} $$")


def _is_math(node: LexborNode) -> bool:
    if node.tag == "script":
        return (node.attributes.get("type") or "").startswith("math/tex")
    return node.tag == "math" or bool(_MATH_CLASSES & _classes(node))


def _is_inline(node: LexborNode) -> bool:
    if node.tag == "script":
        return "display" not in (node.attributes.get("type") or "")
    if node.tag == "math":
        return node.attributes.get("display") != "block"
    return "inline" in _classes(node) or (node.tag == "span" and not {"katex-display", "block"} & _classes(node))


def _classes(node: LexborNode) -> set[str]:
    return set((node.attributes.get("class") or "").split())


def _hidden(node: LexborNode) -> bool:
    if _is_math(node):
        return False
    attributes = node.attributes
    return (
        node.tag in _UNSEEN
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or bool(_NOT_DISPLAYED.search(attributes.get("style") or ""))
        or bool(_UNSEEN_CLASSES & _classes(node))
    )


def _clean(text: str | None) -> str:
    return _INVISIBLE.sub("", text or "")
