"""Converts Markdown to HTML, with the heading ids that its site generator would give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore, text_join
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from glossator.core.errors import SourceError
from glossator.core.text.plain_yaml import EndlessYaml, load_yaml
from glossator.ingest.files import well_formed
from glossator.ingest.formats.blocks import REFERENCES, add_block_rules
from glossator.ingest.formats.dialects import Dialect
from glossator.ingest.formats.inline import ATTRIBUTES, EMOJI, MACROS, add_inline_rules
from glossator.ingest.formats.plain_text import MAX_PARAGRAPH_CHARACTERS, plain_paragraphs, split_at_limit

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LOOKS_LIKE_FRONT_MATTER = re.compile(r"\A---[ \t]*\n[A-Za-z_][\w-]*[ \t]*:")
_RUST = re.compile(r"rust\b")
_ESCAPE = re.compile(r"[\\&]")
_HIDDEN_RUST_LINE = re.compile(r"[ \t]*#(?: .*)?")

MAX_FRONT_MATTER_CHARACTERS = 100_000
MAX_PARAGRAPH_BRACKETS = 1_000
"""A paragraph with more is read as plain text, as is a very long one: parsing time grows with the square of them."""

_BLOCK_STARTS = {
    "fence": "`~",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*-+0123456789",
    "reference": "[",
    "html_block": "<",
    "heading": "#",
    "footnote_def": "[",
    "math_block": "$",
    "indented_block": "!?=",
    "generated_reference": ":#",
    "label": ":/[*",
    "markdown_tag": "<",
    "contents_mark": "[",
}
"""The characters at which a block rule can match; a rule that is not named is tried at every character."""

_INLINE_STARTS = {
    "newline": "\n",
    "escape": "\\",
    "tex": "\\",
    "backticks": "`",
    "strikethrough": "~",
    "emphasis": "*_",
    "link": "[",
    "code_reference": "[",
    "image": "!",
    "autolink": "<",
    "html_inline": "<",
    "entity": "&",
    "footnote_inline": "^",
    "footnote_ref": "[",
    "math_inline": "$",
    "macro": "{",
    "edit": "{",
    "attribute_list": "{",
    "comment": "{",
    "emoji": ":",
}

_BLOCK_LINES = {
    "table": re.compile(r"^[ \t>]*+[|:-][|: \t-]*+$", re.MULTILINE),
    "lheading": re.compile(r"^[ \t>]*+(?:=++|-++)[ \t]*+$", re.MULTILINE),
    "deflist": re.compile(r"^[ \t>]*+[:~][ \t]", re.MULTILINE),
}
"""A line that a block of each of these rules has: on a page without it the rule is not tried, line by line."""

_MAX_BITS = 1_000
"""Of a number; Python refuses to write very large ones."""
PARTIAL_TAGS = ("<partial>", "</partial>")
"""Mark text that was included from another file."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The values of the front matter, and the text after it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    match = _FRONT_MATTER.match(text)
    if not match:
        if _LOOKS_LIKE_FRONT_MATTER.match(text):
            raise SourceError("the front matter is not closed.", "Add a line with --- below it.")
        return {}, text
    if match.end() > MAX_FRONT_MATTER_CHARACTERS:
        raise SourceError(f"the front matter has more than {MAX_FRONT_MATTER_CHARACTERS:,} characters.", "Shorten it.")
    try:
        values = load_yaml(match[1] or "")
    except EndlessYaml:
        values = {}  # the page is read without it
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise SourceError(
            f"the front matter is not valid YAML (line {line}).", "Quote values that contain a colon."
        ) from None
    return (values if isinstance(values, dict) else {}), text[match.end() :]


def scalar(value: object) -> str:
    """A scalar value of front matter as text; empty for lists and mappings."""
    is_scalar = isinstance(value, str | int | float | date) and value is not False
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return ""
    return well_formed(str(value)).strip() if is_scalar else ""


def to_html(text: str, dialect: Dialect, notes: list[str]) -> str:
    """Render Markdown; every heading gets an id, and `notes` are added on what was left out."""
    environment: dict[str, Any] = {}
    text, rest = split_at_limit(text, notes)
    parser = fast_parser(dialect, text)
    tokens = parser.parse(text, environment)
    _set_heading_ids(tokens, dialect)
    if dialect.hides_rust_lines:
        _hide_rust_lines(tokens)
    notes += _left_out(environment)
    return str(parser.renderer.render(tokens, parser.options, environment)) + plain_paragraphs(rest)


def _left_out(environment: dict[str, Any]) -> Iterator[str]:
    """What the site generator would put in place of syntax on the page."""
    if count := environment.get(MACROS):
        yield f"{count} template {'expression was' if count == 1 else 'expressions were'} left out."
    if count := environment.get(REFERENCES):
        blocks = "block" if count == 1 else "blocks"
        yield f"{count} ::: {blocks} left out: mkdocstrings generates their text from code."


def dialect_parser(dialect: Dialect) -> MarkdownIt:
    """A parser with the syntax of a dialect."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(footnote_plugin)
    if dialect.definition_lists:
        parser.use(deflist_plugin)
    add_block_rules(parser, dialect)
    add_inline_rules(parser, dialect)
    parser.add_render_rule("math_inline", _math_rule("inline"))
    parser.add_render_rule("math_inline_double", _math_rule("inline"))
    parser.add_render_rule("math_block", _math_rule("block"))
    if not dialect.indented_code:
        parser.disable("code")
    return parser


def fast_parser(dialect: Dialect, text: str) -> MarkdownIt:
    """A parser that renders a text as that of its dialect does, and faster."""
    lines = text.replace("\r", "\n")
    return _fast_parser(dialect, frozenset(rule for rule, line in _BLOCK_LINES.items() if not line.search(lines)))


@lru_cache(maxsize=64)
def _fast_parser(dialect: Dialect, unused: frozenset[str]) -> MarkdownIt:
    parser = dialect_parser(dialect)
    parser.disable(unused, ignoreInvalid=True)
    parser.core.ruler.at("inline", _parse_inline)
    parser.core.ruler.at("text_join", _join_texts)
    parser.inline.ruler.at("newline", _newline)
    starts = _INLINE_STARTS | {"mark": "".join(mark for mark, _ in dialect.marks), "text": ""}
    parser.inline.terminator_re = re.compile(f"[]{re.escape(''.join(set(''.join(starts.values()))))}]")
    parser.block.ruler = _CharacterRuler(parser.block.ruler, _BLOCK_STARTS, _dispatch_block)
    parser.inline.ruler = _CharacterRuler(parser.inline.ruler, starts, _dispatch_inline)
    return parser


_Chain = list[Callable[..., bool]]


class _CharacterRuler(Ruler[Callable[..., bool]]):
    """The rules of a parser, each tried only at the characters at which it can match; most calls are saved."""

    def __init__(
        self, ruler: Ruler[Any], starts: Mapping[str, str], dispatch: Callable[..., Callable[..., bool]]
    ) -> None:
        super().__init__()
        self.__rules__ = ruler.__rules__
        self._starts = {rule.fn: starts[rule.name] for rule in ruler.__rules__ if rule.name in starts}
        self._dispatch = dispatch

    def __compile__(self) -> None:
        super().__compile__()
        self.__cache__ = {name: [self._one_rule(chain)] for name, chain in (self.__cache__ or {}).items()}

    def _one_rule(self, chain: _Chain) -> Callable[..., bool]:
        """A rule that tries those of a chain."""
        starts = self._starts
        characters = {character for rule in chain for character in starts.get(rule, "")}
        at = {c: [rule for rule in chain if c in starts.get(rule, c)] for c in characters}
        return self._dispatch(at, [rule for rule in chain if rule not in starts])


def _dispatch_block(at: dict[str, _Chain], elsewhere: _Chain) -> Callable[..., bool]:
    def rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        first = state.bMarks[line] + state.tShift[line]
        for each in at.get(state.src[first : first + 1], elsewhere):  # noqa: SIM110 - any() would be slower
            if each(state, line, end, silent):
                return True
        return False

    return rule


def _dispatch_inline(at: dict[str, _Chain], _elsewhere: _Chain) -> Callable[..., bool]:
    def rule(state: StateInline, silent: bool) -> bool:
        rules = at.get(state.src[state.pos])
        if rules is None:
            return _text(state, silent)
        for each in rules:  # noqa: SIM110 - any() would be slower
            if each(state, silent):
                return True
        return False

    return rule


def _parse_inline(state: StateCore) -> None:
    """Replaces the parser's inline step: plain text and very long paragraphs are not parsed."""
    has_markup = state.md.inline.terminator_re.search
    for token in state.tokens:
        if token.type != "inline":
            continue
        text, token.children = token.content, []
        if len(text) > MAX_PARAGRAPH_CHARACTERS or text.count("[") > MAX_PARAGRAPH_BRACKETS or not has_markup(text):
            token.children += [Token("text", "", 0, content=text)] if text else []
        else:
            state.md.inline.parse(text, state.md, state.env, token.children)


def _join_texts(state: StateCore) -> None:
    """Replaces the parser's step that makes text of escaped characters: most paragraphs have none."""
    escaped = [token for token in state.tokens if token.type == "inline" and _ESCAPE.search(token.content)]
    text_join(StateCore("", state.md, state.env, escaped))


def _text(state: StateInline, silent: bool) -> bool:
    """Replaces the parser's rule: text ends only where another rule may match."""
    start = state.pos
    found = state.md.inline.terminator_re.search(state.src, start, state.posMax)
    state.pos = found.start() if found else state.posMax
    if state.pos > start and not silent:
        state.append_pending(state.src[start : state.pos])
    return state.pos > start


def _newline(state: StateInline, silent: bool) -> bool:
    """Replaces the parser's rule: a line end is text, unless there are spaces before it."""
    text = "" if silent else state.pending
    if text.endswith("  "):
        state.pending = text.rstrip(" ")
        state.push("hardbreak", "br", 0)
    elif not silent:
        state.pending = text.removesuffix(" ")
        state.append_pending("\n")
    state.pos += 1
    while state.pos < state.posMax and state.src[state.pos] in " \t":
        state.pos += 1
    return True


def _math_rule(kind: str) -> Callable[..., str]:
    tag = "span" if kind == "inline" else "div"

    def rule(_self: Any, tokens: list[Token], index: int, _options: Any, _env: Any) -> str:
        content = tokens[index].content.replace("&", "&amp;").replace("<", "&lt;")
        return f'<{tag} class="math {kind}">{content}</{tag}>'

    return rule


def _set_heading_ids(tokens: list[Token], dialect: Dialect) -> None:
    """Ids are unique within a page; within a partial they are counted separately."""
    headings = [(opening, inline) for opening, inline in pairwise(tokens) if opening.type == "heading_open"]
    chosen = [_chosen_id(inline) for _, inline in headings] if dialect.reserves_ids else []
    scopes: list[dict[str, int]] = [dict.fromkeys(filter(None, chosen), 0)]
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = _chosen_id(inline) or dialect.slugify(_visible_text(inline, dialect), scopes[-1])
            if dialect.title_ids or opening.tag != "h1":
                opening.attrSet("id", anchor)
        elif opening.type == "html_block" and opening.content.strip() == PARTIAL_TAGS[0]:
            scopes.append({})
        elif opening.type == "html_block" and opening.content.strip() == PARTIAL_TAGS[1] and len(scopes) > 1:
            scopes.pop()


def _chosen_id(inline: Token) -> str:
    """The id in `{#id}` at the end of a heading."""
    last = next((t for t in reversed(inline.children or []) if t.type != "text" or t.content.strip()), None)
    return str(last.meta.get("id", "")) if last is not None and last.type == ATTRIBUTES else ""


def _visible_text(inline: Token, dialect: Dialect) -> str:
    """The text of a heading that counts for its id."""
    kinds = {"text", "code_inline", "math_inline"} | ({"image", EMOJI} if dialect.pictures_in_ids else set())
    return "".join(
        t.content.replace("\n", " ") if t.type == "text" else t.content
        for t in inline.children or []
        if t.type in kinds
    )


def _hide_rust_lines(tokens: list[Token]) -> None:
    """mdBook: remove lines of Rust code that begin with `# `: they make it compile, and are not displayed."""
    for token in tokens:
        if token.type == "fence" and _RUST.match(token.info.strip()):
            shown = (line for line in token.content.split("\n") if not _HIDDEN_RUST_LINE.fullmatch(line))
            token.content = "\n".join(re.sub(r"^([ \t]*)##", r"\1#", line) for line in shown)
