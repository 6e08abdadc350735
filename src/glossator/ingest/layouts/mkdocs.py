"""MkDocs layout: docs_dir, nav, directory URLs and inherited configuration."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from glossator.core.text.plain_yaml import load_yaml
from glossator.core.types import SkippedFile
from glossator.ingest.files import is_inside, peek
from glossator.ingest.formats.markdown import scalar
from glossator.ingest.layouts.page import (
    MARKDOWN_SUFFIXES,
    SiteConfig,
    SiteLayout,
    SourcePage,
    find_files,
    not_markdown,
    relative_id,
)

CONFIG_FILES: tuple[str, ...] = ("mkdocs.yml", "mkdocs.yaml")
MAX_INHERITANCE_DEPTH = 8
_NavEntries = dict[str, tuple[int, str, tuple[str, ...]]]
"""Position, title and parent headings of each page in the nav."""


def _slug_function(_loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> str | None:
    """The name of a function that makes heading ids, with its `case` option; other Python objects are None."""
    name = tag.rpartition(":")[2]
    if not name.startswith(("pymdownx.slugs.", "markdown.extensions.toc.")):
        return None
    words = [event.value for event in yaml.parse(yaml.serialize(node)) if isinstance(event, yaml.ScalarEvent)]
    return f"{name}:{dict(pairwise(words)).get('case', '')}"


class _ConfigLoader(yaml.SafeLoader):
    """Loads mkdocs.yml, whose tags may name Python objects: they are never constructed."""


_ConfigLoader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)
_ConfigLoader.add_multi_constructor("tag:yaml.org,2002:python/", _slug_function)


def from_config(config: SiteConfig) -> SiteLayout | None:
    """A folder with mkdocs.yml, or its docs folder."""
    skipped: list[SkippedFile] = []
    values = _with_inherited(_read_config(config.path), config.path, config.site, skipped)
    docs = config.docs_folder(scalar(values.get("docs_dir")) or "docs")
    if not docs:
        return None
    layout = _layout(docs, values, config.reason, config.site)
    return replace(layout, skipped=(*skipped, *layout.skipped))


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder of pages without mkdocs.yml: nothing in it shows that MkDocs builds it."""
    return _layout(root, {}, "chosen with --layout; mkdocs.yml was not found", root) if chosen else None


def _read_config(config: Path) -> dict[str, Any]:
    try:
        values = load_yaml(peek(config), _ConfigLoader)
    except yaml.YAMLError:
        return {}
    return values if isinstance(values, dict) else {}


def _with_inherited(
    values: dict[str, Any], path: Path, site: Path, skipped: list[SkippedFile], depth: int = 0
) -> dict[str, Any]:
    """The values of a configuration, with those of the file that it names as INHERIT below them."""
    if "INHERIT" not in values or depth == MAX_INHERITANCE_DEPTH:
        return values
    name = scalar(values["INHERIT"])
    parent = path.parent / name
    if not (name and is_inside(parent, site) and os.path.isfile(parent)):  # noqa: PTH113 - false also for a name that is too long
        reason = f"{path.name} inherits from it, but it is not a file in the site's folder. Copy it there."
        skipped.append(SkippedFile(name or "INHERIT", reason))
        return values
    return _merged(_with_inherited(_read_config(parent), parent, site, skipped, depth + 1), values)


def _merged(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Both mappings, and the mappings in them, with the values of the second; lists are replaced."""
    merged = {**base, **values}
    for key in base.keys() & values.keys():
        if isinstance(base[key], dict) and isinstance(values[key], dict):
            merged[key] = _merged(base[key], values[key])
    return merged


def _layout(docs: Path, config: dict[str, Any], reason: str, root: Path) -> SiteLayout:
    nav_entries: _NavEntries = {}
    _collect_nav_entries(config.get("nav"), (), nav_entries)
    directory_urls = config.get("use_directory_urls", True) is not False
    pages = []
    left_out: dict[Path, str] = {}
    found = find_files(docs)
    for path in found.files:
        if path.suffix.lower() not in MARKDOWN_SUFFIXES:
            left_out[path] = not_markdown("MkDocs")
            continue
        name = relative_id(path, docs)
        position, title, chapters = nav_entries.get(name, (math.inf, "", path.relative_to(docs).parts[:-1]))
        pages.append(
            SourcePage(path, name, _route(name, directory_urls), chapters, title, order=((float(position), name),))
        )
    return SiteLayout(
        "mkdocs",
        reason,
        tuple(sorted(pages, key=lambda page: page.order)),
        root,
        scalar(config.get("site_name")),
        scalar(config.get("site_url")),
        extensions=_names(config.get("markdown_extensions")) | _names(config.get("plugins")),
        skipped=found.skipped,
        docs=docs,
        left_out=left_out,
    )


def _names(entries: Any) -> frozenset[str]:
    """The names in a list or mapping of extensions, of which some have options."""
    items = [entries] if isinstance(entries, dict) else entries if isinstance(entries, list) else []
    slugify = [
        options["slugify"]
        for item in items
        for options in (item.values() if isinstance(item, dict) else [])
        if isinstance(options, dict) and isinstance(options.get("slugify"), str)
    ]
    return frozenset(slugify) | frozenset(
        name for item in items for name in (item if isinstance(item, dict) else [item]) if isinstance(name, str)
    )


def _collect_nav_entries(nav: Any, parents: tuple[str, ...], nav_entries: _NavEntries) -> None:
    """Number the pages of a nav, with their titles and parent headings."""
    for entry in nav if isinstance(nav, list) else []:
        for title, target in entry.items() if isinstance(entry, dict) else [("", entry)]:
            if isinstance(target, str):
                nav_entries.setdefault(target, (len(nav_entries), scalar(title), parents))
            else:
                _collect_nav_entries(target, (*parents, scalar(title)), nav_entries)


def _route(name: str, directory_urls: bool) -> str:
    stem = name.rsplit(".", 1)[0]
    folder, _, last = stem.rpartition("/")
    is_index = last.lower() in ("index", "readme")
    if not directory_urls:
        return f"{folder}/index.html".lstrip("/") if is_index else f"{stem}.html"
    return f"{folder}/".lstrip("/") if is_index else f"{stem}/"
