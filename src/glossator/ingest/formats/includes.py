"""Text that a page includes from other files of its book: mdBook directives, MkDocs snippets and MDX partials."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from glossator.core.errors import SourceError
from glossator.ingest.files import is_inside, read_text
from glossator.ingest.formats.markdown import split_front_matter
from glossator.ingest.formats.mdx import to_markdown

MAX_INCLUDE_DEPTH = 8
MAX_INCLUDED_BYTES = 1_000_000
"""Limit of included text per page: files that include each other would grow without end."""
MAX_MISSING_FILES = 1_000
"""A page that names more files that cannot be read includes no further ones: looking for each takes its time."""

_DIRECTIVE = re.compile(r"(?P<escape>\\?)\{\{\s*#(?P<name>[a-z_]+)(?P<argument>[^{}\n]*)\}\}")
_SNIPPET = re.compile(
    r"^(?P<indent>[ \t]*+)(?:-++8<-++[ \t]++(?P<quote>[\"'])(?P<snippet>[^\"'\n]++)(?P=quote)"
    r"|\{\*[ \t]*+(?P<code>[^\s*{}]++)(?P<options>[^*{}\n]*+)\*\}"
    r"|\{![+-]?+>?+[ \t]*+(?P<raw>[^\s!{}|\[]++)(?P<lines>[^!{}\n]*+)!\})[ \t]*$",
    re.MULTILINE,
)
_SNIPPET_BLOCK = re.compile(
    r"^([ \t]*+)-++8<-++[ \t]*\n((?:(?![ \t]*+-++8<)[^\n]*\n){1,50})[ \t]*+-++8<-++[ \t]*$", re.MULTILINE
)
_ESCAPED_SNIPPET = re.compile(r"^([ \t]*+);(-++8<-++)", re.MULTILINE)
_SECTION = re.compile(r"(?<!-)-++8<-++[ \t]*+\[(start|end):[ \t]*+([\w-]+)\]")
_LINES_OPTION = re.compile(r"\bln(?:\[|:)([\d:, -]*)\]")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+")


@dataclass(slots=True)
class IncludeReader:
    """Reads included files below a root or a folder that the user named, with a limit of bytes per page.

    `missing` names those it could not read.
    """

    root: Path
    named: Path | None = None
    remaining_bytes: int = MAX_INCLUDED_BYTES
    missing: list[str] = field(default_factory=list)

    def read(self, path: Path) -> str:
        """A file's text; empty if it is outside the root, cannot be read, or exceeds the limit."""
        return self.read_first([path])

    def read_first(self, paths: Sequence[Path]) -> str:
        """The text of the first of these files that can be read."""
        if len(self.missing) >= MAX_MISSING_FILES:
            return ""
        for path in paths:
            with suppress(SourceError, OSError, ValueError):
                if os.path.isfile(path) and self._is_allowed(path):  # noqa: PTH113 - most are missing: the faster way
                    text = read_text(path, self.remaining_bytes)
                    self.remaining_bytes -= len(text)
                    return text
        self.missing.append(paths[0].name)
        return ""

    def _is_allowed(self, path: Path) -> bool:
        folders = (self.root, *([self.named] if self.named else []))
        return any(is_inside(path, folder) and not _is_hidden(path, folder) for folder in folders)

    def note(self) -> str:
        """What was left out, for the report."""
        names = list(dict.fromkeys(self.missing))
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        remedy = "" if self.named else " Use --snippets to allow another folder."
        return f"included files that are missing or outside the folder were left out: {shown}.{remedy}" if names else ""


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


def expand_snippets(text: str, path: Path, includes: IncludeReader, depth: int = 0) -> str:
    """MkDocs: replace `--8<-- "file"`, `{* file *}` and `{! file !}` by the lines they name, indented as they are."""

    def include(match: re.Match[str]) -> str:
        name = match["snippet"] or match["code"] or match["raw"]
        lines = _LINES_OPTION.search(match["options"] or match["lines"] or "")
        shown = _read_snippet(f"{name}:{lines[1].replace('-', ':')}" if lines else name, path, includes)
        if match["code"]:
            shown = f"```{Path(name).suffix[1:]}\n{shown}\n```" if shown else ""
        elif depth < MAX_INCLUDE_DEPTH:
            shown = expand_snippets(shown, path, includes, depth + 1)
        return "\n".join(match["indent"] + line for line in shown.splitlines())

    def block(match: re.Match[str]) -> str:
        files = (line.strip() for line in match[2].splitlines() if line.strip())
        return "\n".join(f'{match[1]}--8<-- "{file}"' for file in files)

    return _ESCAPED_SNIPPET.sub(r"\1\2", _SNIPPET.sub(include, _SNIPPET_BLOCK.sub(block, text)))


def _read_snippet(name: str, path: Path, includes: IncludeReader) -> str:
    """The lines of `file`, `file:2:5` or `file:section`; sites name files from their own folder or from the page's."""
    if "://" in name:
        includes.missing.append(name)
        return ""
    file, _, part = name.partition(":")
    folders = (includes.root, includes.root.parent, *([includes.named] if includes.named else []), path.parent)
    text = includes.read_first([folder / file for folder in folders])
    lines = text.splitlines()
    if part and re.fullmatch(r"[\d:, ]+", part):
        lines = _numbered_lines(lines, part)
    elif part:
        lines = _section_lines(lines, part)
    return "\n".join(line for line in lines if not _SECTION.search(line))


def _numbered_lines(lines: list[str], ranges: str) -> list[str]:
    """The lines in ranges such as `2:5` and `1,7:`, which count from one."""
    selected: list[str] = []
    for each in ranges.split(",")[:100]:
        first, colon, last = (number.strip() for number in each.partition(":"))
        if not all(number.isdecimal() or not number for number in (first, last)):
            continue
        start = max(int(first or 1), 1)
        selected += lines[start - 1 : (int(last or len(lines)) if colon else start)]
    return selected


def _section_lines(lines: list[str], section: str) -> list[str]:
    selected: list[str] = []
    inside = False
    for line in lines:
        mark = _SECTION.search(line)
        if mark and mark[2] == section:
            inside = mark[1] == "start"
        elif inside:
            selected.append(line)
    return selected


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
