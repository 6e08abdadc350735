"""Directives of Sphinx and its extensions: the visible text of each, without running any code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst.directives import unchanged
from docutils.parsers.rst.directives.admonitions import BaseAdmonition
from docutils.statemachine import StringList

from glossator.ingest.formats.includes import MAX_INCLUDE_DEPTH
from glossator.ingest.formats.rst.page import current_page

MAX_INCLUDES = 500
"""Of one page; files that include each other would go on without end."""

_DROPPED = frozenset(
    """
    toctree contents index raw meta highlight highlightlang sectionauthor codeauthor moduleauthor currentmodule module
    py:module py:currentmodule default-domain tabularcolumns sectnum header footer todo todolist redirect-from
    graphviz digraph graph inheritance-diagram mermaid uml plantuml bibliography cssclass rst-class only-latex
    title default-role program cpp:namespace c:namespace js:module acks-list testsetup testcleanup jupyter-kernel
    """.split()
)
"""They show nothing, or a picture, or a list of links."""
_TABS = frozenset(
    "tab group-tab tab-item md-tab-item dropdown card grid-item-card details toggle collapse admonition-title".split()
)
"""A title, and content below it."""
_SIGNATURE = re.compile(
    r"(?:\w+:)?(?:function|class|method|classmethod|staticmethod|attribute|property|data|exception|decorator|member|macro"
    r"|struct|union|enum|enumerator|type|var|concept|alias|option|cmdoption|envvar|confval|describe|object|directive|role"
    r"|setting|command|get|post|put|patch|delete|any|autofunction|namespace-push)"
)
_GENERATED = re.compile(
    r"auto\w+|(?:doxygen|breathe|argparse|click|program-output|command-output|jsonschema|automodsumm)\w*"
)
_VERSIONS = {
    "versionadded": "Added in version {}",
    "versionchanged": "Changed in version {}",
    "deprecated": "Deprecated since version {}",
    "versionremoved": "Removed in version {}",
}


class _AnyOptions(dict[str, Callable[[str], Any]]):
    """Accepts every option, as text."""

    def __missing__(self, _name: str) -> Callable[[str], Any]:
        return unchanged

    def __bool__(self) -> bool:
        return True


class _Tolerant(Directive):
    """A directive with any arguments, options and content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOptions()

    @property
    def argument(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def parsed(self, node: nodes.Element) -> nodes.Element:
        """The node with the content below it."""
        self.state.nested_parse(self.content, self.content_offset, node)
        return node

    def label(self, text: str) -> nodes.paragraph:
        """A title in bold, with its inline markup."""
        children, _ = self.state.inline_text(text, self.lineno)
        return nodes.paragraph("", "", nodes.strong("", "", *children))


class Dropped(_Tolerant):
    """Content without visible text."""

    def run(self) -> list[nodes.Node]:
        return []


class Generated(_Tolerant):
    """Text from code: only what the page adds to it is known."""

    def run(self) -> list[nodes.Node]:
        current_page().generated.append(self.name)
        return [self.parsed(nodes.container())]


class Unknown(_Tolerant):
    """A directive of which nothing is known: its argument and its content are text."""

    def run(self) -> list[nodes.Node]:
        title = [self.label(self.argument)] if self.argument else []
        return [*title, self.parsed(nodes.container())]


class Conditional(_Tolerant):
    """`only` and `ifconfig`: the content may have sections."""

    def run(self) -> list[nodes.Node]:
        node = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, node, match_titles=True)
        return list(node.children)


class Code(_Tolerant):
    """A block of code, with its caption."""

    def run(self) -> list[nodes.Node]:
        language = self.argument
        title = self.options.get("caption", "")
        if self.name == "code-tab":
            language, _, title = self.argument.partition(" ")
            title = title or language
        block = nodes.literal_block("", "\n".join(self.content), language=language)
        return [*([self.label(title)] if title else []), block]


class LiteralInclude(_Tolerant):
    """Code of a file of the source."""

    def run(self) -> list[nodes.Node]:
        lines = _read(self.argument).splitlines()
        code = "\n".join(_selected(lines, self.options))
        title = self.options.get("caption", "")
        language = self.options.get("language", "") or Path(self.argument).suffix[1:]
        block = [nodes.literal_block("", code, language=language)] if code.strip() else []
        return [*([self.label(title)] if title else []), *block]


class Include(_Tolerant):
    """Text of another file of the source, as if it stood here."""

    def run(self) -> list[nodes.Node]:
        counts = current_page().included
        counts[self.argument] += 1
        if counts[self.argument] > MAX_INCLUDE_DEPTH or counts.total() > MAX_INCLUDES:
            return []
        lines = _selected(_read(self.argument).expandtabs(8).splitlines(), self.options)
        if "literal" in self.options or "code" in self.options:
            return [nodes.literal_block("", "\n".join(lines), language=self.options.get("code", ""))]
        self.state_machine.insert_input(StringList(lines, self.argument), self.argument)
        return []


class Version(_Tolerant):
    """`versionadded` and the like: a phrase before the text."""

    def run(self) -> list[nodes.Node]:
        version, *rest = self.argument.split(maxsplit=1) or [""]
        text = "".join(rest)
        content = [text, *self.content] if text else list(self.content)
        phrase = _VERSIONS[self.name].format(version) + (":" if any(content) else ".")
        node = nodes.container()
        self.state.nested_parse(StringList([f"{phrase} {content[0]}", *content[1:]] if content else [phrase]), 0, node)
        return [node]


class SeeAlso(BaseAdmonition):
    """A box of references; its argument is its first paragraph."""

    optional_arguments = 1
    final_argument_whitespace = True
    node_class = nodes.hint

    def run(self) -> list[nodes.Node]:
        node = nodes.admonition("", nodes.title("", "See also"), classes=["seealso"])
        self.state.nested_parse(StringList([*self.arguments, "", *self.content]), self.content_offset, node)
        return [node]


class Tab(_Tolerant):
    """A title with the content below it."""

    def run(self) -> list[nodes.Node]:
        title = self.argument or self.options.get("title", "")
        return [*([self.label(title)] if title else []), self.parsed(nodes.container())]


class Signature(_Tolerant):
    """The description of a function, class, option or the like: its signatures, and what they do."""

    def run(self) -> list[nodes.Node]:
        names = [line.strip() for line in self.argument.splitlines() if line.strip()]
        terms = [nodes.term("", "", nodes.literal("", name)) for name in names]
        item = nodes.definition_list_item("", *terms, self.parsed(nodes.definition()))
        return [nodes.definition_list("", item)]


class ClassName(Signature):
    """A class description in Sphinx, a style for what follows in docutils; distinguished by a capital letter."""

    def run(self) -> list[nodes.Node]:
        if re.search(r"[A-Z.(]", self.argument):
            return super().run()
        return list(self.parsed(nodes.container()).children)


class Rubric(_Tolerant):
    """`centered` and the like: a line of text."""

    def run(self) -> list[nodes.Node]:
        return [self.label(self.argument)]


_SPHINX: dict[str, type[Directive]] = {
    **dict.fromkeys(_DROPPED, Dropped),
    **dict.fromkeys(_TABS, Tab),
    **dict.fromkeys(_VERSIONS, Version),
    **dict.fromkeys(
        ("code-block", "sourcecode", "code", "code-tab", "prompt", "parsed-code", "testcode", "testoutput"), Code
    ),
    **dict.fromkeys(("productionlist", "ipython", "jupyter-execute", "code-cell", "doctest"), Code),
    **dict.fromkeys(("only", "ifconfig"), Conditional),
    "class": ClassName,
    "include": Include,
    "literalinclude": LiteralInclude,
    "seealso": SeeAlso,
    "centered": Rubric,
}


def find_directive(name: str, own: Callable[[], type[Directive] | None]) -> type[Directive]:
    """The directive of a name; an unknown one is its text."""
    lower = name.lower()
    if lower in _SPHINX:
        return _SPHINX[lower]
    if _GENERATED.fullmatch(lower):
        return Generated
    found = own()
    if found is not None:
        return found
    return Signature if _SIGNATURE.fullmatch(lower) else Unknown


def _read(name: str) -> str:
    """A file that a page names from its own folder, or with a slash from the root of the source."""
    page = current_page()
    folder = page.root if name.startswith("/") else page.path.parent
    return page.includes.read(Path(posixpath.normpath(folder / name.strip().lstrip("/"))))


def _selected(lines: list[str], options: dict[str, str]) -> list[str]:
    """The lines that the options ask for."""
    starts = {"start-after": 1, "start-at": 0}
    ends = {"end-before": 0, "end-at": 1}
    for option, offset in starts.items():
        found = next((n for n, line in enumerate(lines) if option in options and options[option] in line), None)
        lines = lines[found + offset :] if found is not None else lines
    for option, offset in ends.items():
        found = next((n for n, line in enumerate(lines) if option in options and options[option] in line), None)
        lines = lines[: found + offset] if found is not None else lines
    if re.fullmatch(r"[\d\s,-]+", options.get("lines", "")):
        lines = [line for part in options["lines"].split(",") for line in _range(lines, part)]
    return lines


def _range(lines: list[str], part: str) -> list[str]:
    first, dash, last = (number.strip() for number in part.partition("-"))
    start = max(int(first or 1), 1)
    return lines[start - 1 : (int(last) if last else len(lines)) if dash else start]
