"""Text that a page includes from other files of its book: mdBook directives and MDX partials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from glossator.core.errors import SourceError
from glossator.ingest.files import is_inside, read_text
from glossator.ingest.formats.markdown import split_front_matter
from glossator.ingest.formats.mdx import to_markdown

MAX_INCLUDE_DEPTH = 8
MAX_INCLUDED_BYTES = 4_000_000
"""Limit of included text per page: files that include each other would grow without end."""

_DIRECTIVE = re.compile(r"(?P<escape>\\?)\{\{\s*#(?P<name>[a-z_]+)(?P<argument>[^{}\n]*)\}\}")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+")


@dataclass(slots=True)
class IncludeReader:
    """Reads included files below a root, with a limit of bytes per page."""

    root: Path
    remaining_bytes: int = MAX_INCLUDED_BYTES

    def read(self, path: Path) -> str:
        """A file's text; empty if it is outside the root, cannot be read, or exceeds the limit."""
        try:
            if not is_inside(path, self.root) or _is_hidden(path, self.root):
                return ""
            text = read_text(path, self.remaining_bytes)
        except (SourceError, OSError, ValueError):
            return ""
        self.remaining_bytes -= len(text)
        return text


def _is_hidden(path: Path, root: Path) -> bool:
    """Whether a file is hidden, as files with secrets are."""
    return any(part.startswith(".") for part in path.resolve().relative_to(root.resolve()).parts)


def mdx_to_markdown(text: str, path: Path, includes: IncludeReader, depth: int = 0) -> str:
    """An MDX page as Markdown, with the partials that it imports."""

    def load_partial(target: str) -> str:
        if depth == MAX_INCLUDE_DEPTH:
            return ""
        file = includes.root / target.removeprefix("@site/") if target.startswith("@site/") else path.parent / target
        try:
            _, body = split_front_matter(includes.read(file))
        except SourceError:
            return ""
        return mdx_to_markdown(body, file, includes, depth + 1)

    return to_markdown(text, load_partial)


def expand_includes(text: str, path: Path, includes: IncludeReader, depth: int = 0) -> str:
    """mdBook: replace `{{#include file:lines}}` and similar directives by the lines they name."""

    def directive(match: re.Match[str]) -> str:
        if match["escape"]:
            return match[0][1:]
        target = match["argument"].split()
        if (
            match["name"] not in ("include", "rustdoc_include", "playground")
            or not target
            or depth == MAX_INCLUDE_DEPTH
        ):
            return ""
        name, _, part = target[0].partition(":")
        file = path.parent / name
        shown = _select_lines(includes.read(file), part)
        if match["name"] == "playground":
            return f"```rust\n{shown}\n```"
        return expand_includes(shown, file, includes, depth + 1)

    return _DIRECTIVE.sub(directive, text)


def _select_lines(text: str, part: str) -> str:
    """The lines selected by `2`, `2:5`, `:5`, `2:` or the name of an anchor."""
    lines = text.splitlines()
    first, colon, last = part.partition(":")
    if (first or last) and all(number.isdecimal() or not number for number in (first, last)):
        start = max(int(first or 1), 1)
        end = int(last or len(lines)) if colon else start
        lines = lines[start - 1 : end]
    elif first:
        lines = _lines_of_anchor(lines, first)
    return "\n".join(line for line in lines if not _ANCHOR.search(line))


def _lines_of_anchor(lines: list[str], anchor: str) -> list[str]:
    start = re.compile(rf"ANCHOR:\s*{re.escape(anchor)}(?![\w-])")
    end = re.compile(rf"ANCHOR_END:\s*{re.escape(anchor)}(?![\w-])")
    selected: list[str] = []
    inside = False
    for line in lines:
        inside = (inside or bool(start.search(line))) and not end.search(line)
        if inside:
            selected.append(line)
    return selected
