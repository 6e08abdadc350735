"""MDX becomes Markdown: what only a browser runs is taken out, what a reader sees stays."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from glossator.ingest.files import well_formed
from glossator.ingest.formats.dialects import open_admonition
from glossator.ingest.formats.fences import FENCE, fence_end
from glossator.ingest.formats.markdown import PARTIAL

_TOKENS = re.compile(
    FENCE + r"|(?P<admonition>^[ \t>]*+:{3,}[^\n]*$)"
    r"|(?P<code>`+)"
    r"|(?P<math>\$\$?)"
    r"|(?P<comment>\{\s*+/\*|<!--)"
    r"|(?P<kept>\\[\\`${}<>]|<[a-z][a-z0-9+.-]*:[^\s<>]*+>)"
    r"|(?P<esm>^(?:import|export)(?=[ \t{*'\"]))"
    r"|(?P<tag></?[A-Za-z][\w.:-]*+(?=[\s/>])|</?>)"
    r"|(?P<brace>\{)",
    re.MULTILINE,
)
_IMPORT = re.compile(r"import\s*+(?:(?:[\w*$, \t]*\{[^{}]*\}|[\w*$, \t]+)\s*from\s*)?['\"]")
_EXPORT = re.compile(r"export\s*+(?:const|let|var|function|default|class|async|type|interface|enum|\{|\*)")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_INLINE_MATH = re.compile(r"\$(?![\s$])[^$\n]{1,1000}?(?<![\s\\])\$(?!\d)")
_COMMENTED_ID = re.compile(r"\{\s*/\*\s*(#[\w-]+)\s*\*/\s*\}(?=[ \t]*$)", re.MULTILINE)
_CLASSIC_ID = re.compile(r"\{#[^\s{}]+\}")
_STRING = re.compile(r"\{\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`)\s*\}")
_LISTING = re.compile(r"\s*\{\s*`([^`]*)`\s*\}\s*</CodeBlock>")
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([A-Za-z_][\w:.-]*+)\s*=\s*\{?\s*(\"[^\"]*\"|'[^']*'|`[^`$]*`)")
_NOT_SHOWN = re.compile(r"\shidden(?=[\s/>]|=\{true)|display\s*:\s*['\"]?none")
_PARTIAL = re.compile(r"^[ \t]*import\s+([A-Z]\w*)\s+from\s+['\"]([^'\"\n]+\.mdx?)['\"]", re.MULTILINE)
_QUOTE_OR_BRACE = re.compile(r"[\"'`{}]")
_IN_TAG = re.compile(r"[<>\"'{]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_MARKUP = re.compile(r"[!-/:-@\[-`{-~]")
_CLOSING_BRACE = re.compile(r"\s*\}")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")

_VISIBLE = {
    "TabItem": ("label", "value"),
    "Admonition": ("title",),
    "Details": ("summary",),
    "Listing": ("caption",),
    "Card": ("title",),
}
"""Attributes of components that a reader sees: the first that is given."""

_INLINE_TAGS = frozenset(
    """
    a abbr b br code del em i img ins kbd mark q s small span strong sub sup u var wbr
    """.split()
)
_VOID_TAGS = frozenset("area base br col embed hr img input link meta source track wbr".split())

_FAR = 20_000
"""No tag or expression is longer: a bracket that stays open so long is a character of the text."""

_FAR_CODE = 200_000
"""No import or export is longer."""

_VAIN = 1_000_000
"""After so many characters searched in vain for closing brackets, the rest is text: such a file is no MDX."""

Partial = Callable[[str], str]


@dataclass(slots=True)
class _Page:
    """A text on its way through; `fresh` while the line it writes holds nothing but white space and tags."""

    text: str
    partials: dict[str, str]
    partial: Partial
    out: list[str] = field(default_factory=list)
    fresh: bool = True
    indent: str = ""
    unwrapped: int = 0
    vain: int = 0
    known: dict[object, int] = field(default_factory=dict)
    runs: dict[int, list[int]] | None = None

    def write(self, text: str) -> None:
        self.out.append(text)
        _, newline, line = text.rpartition("\n")
        if newline:
            self.fresh, self.indent = True, line[: len(line) - len(line.lstrip())]
        self.fresh = self.fresh and not line.strip()

    def write_block(self, text: str) -> None:
        """Text between blank lines, as far in as the line it stands on."""
        self.out.append(f"\n\n{self.indent}{text}\n\n{self.indent}")

    def find(self, mark: re.Pattern[str] | str, start: int) -> int:
        """Where a mark stands next, or the text's end; no stretch is searched twice."""
        if self.known.get(mark, -1) < start:
            found = self.text.find(mark, start) if isinstance(mark, str) else _start(mark.search(self.text, start))
            self.known[mark] = found if found >= 0 else len(self.text)
        return self.known[mark]

    def same_run(self, ticks: int, start: int) -> int:
        """Where the next run of exactly so many backticks begins, or the text's end."""
        if self.runs is None:
            self.runs = defaultdict(list)
            for run in re.finditer(r"`+", self.text):
                self.runs[len(run[0])].append(run.start())
        runs = self.runs.get(ticks, [])
        place = bisect_left(runs, start)
        return runs[place] if place < len(runs) else len(self.text)


def _start(found: re.Match[str] | None) -> int:
    return found.start() if found else -1


def to_markdown(text: str, partial: Partial = lambda target: "") -> str:
    """Strip imports, exports, comments, components and expressions; keep their readable children.

    `partial` gives the Markdown of an imported file, which stands where its component is used.
    """
    page = _Page(text, dict(_PARTIAL.findall(text)), partial)
    position = 0
    while match := _TOKENS.search(text, position):
        page.write(text[position : match.start()])
        position = _HANDLERS[match.lastgroup or ""](page, match)
    page.write(text[position:])
    return "".join(page.out)


def _fence(page: _Page, match: re.Match[str]) -> int:
    """Code stays as it is; `mdx-code-block` is no code but content that translators are not to touch."""
    line_end = page.find("\n", match.end())
    info = page.text[match.end() : line_end].strip()
    ticks = match["ticks"]
    if info == "mdx-code-block":
        page.unwrapped = len(ticks)
    elif page.unwrapped and not info and len(ticks) >= page.unwrapped:
        page.unwrapped = 0
    else:
        return _keep(page, match.start(), fence_end(page.text, ticks, line_end))
    return line_end


def _keep(page: _Page, start: int, end: int) -> int:
    page.write(page.text[start:end])
    return end


def _admonition(page: _Page, match: re.Match[str]) -> int:
    page.write(open_admonition(match[0]))
    return match.end()


def _code(page: _Page, match: re.Match[str]) -> int:
    """Code in a line of text ends with as many backticks as it began, within the paragraph."""
    ticks = len(match[0])
    end = page.same_run(ticks, match.end())
    inside = end < page.find(_BLANK_LINE, match.end())
    return _keep(page, match.start(), end + ticks if inside else match.end())


def _math(page: _Page, match: re.Match[str]) -> int:
    if match[0] == "$$":
        end = page.find("$$", match.end())
        return _keep(page, match.start(), end + 2 if end - match.end() < _FAR else match.end())
    found = _INLINE_MATH.match(page.text, match.start())
    return _keep(page, match.start(), found.end() if found else match.end())


def _comment(page: _Page, match: re.Match[str]) -> int:
    """Comments go, but for the id that one may give to a heading."""
    if found := _COMMENTED_ID.match(page.text, match.start()):
        line = page.text.rfind("\n", 0, found.start()) + 1
        page.write(f"{{{found[1]}}}" if page.text.startswith("#", line) else "")
        return found.end()
    closer = "-->" if match[0] == "<!--" else "*/"
    end = page.find(closer, match.end())
    if end == len(page.text):
        return _keep(page, match.start(), match.end())
    if closer == "-->":
        return end + len(closer)
    brace = _CLOSING_BRACE.match(page.text, end + len(closer))
    return brace.end() if brace else _expression(page, match)


def _kept(page: _Page, match: re.Match[str]) -> int:
    return _keep(page, match.start(), match.end())


def _esm(page: _Page, match: re.Match[str]) -> int:
    """An import or export goes, up to the first line end at which its brackets and templates are closed."""
    limit = min(len(page.text), match.start() + _FAR_CODE)
    statement = _IMPORT if match[0] == "import" else _EXPORT
    if page.vain > _VAIN or not statement.match(page.text, match.start(), limit):
        return _keep(page, match.start(), match.end())
    depth, ticks, position = 0, 0, match.start()
    while position < limit:
        end = page.find("\n", position)
        line = _LITERAL.sub("", page.text[position:end])
        depth += sum(map(line.count, "{([")) - sum(map(line.count, "})]"))
        ticks += line.count("`")
        position = end + 1
        following = page.text[position : page.find("\n", position)]
        if depth <= 0 and ticks % 2 == 0 and not (following.strip() and following[0].isspace()):
            return min(position, len(page.text))
    page.vain += limit - match.start()
    return page.find(_BLANK_LINE, match.start())


def _expression(page: _Page, match: re.Match[str]) -> int:
    """A `{…}` in prose: a string is its text, a heading's id stays, all else goes."""
    start = match.start()
    if found := _CLASSIC_ID.match(page.text, start):
        return _keep(page, start, found.end())
    if found := _STRING.match(page.text, start):
        page.write(_as_text(well_formed(_ESCAPE.sub(_unescape, found[1] or found[2] or found[3] or ""))))
        return found.end()
    end = _closing(page, start)
    return _keep(page, start, start + 1) if end is None else end


def _unescape(found: re.Match[str]) -> str:
    if found[1] in "nrt":
        return " "
    return chr(int(found[1][1:], 16)) if len(found[1]) > 1 else found[1]


def _as_text(text: str) -> str:
    """Words that come from code: no character of theirs is markup."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)


def _closing(page: _Page, start: int) -> int | None:
    """The position after the brace that closes the one at `start`."""
    if page.vain > _VAIN:
        return None
    depth, quote = 0, ""
    limit = min(len(page.text), start + _FAR)
    for found in _QUOTE_OR_BRACE.finditer(page.text, start, limit):
        mark, before = found[0], page.text[found.start() - 1 : found.start()]
        if quote:
            quote = "" if mark == quote and before != "\\" else quote
        elif mark == "{":
            depth += 1
        elif mark != "}":
            quote = mark if before in "={(,[: \n" else ""
        elif depth == 1:
            return found.end()
        else:
            depth -= 1
    page.vain += limit - start
    return None


def _tag(page: _Page, match: re.Match[str]) -> int:
    """A component's tag goes, an HTML tag stays without its expressions."""
    end = _tag_end(page, match.end()) if not match[0].endswith(">") else match.end()
    if end is None:
        return _keep(page, match.start(), match.end())
    name = match[0].strip("</>")
    name = "div" if name == "p" else name  # a paragraph could not hold the paragraphs that Markdown makes of its text
    if match[0].startswith("</"):
        _write_tag(page, name, f"</{name}>" if _is_html(name) else "")
        return end
    inside = page.text[match.end() : end]
    attributes = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(inside)}
    if _is_html(name):
        _write_tag(page, name, _html_tag(name, attributes, inside))
        return end
    return _component(page, name, attributes, end)


def _is_html(name: str) -> bool:
    return name[:1].islower() and "." not in name


def _write_tag(page: _Page, name: str, tag: str) -> None:
    """At the start of a line a tag is a block of its own, within a line it is part of the text."""
    if page.fresh and name not in _INLINE_TAGS:
        page.write_block(tag)
    else:
        page.out.append(tag)


def _html_tag(name: str, attributes: dict[str, str], inside: str) -> str:
    kept = "".join(
        f' {"class" if k == "className" else k}="{v.replace(chr(34), "&quot;")}"' for k, v in attributes.items()
    )
    hidden = " hidden" if _NOT_SHOWN.search(inside) else ""
    closed = f"</{name}>" if inside.endswith("/>") and name not in _VOID_TAGS else ""
    return f"<{name}{kept}{hidden}>{closed}"


def _component(page: _Page, name: str, attributes: dict[str, str], end: int) -> int:
    """What a reader sees of a component: a partial's text, a listing, a label."""
    if name in page.partials:
        page.write("\n\n".join(("", PARTIAL[0], page.partial(page.partials[name]), PARTIAL[1], "")))
        return end
    listing = _LISTING.match(page.text, end) if name == "CodeBlock" else None
    if listing:
        language = attributes.get("language", "")
        page.write(f"\n\n```{language}\n{listing[1].strip(chr(10))}\n```\n\n")
        return listing.end()
    label = next((attributes[key] for key in _VISIBLE.get(name, ()) if attributes.get(key)), "")
    if label:
        page.write_block(_as_text(html.unescape(label)))
    else:
        _write_tag(page, name, "")
    return end


def _tag_end(page: _Page, start: int) -> int | None:
    """The position after the `>` that ends a tag, past strings and braces."""
    limit = min(len(page.text), start + _FAR)
    position = start
    while found := _IN_TAG.search(page.text, position, limit):
        mark = found[0]
        if mark == ">":
            return found.end()
        if mark == "<":
            return None
        after = _closing(page, found.start()) if mark == "{" else page.text.find(mark, found.end(), limit) + 1
        if not after:
            return None
        position = after
    return None


_HANDLERS = {
    "fence": _fence,
    "admonition": _admonition,
    "code": _code,
    "math": _math,
    "comment": _comment,
    "kept": _kept,
    "esm": _esm,
    "tag": _tag,
    "brace": _expression,
}
