"""Converts MDX to Markdown: removes code that only a browser runs, and keeps visible text."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from glossator.ingest.files import well_formed
from glossator.ingest.formats.markdown import PARTIAL_TAGS
from glossator.ingest.formats.nodes import VOID_TAGS

_FENCE = r"(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+(?P<ticks>`{3,}+(?=[^`\n]*$)|~{3,}+))"
"""The start of a fence's first line, also within a block quote or list item."""

_TOKENS = re.compile(
    _FENCE + r"|(?P<code>`+)"
    r"|(?P<math>\$\$?)"
    r"|(?P<comment>\{\s*+/\*|<!--)"
    r"|(?P<literal>\\[\\`${}<>]|<[a-z][a-z0-9+.-]*:[^\s<>]*+>)"
    r"|(?P<esm>^(?:import|export)(?=[ \t{*'\"]))"
    r"|(?P<tag></?[A-Za-z][\w.:-]*+(?=[\s/>])|</?>)"
    r"|(?P<brace>\{)",
    re.MULTILINE,
)
_IMPORT = re.compile(r"import\s*+(?:(?:[\w*$, \t]*\{[^{}]*\}|[\w*$, \t]+)\s*from\s*)?['\"]")
_EXPORT = re.compile(r"export\s*+(?:const|let|var|function|default|class|async|type|interface|enum|\{|\*)")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_INLINE_MATH = re.compile(r"\$(?![\s$])(?:[^$\n]|\n(?![ \t]*\n)){1,1000}?(?<![\s\\])\$(?!\d)")
_COMMENTED_ID = re.compile(r"\{\s*/\*\s*(#[\w-]+)\s*\*/\s*\}(?=[ \t]*$)", re.MULTILINE)
_CLASSIC_ID = re.compile(r"\{#[^\s{}]+\}")
_STRING = re.compile(r"\{\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`)\s*\}")
_CODE_BLOCK = re.compile(r"\s*\{\s*`([^`]*)`\s*\}\s*</CodeBlock>")
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([A-Za-z_][\w:.-]*+)\s*=\s*\{?\s*(\"[^\"]*\"|'[^']*'|`[^`$]*`)")
_DELETED_ATTRIBUTE = re.compile(r"textDecoration(?:Line)?\s*:\s*[\"'`][^\"'`]*line-through")
_HIDDEN_ATTRIBUTE = re.compile(r"\shidden(?=[\s/>]|=\{true)|display\s*:\s*['\"]?none")
_PARTIAL = re.compile(r"^[ \t]*import\s+([A-Z]\w*)\s+from\s+['\"]([^'\"\n]+\.mdx?)['\"]", re.MULTILINE)
_QUOTE_OR_BRACE = re.compile(r"[\"'`{}]")
_IN_TAG = re.compile(r"[<>\"'{]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_MARKUP = re.compile(r"[!-/:-@\[-`{-~]")
_CLOSING_BRACE = re.compile(r"\s*\}")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")

_VISIBLE_ATTRIBUTES = {
    "TabItem": ("label", "value"),
    "Admonition": ("title",),
    "Details": ("summary",),
    "Listing": ("caption",),
    "Card": ("title",),
}
"""Visible attributes of components; the first one given is used."""

_INLINE_TAGS = frozenset(
    """
    a abbr b br code del em i img ins kbd mark q s small span strong sub sup u var wbr
    """.split()
)

_MAX_BRACKET_CHARACTERS = 20_000
"""A bracket that is still open after this many characters is read as text."""

_MAX_STATEMENT_CHARACTERS = 200_000
"""The end of an import or export is searched this far."""

_MAX_FAILED_SCAN = 300_000
"""After this many characters searched for closing brackets that do not exist, the rest is read as text."""

LoadPartial = Callable[[str], str]


@dataclass(slots=True)
class MdxScanner:
    """Scans an MDX text and collects the output; handlers return the position at which to go on.

    `at_line_start` while the current output line has only white space and tags; `mdx_block_ticks` is the length of
    the fence of an open `mdx-code-block`; `failed_scan` counts characters searched without success.
    """

    text: str
    partials: dict[str, str]
    load_partial: LoadPartial
    out: list[str] = field(default_factory=list)
    at_line_start: bool = True
    indent: str = ""
    mdx_block_ticks: int = 0
    failed_scan: int = 0
    next_positions: dict[object, int] = field(default_factory=dict)
    backtick_runs: dict[int, list[int]] | None = None

    def write(self, text: str) -> None:
        self.out.append(text)
        _, newline, line = text.rpartition("\n")
        if newline:
            self.at_line_start, self.indent = True, line[: len(line) - len(line.lstrip())]
        self.at_line_start = self.at_line_start and not line.strip()

    def write_block(self, text: str) -> None:
        """Write text between blank lines, indented like the current line."""
        self.out.append(f"\n\n{self.indent}{text}\n\n{self.indent}" if text else f"\n\n{self.indent}")

    def find(self, pattern: re.Pattern[str] | str, start: int) -> int:
        """The next position of a pattern, or the end of the text; nothing is searched twice."""
        if self.next_positions.get(pattern, -1) < start:
            found = (
                self.text.find(pattern, start) if isinstance(pattern, str) else _start(pattern.search(self.text, start))
            )
            self.next_positions[pattern] = found if found >= 0 else len(self.text)
        return self.next_positions[pattern]

    def next_backtick_run(self, ticks: int, start: int) -> int:
        """The start of the next run of exactly this many backticks, or the end of the text."""
        if self.backtick_runs is None:
            self.backtick_runs = defaultdict(list)
            for run in re.finditer(r"`+", self.text):
                self.backtick_runs[len(run[0])].append(run.start())
        starts = self.backtick_runs.get(ticks, [])
        index = bisect_left(starts, start)
        return starts[index] if index < len(starts) else len(self.text)


def _start(found: re.Match[str] | None) -> int:
    return found.start() if found else -1


def to_markdown(text: str, load_partial: LoadPartial = lambda target: "") -> str:
    """Remove imports, exports, comments, components and expressions, but not the readable text inside components.

    `load_partial` returns the Markdown of an imported file; it replaces the component of that name.
    """
    scanner = MdxScanner(text, dict(_PARTIAL.findall(text)), load_partial)
    position = 0
    while match := _TOKENS.search(text, position):
        if match.start() > position:
            scanner.write(text[position : match.start()])
        position = _HANDLERS[match.lastgroup or ""](scanner, match)
    scanner.write(text[position:])
    return "".join(scanner.out)


def _handle_fence(scanner: MdxScanner, match: re.Match[str]) -> int:
    """Code is left unchanged; `mdx-code-block` is not code, but content that translation tools must skip."""
    line_end = scanner.find("\n", match.end())
    info = scanner.text[match.end() : line_end].strip()
    ticks = match["ticks"]
    if info == "mdx-code-block":
        scanner.mdx_block_ticks = len(ticks)
    elif scanner.mdx_block_ticks and not info and len(ticks) >= scanner.mdx_block_ticks:
        scanner.mdx_block_ticks = 0
    else:
        return _copy(scanner, match.start(), _fence_end(scanner.text, ticks, line_end))
    return line_end


def _fence_end(text: str, ticks: str, start: int) -> int:
    """The end of the fence that `ticks` opened; as in CommonMark, an unclosed fence extends to the end of the text."""
    closing = re.compile(rf"^[ \t>]*+{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
    match = closing.search(text, start)
    return match.end() if match else len(text)


def _copy(scanner: MdxScanner, start: int, end: int) -> int:
    scanner.write(scanner.text[start:end])
    return end


def _handle_code(scanner: MdxScanner, match: re.Match[str]) -> int:
    """Inline code ends with the same number of backticks, within the paragraph."""
    ticks = len(match[0])
    end = scanner.next_backtick_run(ticks, match.end())
    inside = end < scanner.find(_BLANK_LINE, match.end())
    return _copy(scanner, match.start(), end + ticks if inside else match.end())


def _handle_math(scanner: MdxScanner, match: re.Match[str]) -> int:
    if match[0] == "$$":
        end = scanner.find("$$", match.end())
        return _copy(scanner, match.start(), end + 2 if end - match.end() < _MAX_BRACKET_CHARACTERS else match.end())
    found = _INLINE_MATH.match(scanner.text, match.start())
    return _copy(scanner, match.start(), found.end() if found else match.end())


def _handle_comment(scanner: MdxScanner, match: re.Match[str]) -> int:
    """Comments are removed, except for a heading's custom id."""
    if found := _COMMENTED_ID.match(scanner.text, match.start()):
        line = scanner.text.rfind("\n", 0, found.start()) + 1
        scanner.write(f"{{{found[1]}}}" if scanner.text.startswith("#", line) else "")
        return found.end()
    closer = "-->" if match[0] == "<!--" else "*/"
    end = scanner.find(closer, match.end())
    if end == len(scanner.text):
        return _copy(scanner, match.start(), match.end())
    if closer == "-->":
        return end + len(closer)
    brace = _CLOSING_BRACE.match(scanner.text, end + len(closer))
    return brace.end() if brace else _handle_expression(scanner, match)


def _handle_literal(scanner: MdxScanner, match: re.Match[str]) -> int:
    return _copy(scanner, match.start(), match.end())


def _handle_esm(scanner: MdxScanner, match: re.Match[str]) -> int:
    """Remove an import or export, up to the first line end at which its brackets and templates are closed."""
    limit = min(len(scanner.text), match.start() + _MAX_STATEMENT_CHARACTERS)
    statement = _IMPORT if match[0] == "import" else _EXPORT
    if scanner.failed_scan > _MAX_FAILED_SCAN or not statement.match(scanner.text, match.start(), limit):
        return _copy(scanner, match.start(), match.end())
    depth, ticks, position = 0, 0, match.start()
    while position < limit:
        end = scanner.find("\n", position)
        line = _LITERAL.sub("", scanner.text[position:end])
        depth += sum(map(line.count, "{([")) - sum(map(line.count, "})]"))
        ticks += line.count("`")
        position = end + 1
        following = scanner.text[position : scanner.find("\n", position)]
        if depth <= 0 and ticks % 2 == 0 and not (following.strip() and following[0].isspace()):
            return min(position, len(scanner.text))
    scanner.failed_scan += limit - match.start()
    return scanner.find(_BLANK_LINE, match.start())


def _handle_expression(scanner: MdxScanner, match: re.Match[str]) -> int:
    """A `{…}` in prose: a string becomes its text, a heading's id is retained, anything else is removed."""
    start = match.start()
    if found := _CLASSIC_ID.match(scanner.text, start):
        return _copy(scanner, start, found.end())
    if found := _STRING.match(scanner.text, start):
        scanner.write(_escape_markup(well_formed(_ESCAPE.sub(_unescape, found[1] or found[2] or found[3] or ""))))
        return found.end()
    end = _closing_brace_end(scanner, start)
    return _copy(scanner, start, start + 1) if end is None else end


def _unescape(found: re.Match[str]) -> str:
    if found[1] in "nrt":
        return " "
    return chr(int(found[1][1:], 16)) if len(found[1]) > 1 else found[1]


def _escape_markup(text: str) -> str:
    """Escape text that comes from code, so that no character of it is read as markup."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)


def _closing_brace_end(scanner: MdxScanner, start: int) -> int | None:
    """The position after the brace that closes the one at `start`; None if it is not closed."""
    if scanner.failed_scan > _MAX_FAILED_SCAN:
        return None
    depth, quote = 0, ""
    limit = min(len(scanner.text), start + _MAX_BRACKET_CHARACTERS)
    for found in _QUOTE_OR_BRACE.finditer(scanner.text, start, limit):
        character, before = found[0], scanner.text[found.start() - 1 : found.start()]
        if quote:
            quote = "" if character == quote and before != "\\" else quote
        elif character == "{":
            depth += 1
        elif character != "}":
            quote = character if before in "={(,[: \n" else ""
        elif depth == 1:
            return found.end()
        else:
            depth -= 1
    scanner.failed_scan += limit - start
    return None


def _handle_tag(scanner: MdxScanner, match: re.Match[str]) -> int:
    """Remove a component's tag; retain an HTML tag without its expressions."""
    end = _tag_end(scanner, match.end()) if not match[0].endswith(">") else match.end()
    if end is None:
        return _copy(scanner, match.start(), match.end())
    name = match[0].strip("</>")
    name = "div" if name == "p" else name  # a <p> cannot contain the paragraphs that Markdown makes of its text
    if match[0].startswith("</"):
        _write_tag(scanner, name, f"</{name}>" if _is_html(name) else "")
        return end
    inside = scanner.text[match.end() : end]
    attributes = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(inside)}
    if _is_html(name):
        _write_tag(scanner, name, _html_tag(name, attributes, inside))
        return end
    return _component(scanner, name, attributes, end)


def _is_html(name: str) -> bool:
    return name[:1].islower() and "." not in name


def _write_tag(scanner: MdxScanner, name: str, tag: str) -> None:
    """A tag at the start of a line is a block, a tag within a line is part of the text."""
    if scanner.at_line_start and name not in _INLINE_TAGS:
        scanner.write_block(tag)
    else:
        scanner.out.append(tag)


def _html_tag(name: str, attributes: dict[str, str], inside: str) -> str:
    retained = "".join(
        f' {"class" if k == "className" else k}="{v.replace(chr(34), "&quot;")}"' for k, v in attributes.items()
    )
    hidden = " hidden" if _HIDDEN_ATTRIBUTE.search(inside) else ""
    deleted = ' style="text-decoration:line-through"' if _DELETED_ATTRIBUTE.search(inside) else ""
    closed = f"</{name}>" if inside.endswith("/>") and name not in VOID_TAGS else ""
    return f"<{name}{retained}{hidden}{deleted}>{closed}"


def _component(scanner: MdxScanner, name: str, attributes: dict[str, str], end: int) -> int:
    """Write the visible text of a component: the text of a partial, a code block or a label."""
    if name in scanner.partials:
        partial = scanner.load_partial(scanner.partials[name])
        scanner.write("\n\n".join(("", PARTIAL_TAGS[0], partial, PARTIAL_TAGS[1], "")))
        return end
    code_block = _CODE_BLOCK.match(scanner.text, end) if name == "CodeBlock" else None
    if code_block:
        language = attributes.get("language", "")
        scanner.write(f"\n\n```{language}\n{code_block[1].strip(chr(10))}\n```\n\n")
        return code_block.end()
    label = next((attributes[key] for key in _VISIBLE_ATTRIBUTES.get(name, ()) if attributes.get(key)), "")
    if label:
        scanner.write_block(_escape_markup(html.unescape(label)))
    else:
        _write_tag(scanner, name, "")
    return end


def _tag_end(scanner: MdxScanner, start: int) -> int | None:
    """The position after the `>` that ends a tag, skipping strings and braces; None if the tag does not end."""
    limit = min(len(scanner.text), start + _MAX_BRACKET_CHARACTERS)
    position = start
    while found := _IN_TAG.search(scanner.text, position, limit):
        character = found[0]
        if character == ">":
            return found.end()
        if character == "<":
            return None
        if character == "{":
            after = _closing_brace_end(scanner, found.start())
        else:
            after = scanner.text.find(character, found.end(), limit) + 1
        if not after:
            return None
        position = after
    return None


_HANDLERS = {
    "fence": _handle_fence,
    "code": _handle_code,
    "math": _handle_math,
    "comment": _handle_comment,
    "literal": _handle_literal,
    "esm": _handle_esm,
    "tag": _handle_tag,
    "brace": _handle_expression,
}
