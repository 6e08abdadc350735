"""Block syntax of Markdown dialects, as rules for the parser: admonitions, tabs, directives and alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from glossator.core.text.markup import ADMONITION_KINDS
from glossator.ingest.formats.dialects import Dialect

MAX_OPENING_CHARACTERS = 1000
"""A longer line opens no block."""

MAX_ADMONISH_NESTING = 4
"""A block of mdbook-admonish in more blocks than this is code: each level is parsed again."""

BODY_INDENT = 4

REFERENCES = "glossator.references"
"""The key of the parser's environment that counts the blocks of generated reference left out. The parser itself
stores link definitions in that environment, as "references"."""

_INDENTED = re.compile(
    r"(?:!!![ \t]?|\?\?\?\+?[ \t]?(?=[ \t]*+[\w\"-]))(?P<type>[\w -]*)(?:\"(?P<title>.*)\")?[ \t]*"
    r"|===[!+]*[ \t]+\"(?P<tab>.*)\"[ \t]*"
)
_COLONS = re.compile(
    r":{3,}[ \t]*+(?P<options>)"
    r"(?:\{[\w-]+\}|[\w-]*+)[ \t]*+(?:\[(?P<label>.*)\])?[ \t]*(?:\{[^{}]*\})?[ \t]*(?P<title>.*)"
)
_REFERENCE = re.compile(r"(?:#{1,6}[ \t]++)?:::[ \t]*+(?P<name>[A-Za-z_]\w*+(?:[.:/]\w++)*+)[ \t]*+")
_ADMONISH = re.compile(r"admonish(?:[ \t]+(?P<kind>[a-z]+)(?![\w=-])|(?![\w-]))")
_ADMONISH_TITLE = re.compile(r"(?:\btitle[ \t]*=[ \t]*|(?<!=)[ \t])\"((?:[^\"\\]|\\.)*+)\"")
_SLASHES = re.compile(r"/{3,}[ \t]*+(?:(?P<options>[A-Za-z][\w-]*+)[ \t]*+(?:\|(?P<title>.*))?)?(?P<label>)")
_ABBREVIATION = re.compile(r"\*\[[^\[\]]+\]:.*(?P<options>)(?P<label>)(?P<title>)")
_ALERT = re.compile(r"\[!\w+\][+-]?(?P<options>)(?P<label>)(?P<title>.*)")
_CONTENTS = re.compile(r"\[TOC\]|\[\[_?(?:TOC|toc)_?\]\]")
_TASK = re.compile(r"\[([ xX])\][^\S\n]+")
_MARKDOWN_TAG = re.compile(r"<[a-z][a-z0-9]*+(?=\s)[^<>]*\smarkdown(?:=[^\s<>]*)?(?:\s[^<>]*)?>[ \t]*", re.IGNORECASE)
_KIND = re.compile(r"(?:[:/]{3,}[ \t]*+\{?|\[!)(?P<kind>[A-Za-z]+)")
_OPEN_ADMONITIONS = "glossator.admonitions"
"""Where the parser's environment holds the nesting level of each admonition that is open."""


def add_block_rules(parser: MarkdownIt, dialect: Dialect) -> None:
    """Teach the parser the blocks of the site generators; what is code is decided by the parser's own rules."""
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "indented_block", _indented_block, interrupts)
    reference = partial(_generated_reference, any_name=dialect.generates_reference)
    parser.block.ruler.before("fence", "generated_reference", reference, interrupts)
    parser.block.ruler.before("fence", "label", _label, interrupts)
    parser.block.ruler.before("html_block", "markdown_tag", _markdown_tag, interrupts)
    if dialect.contents_marks:
        parser.block.ruler.before("fence", "contents_mark", _contents_mark)
    parser.core.ruler.after("inline", "tasks", _tasks)
    if dialect.admonish:
        parser.core.ruler.after("block", "admonish", _admonish)


def _opening_line(state: StateBlock, line: int, marks: tuple[str, ...]) -> str:
    """The text of a line that begins with one of the marks and is not code, or nothing."""
    start = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith(marks, start) or state.is_code_block(line):
        return ""
    return state.src[start : state.eMarks[line]] if state.eMarks[line] - start <= MAX_OPENING_CHARACTERS else ""


def _indented_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`!!! note "Title"`, `??? tip` and `=== "Tab"`: the body is indented by four columns."""
    opening = _INDENTED.fullmatch(_opening_line(state, start, ("!!!", "???", "===")))
    if not opening or silent:
        return bool(opening)
    indent = state.sCount[start] + BODY_INDENT
    body_end = start + 1
    while body_end < end and (state.isEmpty(body_end) or state.sCount[body_end] >= indent):
        body_end += 1
    state.push("container_open", "div", 1).attrSet("class", _classes(opening["type"] or ""))
    _push_title(state, opening["title"] or opening["tab"] or "", start)
    outside = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "container", body_end, indent
    state.md.block.tokenize(state, start + 1, body_end)
    state.parentType, state.lineMax, state.blkIndent = outside
    state.push("container_close", "div", -1)
    state.line = body_end
    return True


def _generated_reference(state: StateBlock, start: int, end: int, silent: bool, *, any_name: bool) -> bool:
    """mkdocstrings: `::: package.module`, also as a heading, is replaced by text that is in no page of the book."""
    opening = _REFERENCE.fullmatch(_opening_line(state, start, (":::", "#")))
    name = opening["name"] if opening else ""
    if not ("." in name or (any_name and name and name.lower() not in ADMONITION_KINDS)):
        return False
    if not silent:
        state.line = _options_end(state, start, end)
        state.env[REFERENCES] = state.env.get(REFERENCES, 0) + 1
    return True


def _label(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line that opens or closes a block, `:::note[Title]`, `/// note | Title` or `> [!NOTE]`: its title remains."""
    line = _opening_line(state, start, (":::", "///", "[!", "*["))
    if line.startswith("[!") and (silent or not state.tokens or state.tokens[-1].type != "blockquote_open"):
        return False
    pattern = {":": _COLONS, "/": _SLASHES, "[": _ALERT, "*": _ABBREVIATION}.get(line[:1])
    opening = pattern.fullmatch(line) if pattern else None
    if not opening or silent:
        return bool(opening)
    state.line = _options_end(state, start, end) if opening["options"] else start + 1
    _open_or_close(state, line)
    title = opening["label"] or ("" if opening["options"] == "html" else opening["title"] or "")
    _push_title(state, title, start)
    return True


def _open_or_close(state: StateBlock, line: str) -> None:
    """Mark the beginning or the end of an admonition, as HTML, which may stay unclosed."""
    kind = _KIND.match(line)
    if line.startswith("["):
        state.tokens[-1].attrSet("class", _classes(kind["kind"] if kind else ""))
        return
    open_levels: list[int] = state.env.setdefault(_OPEN_ADMONITIONS, [])
    if kind and kind["kind"].lower() in ADMONITION_KINDS:
        open_levels.append(state.level)
        state.push("html_block", "", 0).content = f'<div class="{_classes(kind["kind"])}">\n'
    elif not line.strip(":/ \t") and open_levels and open_levels[-1] == state.level:
        open_levels.pop()
        state.push("html_block", "", 0).content = "</div>\n"


def _classes(kind: str) -> str:
    """The classes of an admonition, by the word that opens it."""
    words = [word for word in kind.lower().split() if word in ADMONITION_KINDS]
    return " ".join(["admonition", *words[:1]]) if kind.strip() else ""


def _options_end(state: StateBlock, start: int, end: int) -> int:
    """The end of the indented lines below an opening, which are options of the block."""
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.sCount[start] + BODY_INDENT:
        line += 1
    return line


def _markdown_tag(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """`<div markdown>`: the lines below are Markdown, also without a blank line between."""
    line = _opening_line(state, start, ("<",))
    if not _MARKDOWN_TAG.fullmatch(line) or silent:
        return bool(_MARKDOWN_TAG.fullmatch(line))
    state.push("html_block", "", 0).content = line + "\n"
    state.line = start + 1
    return True


def _contents_mark(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`[TOC]` alone in a paragraph stands for the contents of the page, which are its headings."""
    line = _opening_line(state, start, ("[",))
    if not _CONTENTS.fullmatch(line.rstrip()) or (start + 1 < end and not state.isEmpty(start + 1)):
        return False
    if not silent:
        state.line = start + 1
    return True


def _push_title(state: StateBlock, text: str, line: int) -> None:
    """The title of a block, or the label of a tab."""
    if not text.strip():
        return
    opening = state.push("paragraph_open", "p", 1)
    opening.map = [line, line + 1]
    opening.attrSet("class", "admonition-title")
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = text.strip(), [line, line + 1], []
    state.push("paragraph_close", "p", -1)


def _admonish(state: StateCore) -> None:
    """mdbook-admonish: code in the language `admonish` is an admonition, and its body Markdown."""
    state.tokens = list(_with_admonitions(state, state.tokens, 0))


def _with_admonitions(state: StateCore, tokens: list[Token], nesting: int) -> Iterator[Token]:
    for token in tokens:
        is_short = token.type == "fence" and len(token.info) <= MAX_OPENING_CHARACTERS
        opening = _ADMONISH.match(token.info.strip()) if is_short and nesting < MAX_ADMONISH_NESTING else None
        if not opening:
            yield token
            continue
        title = _ADMONISH_TITLE.search(token.info)
        body = StateBlock(token.content, state.md, state.env, [])
        body.push("container_open", "div", 1).attrSet("class", _classes(opening["kind"] or "note"))
        _push_title(body, title[1] if title else "", 0)
        state.md.block.tokenize(body, body.line, body.lineMax)
        body.push("container_close", "div", -1)
        yield from _with_admonitions(state, body.tokens, nesting + 1)


def _tasks(state: StateCore) -> None:
    """`- [x] done`: a box to tick."""
    for item, inline in zip(state.tokens, state.tokens[2:], strict=False):
        text = inline.children[0] if item.type == "list_item_open" and inline.children else None
        if text is not None and text.type == "text" and inline.children and (box := _TASK.match(text.content)):
            text.content = text.content[box.end() :]
            checked = "" if box[1] == " " else " checked"
            inline.children.insert(0, Token("html_inline", "", 0, content=f'<input type="checkbox"{checked} disabled>'))
