"""Text that a page takes from other files of its book: mdBook's directives and MDX partials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from glossator.core.errors import SourceError
from glossator.ingest.files import read_text
from glossator.ingest.formats.markdown import split_front_matter
from glossator.ingest.formats.mdx import to_markdown

MAX_DEPTH = 8
MAX_BYTES = 4_000_000
"""What one page may take in altogether: files that include each other would grow without end."""

_DIRECTIVE = re.compile(r"(?P<escape>\\?)\{\{\s*#(?P<name>[a-z_]+)(?P<argument>[^{}\n]*)\}\}")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+")


@dataclass(slots=True)
class Included:
    """The files below a root, of which one page may take so much and no more."""

    root: Path
    left: int = MAX_BYTES

    def read(self, path: Path) -> str:
        """A file's text; nothing if it lies outside, cannot be read, or is too much."""
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                return ""
            text = read_text(path, self.left)
        except (SourceError, OSError, ValueError):
            return ""
        self.left -= len(text)
        return text


def mdx_to_markdown(text: str, path: Path, files: Included, depth: int = 0) -> str:
    """A page of MDX, with the partials that it imports."""

    def partial(target: str) -> str:
        if depth == MAX_DEPTH:
            return ""
        file = files.root / target.removeprefix("@site/") if target.startswith("@site/") else path.parent / target
        try:
            _, body = split_front_matter(files.read(file))
        except SourceError:
            return ""
        return mdx_to_markdown(body, file, files, depth + 1)

    return to_markdown(text, partial)


def expand(text: str, path: Path, files: Included, depth: int = 0) -> str:
    """mdBook: `{{#include file:lines}}` and its kin become the lines they name."""

    def directive(found: re.Match[str]) -> str:
        if found["escape"]:
            return found[0][1:]
        target = found["argument"].split()
        if found["name"] not in ("include", "rustdoc_include", "playground") or not target or depth == MAX_DEPTH:
            return ""
        name, _, part = target[0].partition(":")
        file = path.parent / name
        shown = _part(files.read(file), part)
        if found["name"] == "playground":
            return f"```rust\n{shown}\n```"
        return expand(shown, file, files, depth + 1)

    return _DIRECTIVE.sub(directive, text)


def _part(text: str, part: str) -> str:
    """The lines that `2`, `2:5`, `:5`, `2:` or an anchor's name stands for."""
    lines = text.splitlines()
    first, colon, last = part.partition(":")
    if (first or last) and all(number.isdecimal() or not number for number in (first, last)):
        start = max(int(first or 1), 1)
        end = int(last or len(lines)) if colon else start
        lines = lines[start - 1 : end]
    elif first:
        lines = _anchored(lines, first)
    return "\n".join(line for line in lines if not _ANCHOR.search(line))


def _anchored(lines: list[str], anchor: str) -> list[str]:
    start = re.compile(rf"ANCHOR:\s*{re.escape(anchor)}(?![\w-])")
    end = re.compile(rf"ANCHOR_END:\s*{re.escape(anchor)}(?![\w-])")
    kept: list[str] = []
    inside = False
    for line in lines:
        inside = (inside or bool(start.search(line))) and not end.search(line)
        if inside:
            kept.append(line)
    return kept
