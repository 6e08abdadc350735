"""Extracts the readable text of an HTML page, with a block for each paragraph, heading, table row and code block."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from glossator.core.text.superscripts import subscript, superscript
from glossator.core.types import CELL_SEPARATOR, QUOTABLE_ROW, TABLE_HEAD, Block, BlockKind
from glossator.ingest.formats.markup import page_markup
from glossator.ingest.formats.nodes import (
    HIDDEN_TAGS,
    REMOVED_CHARACTERS,
    Traits,
    formula_tex,
    is_inline_formula,
    one_line,
    traits,
    visible_text,
)
from glossator.ingest.tags import without_excess

MAX_WALK_DEPTH = 150
"""Deeper markup is read as flat text: only hostile pages nest this deep."""

MAX_HEADING_CHARACTERS = 200
"""A longer "heading" is a paragraph that happens to be followed by a line of dashes."""

_INLINE_TAGS = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data dfn em font i ins kbd label mark q ruby samp
    small span strong sub sup time tt u var wbr math mjx-container
    """.split()
)
_RENDERED_MATH = ".MathJax, .MathJax_Display, .MathJax_Preview, .MathJax_SVG, .MathJax_SVG_Display, .MathJax_CHTML"
_HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
_MAIN_SELECTORS = ("main article", "article", "main", "[role=main]", "div.body", "div.document", "#content", "body")
_CODE_TABLE_CLASSES = frozenset({"highlighttable", "rouge-table", "codehilitetable"})
_NOT_CODE_SELECTOR = "button, .linenos, .lineno, .linenodiv, .boring"
_LABEL_END = re.compile(r"[^\s.!?:;,…-]\Z")
_LINE_BELOW = re.compile(r"[^\S\n]*+\n\s*+(\S)")
_PRINTED_PAGE = re.compile(r"page=\d{1,6}")
"""The anchor by which a PDF viewer opens a page."""
_CODE_CLASS = re.compile(r"(?:language|lang|highlight|sourceCode)-([\w+#.-]+)")


@dataclass(frozen=True, slots=True)
class ExtractedPage:
    """The readable text of one page, its markup for display, which is not yet sanitized, and what was left out."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    markup: str = ""
    notes: tuple[str, ...] = ()


def extract(html: str) -> ExtractedPage:
    """Read the main content of a page."""
    notes: list[str] = []
    return extract_parsed(parse_page(html, notes), notes)


def parse_page(html: str, notes: list[str]) -> LexborHTMLParser:
    """Parse a page, without what is nested too deep or too much."""
    return LexborHTMLParser(without_excess(html, notes))


def extract_parsed(tree: LexborHTMLParser, notes: list[str]) -> ExtractedPage:
    """Read the main content of a parsed page, which is changed by it."""
    if tree.css_first("script[type^='math/tex']") is not None:  # the formulas are in the page twice
        _remove(tree, _RENDERED_MATH)
    root = next((found[0] for selector in _MAIN_SELECTORS if len(found := tree.css(selector)) == 1), None)
    writer = _BlockWriter()
    if root is not None:
        _walk(root, writer, 0)
        writer.flush()
    text = "".join(writer.parts)
    title = _title(tree, text, writer.blocks)
    markup = page_markup(tree, root) if root is not None else ""
    return ExtractedPage(title, text, tuple(writer.blocks), markup, tuple(notes))


def _title(tree: LexborHTMLParser, text: str, blocks: list[Block]) -> str:
    """The first-level heading at the start of the page, else the `<title>` element."""
    opening = next((b for b in blocks[:3] if b.kind is BlockKind.HEADING and b.level == 1), None)
    if opening:
        return text[opening.start : opening.end]
    head = tree.css_first("title")
    return one_line(visible_text(head.text()))[:MAX_HEADING_CHARACTERS] if head is not None else ""


@dataclass(slots=True)
class _BlockWriter:
    """Collects text and blocks; `inline` holds the text of the current block so far.

    `markers` are the bullets or numbers of the open list items, `anchor` is the last link target seen, `blank` and
    `label` tell that the current block has no text so far, or bold text only, and `page` is the anchor of the printed
    page that the text is on.
    """

    parts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    length: int = 0
    markers: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    anchor: str = ""
    page: str = ""
    blank: bool = True
    label: bool = False

    def add(self, text: str) -> None:
        """Append text to the current block, or to a new one if it is on the line below a label."""
        below = _LINE_BELOW.match(text) if self.label else None
        if below and below[1].isupper():
            self.flush()
        if text:
            self.inline.append(text)
        if text.strip():
            self.blank = self.label = False

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def block(self, kind: BlockKind, text: str, *, level: int = 0, anchor: str = "", marker: str = "") -> None:
        """Append a block; `marker` (a bullet or number) precedes it and is not part of it."""
        if not text:
            return
        tight = kind in (BlockKind.ITEM, BlockKind.ROW) and self.blocks and self.blocks[-1].kind is kind
        if self.length:
            self.write("\n" if tight else "\n\n")
        self.write(marker)
        start = self.length
        self.write(text)
        self.blocks.append(Block(kind, start, self.length, level, self.page or anchor))

    def flush(self) -> None:
        """Close the current block."""
        text = one_line("".join(self.inline))
        figures, self.figures = self.figures, []
        self.inline.clear()
        self.blank, self.label = True, False
        self._close(text)
        for alternative in figures:
            self.block(BlockKind.FIGURE, f"[Figure: {alternative}]")

    def _close(self, text: str) -> None:
        if text.startswith("$$") and text.endswith("$$") and text.count("$$") == 2:
            self.block(BlockKind.FORMULA, text)
        elif self.markers and text:
            self.block(BlockKind.ITEM, text, marker=self.markers[-1])
            self.markers[-1] = " " * len(self.markers[-1])
        else:
            self.block(BlockKind.PARAGRAPH, text)


def _walk(node: LexborNode, writer: _BlockWriter, depth: int) -> None:
    """Write a node's children in reading order."""
    if depth > MAX_WALK_DEPTH:
        _remove(node, ", ".join((*HIDDEN_TAGS, "[hidden]", "[style*='line-through' i]")))
        writer.add(visible_text(node.text(separator=" ")))
        return
    for child in node.iter(include_text=True):
        if child.is_text_node:
            writer.add(visible_text(child.text(deep=True)))
        elif child.is_element_node and not (known := traits(child)).is_hidden:
            _element(child, known, writer, depth + 1)


def _remove(node: LexborNode | LexborHTMLParser, selector: str) -> None:
    for found in node.css(selector):
        found.decompose()


def _element(node: LexborNode, known: Traits, writer: _BlockWriter, depth: int) -> None:
    """Write one element according to its tag."""
    tag = node.tag or ""
    if tag in _HEADING_LEVELS:
        writer.flush()
        _heading(node, writer, _HEADING_LEVELS[tag], depth)
    elif known.is_formula:
        _formula(node, writer)
    elif tag == "pre":
        writer.flush()
        _code(node, writer)
    elif tag == "table" and _CODE_TABLE_CLASSES.isdisjoint(known.classes):
        writer.flush()
        _table(node, writer, depth)
    elif tag == "img":
        _image(node, writer)
    elif tag == "input":
        writer.add("☑ " if "checked" in node.attributes else "☐ ")
    elif tag in ("br", "hr"):
        writer.flush() if writer.label else writer.add(" ")
    elif tag in ("ul", "ol", "menu"):
        writer.flush()
        _list(node, writer, depth, ordered=tag == "ol")
    elif tag in _INLINE_TAGS:
        writer.anchor = _anchor_name(node) or writer.anchor
        _inline(node, writer, depth)
    else:
        _container(node, writer, depth)


def _inline(node: LexborNode, writer: _BlockWriter, depth: int) -> None:
    """Write an element within a line, with a sign where its layout has a meaning."""
    before = writer.inline[-1][-1] if writer.inline else ""
    if node.tag == "sup":
        writer.add("" if _is_note_reference(node) else superscript(_line_of(node, depth), before))
    elif node.tag == "sub":
        writer.add(subscript(_line_of(node, depth)))
    elif node.tag == "q":
        writer.add(f"“{_line_of(node, depth)}”")
    else:
        if node.tag == "kbd" and before.isalnum():
            writer.add(" ")
        is_first = writer.blank and node.tag in ("b", "strong")
        _walk(node, writer, depth)
        writer.label = is_first and not writer.blank and _LABEL_END.search(writer.inline[-1]) is not None


def _is_note_reference(node: LexborNode) -> bool:
    """Whether a superscript is the number of a footnote: a link within the page."""
    link = node.css_first("a[href]")
    return (
        link is not None and "#" in (link.attributes.get("href") or "") and link.text().strip() == node.text().strip()
    )


def _line_of(node: LexborNode, depth: int) -> str:
    """The text of an element on one line, without its images."""
    inner = _BlockWriter()
    _walk(node, inner, depth + 1)
    inner.figures.clear()
    inner.flush()
    return one_line("".join(inner.parts))


def _container(node: LexborNode, writer: _BlockWriter, depth: int) -> None:
    """Write an element that starts and ends a block."""
    writer.flush()
    if node.id and node.tag in ("section", "div", "article"):
        writer.anchor = node.id
        writer.page = node.id if _PRINTED_PAGE.fullmatch(node.id) else writer.page
    _walk(node, writer, depth)
    writer.flush()


def _anchor_name(node: LexborNode) -> str:
    """The id or name of an anchor element."""
    return node.id or node.attributes.get("name") or "" if node.tag == "a" else ""


def _heading(node: LexborNode, writer: _BlockWriter, level: int, depth: int) -> None:
    inner = node.css_first("[id], a[name]")
    anchor = node.id or (inner is not None and (inner.id or _anchor_name(inner))) or writer.anchor
    writer.anchor = ""
    text = _line_of(node, depth).removesuffix("¶").removesuffix("#").strip()
    if len(text) > MAX_HEADING_CHARACTERS:
        writer.block(BlockKind.PARAGRAPH, text)
    else:
        writer.block(BlockKind.HEADING, text, level=level, anchor=anchor or "")


def _code(node: LexborNode, writer: _BlockWriter) -> None:
    _remove(node, _NOT_CODE_SELECTOR)
    for line_break in node.css("br"):
        line_break.replace_with("\n")
    code = REMOVED_CHARACTERS.sub("", node.text()).strip("\n").rstrip()
    if not code.strip():
        return
    fence = "```"
    while fence in code:
        fence += "`"
    writer.block(BlockKind.CODE, f"{fence}{_language(node)}\n{code}\n{fence}")


def _language(node: LexborNode) -> str:
    """The language of a code block, from the classes that site generators put on or around it."""
    holders = [node.css_first("code"), node, node.parent, node.parent.parent if node.parent else None]
    for holder in holders:
        found = _CODE_CLASS.search((holder.attributes.get("class") or "") if holder is not None else "")
        if found and found[1] not in ("default", "text", "none"):
            return found[1]
    return ""


def _table(node: LexborNode, writer: _BlockWriter, depth: int) -> None:
    parts = [part for part in node.iter() if not traits(part).is_hidden]
    is_irregular = node.css_first("[rowspan], [colspan]") is not None
    for caption in (part for part in parts if part.tag == "caption"):
        writer.block(BlockKind.PARAGRAPH, _cell(caption, depth))
    rows = [(row, part.tag == "thead") for part in parts for row in (part.iter() if part.tag != "tr" else [part])]
    columns = 0
    for number, (row, in_head) in enumerate(rows):
        cells = [cell for cell in row.iter() if cell.tag in ("td", "th") and not traits(cell).is_hidden]
        texts = [_cell(cell, depth) for cell in cells]
        level = 0
        if number == 0 and (in_head or all(cell.tag == "th" for cell in cells)) and all(map(_is_plain, cells, texts)):
            level, columns = TABLE_HEAD, len(cells)
        elif len(cells) == columns > 1 and not is_irregular and all(map(_is_plain, cells, texts)):
            level = QUOTABLE_ROW
        if any(texts):
            writer.block(BlockKind.ROW, CELL_SEPARATOR.join(texts), level=level)


def _is_plain(cell: LexborNode, text: str) -> bool:
    """Whether a cell is a single piece of text, so that its row can be shown on a line."""
    return "|" not in text and cell.css_first("ul, ol, dl, pre, table, blockquote") is None


def _cell(node: LexborNode, depth: int) -> str:
    """A cell's text on one line."""
    only = node.child
    if only is None or (only.is_text_node and only.next is None):
        return one_line(visible_text(node.text()))
    inner = _BlockWriter()
    _walk(node, inner, depth + 1)
    inner.flush()
    return one_line("".join(inner.parts))


def _list(node: LexborNode, writer: _BlockWriter, depth: int, *, ordered: bool) -> None:
    if depth > MAX_WALK_DEPTH:
        _walk(node, writer, depth)
        return
    number = 0
    indent = "  " * len(writer.markers)
    for item in node.iter():
        known = traits(item)
        if known.is_hidden:
            continue
        if item.tag != "li":
            _element(item, known, writer, depth + 1)
            continue
        number += 1
        writer.markers.append(f"{indent}{number}. " if ordered else f"{indent}- ")
        _walk(item, writer, depth + 1)
        writer.flush()
        writer.markers.pop()


def _image(node: LexborNode, writer: _BlockWriter) -> None:
    """Write an image as its alternative text, marked as a figure: searchable, but not a sentence of the book."""
    alt = one_line(visible_text(node.attributes.get("alt")))
    if len(alt) > 3:
        writer.figures.append(alt)


def _formula(node: LexborNode, writer: _BlockWriter) -> None:
    """Write a formula as TeX, wherever the site generator put it."""
    tex = formula_tex(node)
    if not tex:
        return
    if is_inline_formula(node):
        writer.add(f"${tex}$")
    else:
        writer.flush()
        writer.block(BlockKind.FORMULA, f"$$ {tex} $$")
