"""Inline syntax of Markdown dialects, as rules for the parser: marks, edits, attributes, emoji and macros."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from glossator.core.text.formulas import MAX_FORMULA_CHARACTERS
from glossator.ingest.formats.dialects import Dialect

ATTRIBUTES, EMOJI = "attributes", "emoji"
"""Types of tokens that are not displayed: `{#id .class}` with the id in `meta`, and `:name:` as `content`."""

MACROS = "macros"
"""The key of the parser's environment that counts the macros left out."""

MAX_MACRO_CHARACTERS = 2000
"""What is longer is text, so that openings without an end take no time."""

_ATTRIBUTE_LIST = re.compile(
    r"\{:?[ \t]*+(?:(?:#(?P<id>[^\s{}#]++)|\.[^\s{}]++|[\w:-]++=(?:\"[^\"{}\n]*+\"|'[^'{}\n]*+'|[^\s{}]++))[ \t]*+)++\}"
)
_HEADING_ID = re.compile(r"\{#(?P<id>[^\s{}]++)\}")
_COMMENTED_ID = re.compile(r"\{/\*[ \t]*+#?(?P<id>[\w-]++)[ \t]*+\*/\}")
"""A comment of MDX, which some sites write in files that are named Markdown; Docusaurus displays it there."""
_AFTER_ELEMENT = '*_`)]>~^=+"'
_EMOJI = re.compile(r":[a-z][a-z0-9_+-]{0,60}:(?![\w:])")
_EDITS = {"++": "++}", "--": "--}", "==": "==}", ">>": "<<}", "~~": "~~}"}
_DELETED = ("--", ">>")
_CLOSING = {"(": ")", "[": "]"}
_MACRO_ENDS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_CODE_REFERENCE = re.compile(
    r"\[(?P<label>(?:`[^`\n]{1,200}+`|[^\[\]`\n]|\[[^\[\]`\n]{0,100}+\]){1,200}+)\]\[(?:[\w.:-]{1,300}+)?\]"
)
"""`[label][package.name]` and `[package.name][]`, for which mkdocstrings knows the page."""
_SHORTCODE_ENDS = {"{{<": ">}}", "{{%": "%}}", "{%": "%}"}


def add_inline_rules(parser: MarkdownIt, dialect: Dialect) -> None:
    """Teach the parser the inline syntax of a dialect; inside code nothing is special."""
    if dialect.tex:
        parser.inline.ruler.before("escape", "tex", partial(_tex, slashes=dialect.tex))
    if dialect.macros or dialect.shortcodes:
        ends = _MACRO_ENDS if dialect.macros else _SHORTCODE_ENDS
        parser.inline.ruler.before("emphasis", "macro", partial(_macro, ends=ends))
    parser.inline.ruler.before("emphasis", "edit", _edit)
    pattern = _ATTRIBUTE_LIST if dialect.attribute_lists else _HEADING_ID
    parser.inline.ruler.before("emphasis", "attribute_list", partial(_attribute_list, pattern=pattern))
    if dialect.attribute_lists:
        parser.inline.ruler.before("emphasis", "comment", partial(_attribute_list, pattern=_COMMENTED_ID))
    if dialect.emoji:
        parser.inline.ruler.before("emphasis", "emoji", _emoji)
    if dialect.generates_reference:
        parser.inline.ruler.after("link", "code_reference", _code_reference)
    marks = dict(dialect.marks)

    def mark(state: StateInline, silent: bool) -> bool:
        run = state.src[state.pos : state.pos + 2]
        sign = run if len(run) == 2 and run[0] == run[1] else run[:1]
        return sign in marks and not silent and _marked(state, sign, marks[sign])

    parser.inline.ruler.before("strikethrough", "mark", mark)


def _marked(state: StateInline, sign: str, tag: str) -> bool:
    """Text between two equal marks, by the rules for emphasis."""
    start = state.pos + len(sign)
    end = state.src.find(sign, start, state.posMax)
    if end <= start or state.src[start:end].count("`") % 2:
        return False
    opening, closing = state.scanDelims(state.pos, True), state.scanDelims(end, True)
    if not (opening.can_open and closing.can_close and opening.length == closing.length == len(sign)):
        return False
    if sign == "~" and state.pos and state.src[state.pos - 1].isalnum():
        tag = "sub"  # GitHub would delete it, but whoever writes H~2~O means a subscript
    if tag in ("sup", "sub") and any(map(str.isspace, state.src[start:end])):
        return False
    _push_element(state, tag, start, end)
    state.pos = end + len(sign)
    return True


def _push_element(state: StateInline, tag: str, start: int, end: int) -> None:
    state.push(f"{tag}_open", tag, 1)
    if tag == "kbd":
        state.pending = state.src[start:end]
    else:
        limit, state.pos, state.posMax = state.posMax, start, end
        state.md.inline.tokenize(state)
        state.posMax = limit
    state.push(f"{tag}_close", tag, -1)


def _code_reference(state: StateInline, silent: bool) -> bool:
    """A link to the documentation of code, which only the site generator can resolve: its label is the text."""
    found = _CODE_REFERENCE.match(state.src, state.pos, state.posMax)
    before = state.src[state.pos - 1] if state.pos else ""
    if not found or before.isalnum() or not found["label"].strip():
        return False
    if not silent:
        limit, state.pos, state.posMax = state.posMax, found.start("label"), found.end("label")
        state.md.inline.tokenize(state)
        state.posMax = limit
    state.pos = found.end()
    return True


def _edit(state: StateInline, silent: bool) -> bool:
    """CriticMarkup: `{++added++}`, `{--deleted--}`, `{~~old~>new~~}`, `{==marked==}`, `{>>comment<<}`."""
    sign = state.src[state.pos + 1 : state.pos + 3]
    if state.src[state.pos] != "{" or sign not in _EDITS:
        return False
    start = state.pos + 3
    end = state.src.find(_EDITS[sign], start, state.posMax)
    arrow = state.src.find("~>", start, end) if end >= 0 else -1
    if end < 0 or (sign == "~~" and arrow < 0):
        return False
    if not silent and sign not in _DELETED:
        _push_element(state, "ins", arrow + 2 if sign == "~~" else start, end)
    state.pos = end + 3
    return True


def _tex(state: StateInline, silent: bool, slashes: str) -> bool:
    """A formula between brackets with backslashes: `(` within a sentence, `[` as a paragraph."""
    start = state.pos + len(slashes) + 1
    opening = state.src[state.pos : start]
    closing = slashes + _CLOSING.get(opening[-1:], "")
    if not opening.startswith(slashes) or closing == slashes:
        return False
    end = state.src.find(closing, start, min(state.posMax, start + MAX_FORMULA_CHARACTERS))
    if end <= start:
        return False
    alone = not state.pos and end + len(closing) == len(state.src.rstrip())
    if opening == "\\[" and not alone:  # one backslash may as well escape the bracket
        return False
    if not silent:
        token = state.push("math_block" if alone and opening[-1] == "[" else "math_inline", "math", 0)
        token.content = state.src[start:end].strip()
    state.pos = end + len(closing)
    return True


def _attribute_list(state: StateInline, silent: bool, pattern: re.Pattern[str]) -> bool:
    """`{#id .class key=value}` after an element, or at the end of a block."""
    found = pattern.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    at_end = not state.src[found.end() : state.posMax].strip()
    if not at_end and (pattern is not _ATTRIBUTE_LIST or state.src[max(0, state.pos - 1)] not in _AFTER_ELEMENT):
        return False
    if not silent:
        token = state.push(ATTRIBUTES, "", 0)
        token.hidden, token.meta = True, {"id": found["id"] or ""} if at_end else {}
    state.pos = found.end()
    return True


def _emoji(state: StateInline, silent: bool) -> bool:
    """`:rocket:` is a picture."""
    before = state.src[state.pos - 1] if state.pos else ""
    found = _EMOJI.match(state.src, state.pos, state.posMax) if not before.isalnum() and before != ":" else None
    if found and not silent:
        token = state.push(EMOJI, "", 0)
        token.hidden, token.content = True, found[0]
    state.pos = found.end() if found else state.pos
    return bool(found)


def _macro(state: StateInline, silent: bool, ends: Mapping[str, str]) -> bool:
    """`{{ name }}`, `{% statement %}` and `{{< name >}}`: what they display is known to the site generator only."""
    opening = next((mark for mark in ends if state.src.startswith(mark, state.pos)), "")
    start = state.pos + len(opening)
    end = state.src.find(ends[opening], start, min(state.posMax, start + MAX_MACRO_CHARACTERS)) if opening else -1
    if end < 0:
        return False
    if not silent:
        state.env[MACROS] = state.env.get(MACROS, 0) + 1
    state.pos = end + len(ends[opening])
    return True
