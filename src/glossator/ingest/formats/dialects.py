"""Marks of Markdown dialects that a reader never sees as such: admonitions, tabs, alerts, hidden lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from glossator.ingest.formats.fences import fenced_lines

_ADMONITION = re.compile(r"[ \t>]*:{3,}[ \t]*([\w-]*)[ \t]*(?:\[(.*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(.*)")
_ALERT = re.compile(r"([ \t]*>[ \t>]*)\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*", re.IGNORECASE)
_MKDOCS = re.compile(
    r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+[\w-][\w -]*?(?:[ \t]+\"(?P<title>.*)\")?|===[!+]*[ \t]+\"(?P<tab>.*)\")[ \t]*"
)
_HEADING_ATTRIBUTES = re.compile(r"(#{1,6}[ \t].*?)\{:?[ \t]*(#[\w-]+)?[^{}]*\}[ \t]*")
_RUST_HIDDEN = re.compile(r"[ \t]*#(?: .*)?")


def open_admonition(line: str) -> str:
    """`:::note[Title]` becomes its title, `:::` nothing."""
    found = _ADMONITION.fullmatch(line)
    return f"\n\n{(found[2] or found[3]).strip()}\n\n" if found else line


def admonitions(text: str) -> str:
    """Docusaurus: fences of colons."""
    return _outside_code(text, open_admonition)


def alerts(text: str) -> str:
    """GitHub: `> [!NOTE]` above a quotation."""
    return _outside_code(text, lambda line: _ALERT.sub(r"\1", line) if _ALERT.fullmatch(line) else line)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) if code is None else line for line, code in fenced_lines(text))


def mkdocs_blocks(text: str) -> str:
    """MkDocs: `!!! note "Title"` and `=== "Tab"`, their titles as text, their indented bodies moved out."""
    out: list[str] = []
    depth = 0
    for line, code in fenced_lines(text):
        indent = len(line) - len(line.lstrip(" "))
        if code is None and line.strip():
            depth = min(depth, indent // 4)
        if code is None and (mark := _MKDOCS.fullmatch(line)):
            depth = indent // 4 + 1
            out += ["", mark["title"] or mark["tab"] or "", ""]
        else:
            line = line[min(indent, 4 * depth) :]
            heading = _HEADING_ATTRIBUTES.fullmatch(line) if code is None else None
            out.append(f"{heading[1]}{{{heading[2]}}}" if heading and heading[2] else line)
    return "\n".join(out)


def hide_rust_lines(text: str) -> str:
    """mdBook: lines of a Rust listing that begin with `# ` make it compile and are not shown."""
    out = []
    for line, code in fenced_lines(text):
        if code is None or not re.match(r"rust\b", code):
            out.append(line)
        elif not _RUST_HIDDEN.fullmatch(line):
            out.append(re.sub(r"^([ \t]*)##", r"\1#", line))
    return "\n".join(out)
