"""Antora layout: the pages of all modules, in the order of their navigation."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from glossator.core.text.plain_yaml import load_yaml
from glossator.ingest.files import peek
from glossator.ingest.formats.markdown import scalar
from glossator.ingest.layouts.page import (
    ASCIIDOC_SUFFIXES,
    SiteConfig,
    SiteLayout,
    SourcePage,
    find_files,
    relative_id,
)

CONFIG_FILES: tuple[str, ...] = ("antora.yml",)
_PAGE = re.compile(r"modules/(?P<module>[^/]+)/pages/(?P<path>.+)\.(?:adoc|asciidoc)")
_ENTRY = re.compile(
    r"^(?P<marks>\*+)[ \t]+(?:xref:(?P<target>[^\[\n]*)\[(?P<title>[^\]\n]*)\]|(?P<text>\S[^\n]*))", re.MULTILINE
)
_TITLE = re.compile(r"^= +(.+)$", re.MULTILINE)
_NavEntries = dict[str, tuple[int, str, tuple[str, ...]]]
"""Position, title and parent titles of each page in the navigation, by its path."""


def from_config(config: SiteConfig) -> SiteLayout | None:
    """A folder with antora.yml."""
    if config.site.resolve() != config.named.resolve():
        return None
    try:
        values = load_yaml(peek(config.path))
    except yaml.YAMLError:
        values = {}
    return _layout(config.named, values if isinstance(values, dict) else {}, config.reason)


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder with modules, as only Antora has them."""
    if not (root / "modules" / "ROOT" / "pages").is_dir():
        return None
    return _layout(
        root, {}, "chosen with --layout; antora.yml was not found" if chosen else "modules/ROOT/pages exists"
    )


def _layout(root: Path, config: dict[str, Any], reason: str) -> SiteLayout | None:
    found = find_files(root)
    files = {relative_id(path, root): path for path in found.files if path.suffix.lower() in ASCIIDOC_SUFFIXES}
    pages = {name: match for name in files if (match := _PAGE.fullmatch(name)) and "/_" not in name}
    if not pages:
        return None
    navigation = _navigation(root, config, files)
    titles = {name: _title(peek(files[name])) for name in pages}
    source_pages = [
        _page(name, match, files[name], navigation.get(name, (math.inf, "", ())), titles)
        for name, match in pages.items()
    ]
    attributes = config.get("asciidoc", {})
    values = attributes.get("attributes", {}) if isinstance(attributes, dict) else {}
    return SiteLayout(
        "antora",
        reason,
        tuple(sorted(source_pages, key=lambda page: page.order)),
        root,
        scalar(config.get("title")) or scalar(config.get("name")),
        skipped=found.skipped,
        references={name: (title or name, name) for name, title in titles.items()},
        attributes=_attributes(values),
    )


def _attributes(values: Any) -> dict[str, str]:
    """The attributes that a configuration defines; `@` at the end only says that a page may change it."""
    if not isinstance(values, dict):
        return {}
    named = {
        scalar(name).lower(): scalar(value)
        for name, value in values.items()
        if value is not False and value is not None
    }
    return {name: value.removesuffix("@") for name, value in named.items()}


def _title(text: str) -> str:
    found = _TITLE.search(text)
    return re.sub(r"[`*_]", "", found[1]).strip() if found else ""


def _page(
    name: str,
    match: re.Match[str],
    path: Path,
    entry: tuple[float, str, tuple[str, ...]],
    titles: dict[str, str],
) -> SourcePage:
    position, title, chapters = entry
    module = "" if match["module"] == "ROOT" else f"{match['module']}/"
    above = tuple(titles.get(parent, "") or parent for parent in chapters)
    return SourcePage(
        path, name, f"{module}{match['path']}.html", above, fallback_title=title, order=((float(position), name),)
    )


def _navigation(root: Path, config: dict[str, Any], files: dict[str, Path]) -> _NavEntries:
    """The entries of all navigation files: those that the configuration lists, otherwise all of them."""
    listed = config.get("nav")
    names = [scalar(each) for each in listed] if isinstance(listed, list) else []
    if not names:
        names = sorted(
            (n for n in files if re.fullmatch(r"modules/[^/]+/nav[\w-]*\.adoc", n)),
            key=lambda n: ("/ROOT/" not in n, n),
        )
    entries: _NavEntries = {}
    for name in filter(files.__contains__, names):
        _collect(name, peek(files[name]), entries)
    return entries


def _collect(name: str, text: str, entries: _NavEntries) -> None:
    """Number the pages of a navigation file, each with the pages and titles above it."""
    module = name.split("/")[1]
    above: list[tuple[int, str]] = []
    for depth, target, title in _entries(text):
        above = [(d, each) for d, each in above if d < depth]
        file = _file(target, module) if target else ""
        if file:
            entries.setdefault(file, (len(entries), title, tuple(each for _, each in above)))
        above.append((depth, title or file))


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    for match in _ENTRY.finditer(text):
        yield (
            len(match["marks"]),
            (match["target"] or "").partition("#")[0],
            (match["title"] or match["text"] or "").strip(),
        )


def _file(target: str, module: str) -> str:
    scope, _, path = target.rpartition(":")
    return posixpath.normpath(f"modules/{scope.rpartition(':')[2] or module}/pages/{path}") if path else ""
