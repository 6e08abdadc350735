"""The titles, labels and tables of contents of reStructuredText, found without parsing it whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ADORNMENT = "(?:" + "|".join(f"{re.escape(sign)}{{2,}}" for sign in "=-~^\"'`*+#:._<>!@%") + ")"
_TITLE = re.compile(rf"(?:^{_ADORNMENT}[ \t]*\n)?^[ \t]*(?P<title>\S[^\n]*)\n{_ADORNMENT}[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"^\.\. _(?P<name>`[^`\n]+`|(?![_ ])(?:\\:|[^:\n])+):[ \t]*\n(?=\s*\S)", re.MULTILINE)
_TOCTREE = re.compile(r"^\.\. toctree::[ \t]*\n(?P<body>(?:[ \t]+\S[^\n]*\n?|[ \t]*\n)*)", re.MULTILINE)
_MYST_TOCTREE = re.compile(
    r"^(?P<fence>[`:]{3,})\{toctree\}[^\n]*\n(?P<body>(?:(?!(?P=fence))[^\n]*\n)*)", re.MULTILINE
)
_OPTION = re.compile(r":(\w+):[ \t]*(.*)")
_ENTRY = re.compile(r"(?:(?P<title>.+?)\s*<(?P<target>[^<>]+)>|(?P<page>\S.*))")
_ROLE = re.compile(r":[\w:+.-]+:`(?:([^`<]+?)\s*<[^`]*>|([^`]*))`|``?([^`]*)``?_*|\*\*([^*]+)\*\*|\*([^*]+)\*")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class TocEntry:
    """An entry of a table of contents: a page or a pattern of pages, with the caption above it."""

    target: str
    title: str = ""
    caption: str = ""
    is_pattern: bool = False


def first_title(text: str) -> str:
    """The title of a page."""
    found = _TITLE.search(text)
    return plain(found["title"]) if found else ""


def plain(text: str) -> str:
    """A title without its markup."""
    shown = _ROLE.sub(lambda match: next(filter(None, match.groups()), ""), text)
    return _ESCAPE.sub(r"\1", shown).strip()


def labels(text: str) -> Iterator[tuple[str, str]]:
    """The labels of a page, each with the title of the section below it, or without one."""
    titles = {match.start(): match["title"] for match in _TITLE.finditer(text)}
    found = list(_LABEL.finditer(text))
    for number, match in enumerate(found):
        last = match
        for following in found[number + 1 :]:
            if text[last.end() : following.start()].strip():
                break
            last = following
        at = len(text) - len(text[last.end() :].lstrip("\n \t"))
        name = match["name"].strip("`").replace("\\", "")
        yield " ".join(name.lower().split()), plain(titles.get(at, ""))


def toc_entries(text: str) -> list[TocEntry]:
    """The entries of all tables of contents of a page."""
    found = (*_TOCTREE.finditer(text), *_MYST_TOCTREE.finditer(text))
    return [entry for match in found for entry in _entries(match["body"])]


def _entries(body: str) -> Iterator[TocEntry]:
    options: dict[str, str] = {}
    found: list[str] = []
    for line in map(str.strip, body.splitlines()):
        option = _OPTION.fullmatch(line)
        if option and not found:
            options[option[1]] = option[2]
        elif line and not line.startswith(".. "):
            found.append(line)
    for line in reversed(found) if "reversed" in options else found:
        entry = _ENTRY.fullmatch(line)
        if entry:
            target = entry["target"] or entry["page"]
            is_pattern = "glob" in options and bool(re.search(r"[*?\[]", target))
            yield TocEntry(target.strip(), entry["title"] or "", options.get("caption", ""), is_pattern)
