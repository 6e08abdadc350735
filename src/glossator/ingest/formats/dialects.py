"""Markdown dialects: converts admonitions, tabs and alerts to plain Markdown, and removes hidden lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from glossator.ingest.formats.fences import fenced_lines

_ADMONITION = re.compile(r"[ \t>]*:{3,}[ \t]*([\w-]*)[ \t]*(?:\[(.*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(.*)")
_ALERT = re.compile(r"([ \t]*>[ \t>]*)\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*", re.IGNORECASE)
_MKDOCS_OPENING = re.compile(
    r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+[\w-][\w -]*?(?:[ \t]+\"(?P<title>.*)\")?|===[!+]*[ \t]+\"(?P<tab>.*)\")[ \t]*"
)
_HEADING_ATTRIBUTES = re.compile(r"(#{1,6}[ \t].*?)\{:?[ \t]*(#[\w-]+)?[^{}]*\}[ \t]*")
_RUST_HIDDEN = re.compile(r"[ \t]*#(?: .*)?")


def convert_admonition_line(line: str) -> str:
    """Replace `:::note[Title]` by its title, and remove `:::`."""
    match = _ADMONITION.fullmatch(line)
    return f"\n\n{(match[2] or match[3]).strip()}\n\n" if match else line


def convert_admonitions(text: str) -> str:
    """Docusaurus: `:::` around an admonition."""
    return _outside_code(text, convert_admonition_line)


def convert_alerts(text: str) -> str:
    """GitHub: `> [!NOTE]` above a block quote."""
    return _outside_code(text, lambda line: _ALERT.sub(r"\1", line) if _ALERT.fullmatch(line) else line)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) if code is None else line for line, code in fenced_lines(text))


def convert_mkdocs_blocks(text: str) -> str:
    """MkDocs: `!!! note "Title"` and `=== "Tab"` become their titles; their bodies lose one level of indentation."""
    lines: list[str] = []
    depth = 0
    for line, code in fenced_lines(text):
        indent = len(line) - len(line.lstrip(" "))
        if code is None and line.strip():
            depth = min(depth, indent // 4)
        if code is None and (opening := _MKDOCS_OPENING.fullmatch(line)):
            depth = indent // 4 + 1
            lines += ["", opening["title"] or opening["tab"] or "", ""]
        else:
            line = line[min(indent, 4 * depth) :]
            heading = _HEADING_ATTRIBUTES.fullmatch(line) if code is None else None
            lines.append(f"{heading[1]}{{{heading[2]}}}" if heading and heading[2] else line)
    return "\n".join(lines)


def hide_rust_lines(text: str) -> str:
    """mdBook: remove lines of Rust code that begin with `# `: they make it compile, and are not displayed."""
    lines = []
    for line, code in fenced_lines(text):
        if code is None or not re.match(r"rust\b", code):
            lines.append(line)
        elif not _RUST_HIDDEN.fullmatch(line):
            lines.append(re.sub(r"^([ \t]*)##", r"\1#", line))
    return "\n".join(lines)
