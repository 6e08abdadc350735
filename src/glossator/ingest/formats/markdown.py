"""Converts Markdown to HTML, with the heading ids that its site generator would give."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from glossator.core.errors import SourceError
from glossator.ingest.files import well_formed

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LOOKS_LIKE_FRONT_MATTER = re.compile(r"\A---[ \t]*\n[A-Za-z_][\w-]*[ \t]*:")
_CUSTOM_ID = re.compile(r"\s*\{:?#([^\s{}]+)[^{}]*\}\s*$")

_SLUG_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})

MAX_FRONT_MATTER_CHARACTERS = 100_000
MAX_PARAGRAPH_CHARACTERS, MAX_PARAGRAPH_BRACKETS = 20_000, 1_000
"""A paragraph beyond these limits is read as plain text: parsing time grows with the square of its brackets."""

PARTIAL_TAGS = ("<partial>", "</partial>")
"""Mark text that was included from another file."""

Slugify = Callable[[str, dict[str, int]], str]


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
        values = yaml.safe_load(match[1] or "")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise SourceError(
            f"the front matter is not valid YAML (line {line}).", "Quote values that contain a colon."
        ) from None
    return (values if isinstance(values, dict) else {}), text[match.end() :]


def scalar(value: object) -> str:
    """A scalar value of front matter as text; empty for lists and mappings."""
    is_scalar = isinstance(value, str | int | float | date) and value is not False
    return well_formed(str(value)).strip() if is_scalar else ""


def to_html(text: str, slugify: Slugify, *, indented_code: bool = True) -> str:
    """Render Markdown; every heading gets an id."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(footnote_plugin)
    parser.add_render_rule("math_inline", _math_rule("inline"))
    parser.add_render_rule("math_inline_double", _math_rule("inline"))
    parser.add_render_rule("math_block", _math_rule("block"))
    parser.core.ruler.at("inline", _parse_inline)
    if not indented_code:
        parser.disable("code")
    tokens = parser.parse(text)
    _set_heading_ids(tokens, slugify)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _parse_inline(state: StateCore) -> None:
    """Replaces the parser's inline step: very long paragraphs are not parsed."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) > MAX_PARAGRAPH_CHARACTERS or token.content.count("[") > MAX_PARAGRAPH_BRACKETS:
            token.children.append(Token("text", "", 0, content=token.content))
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _math_rule(kind: str) -> Callable[..., str]:
    tag = "span" if kind == "inline" else "div"

    def rule(_self: Any, tokens: list[Token], index: int, _options: Any, _env: Any) -> str:
        content = tokens[index].content.replace("&", "&amp;").replace("<", "&lt;")
        return f'<{tag} class="math {kind}">{content}</{tag}>'

    return rule


def _set_heading_ids(tokens: list[Token], slugify: Slugify) -> None:
    """Ids are unique within a page; within a partial they are counted separately."""
    scopes: list[dict[str, int]] = [{}]
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", _take_custom_id(inline) or slugify(_visible_text(inline), scopes[-1]))
        elif opening.type == "html_block" and opening.content.strip() == PARTIAL_TAGS[0]:
            scopes.append({})
        elif opening.type == "html_block" and opening.content.strip() == PARTIAL_TAGS[1] and len(scopes) > 1:
            scopes.pop()


def _take_custom_id(inline: Token) -> str:
    """Remove `{#id}` from the end of a heading and return it."""
    last = inline.children[-1] if inline.children else None
    match = _CUSTOM_ID.search(last.content) if last is not None and last.type == "text" else None
    if not match or last is None:
        return ""
    last.content = last.content[: match.start()]
    return match[1]


def _visible_text(inline: Token) -> str:
    """The visible text of a heading, with the alternative text of its images."""
    kinds = ("text", "code_inline", "math_inline", "softbreak", "image")
    return "".join(t.content if t.type != "softbreak" else " " for t in inline.children or [] if t.type in kinds)


def github_slug(text: str, seen: dict[str, int]) -> str:
    """Docusaurus: the rule of github-slugger, with -1, -2 for duplicates."""
    base = "".join(c for c in text.strip().lower() if c in " -_" or unicodedata.category(c) in _SLUG_CATEGORIES)
    base = base.replace(" ", "-")
    return _unique(base, seen, "-", 1)


def mdbook_slug(text: str, seen: dict[str, int]) -> str:
    """mdBook: letters, digits, - and _ are retained, white space becomes a dash."""
    base = "".join("-" if c.isspace() else c.lower() for c in text.strip() if c.isalnum() or c in "_-" or c.isspace())
    return _unique(base, seen, "-", 1)


def mkdocs_slug(text: str, seen: dict[str, int]) -> str:
    """MkDocs: the ASCII rule of Python-Markdown, with _1, _2 for duplicates."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    base = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())
    return _unique(base or "_", seen, "_", 1)


def _unique(base: str, seen: dict[str, int], separator: str, first: int) -> str:
    candidate, number = base, first
    while candidate in seen:
        number = max(number, seen[base])
        candidate = f"{base}{separator}{number}"
        seen[base] = number + 1
        number += 1
    seen[candidate] = first
    return candidate
