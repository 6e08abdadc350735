"""MkDocs layout: docs_dir, nav and directory URLs."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from glossator.ingest.files import peek
from glossator.ingest.formats.markdown import scalar
from glossator.ingest.layouts.page import MARKDOWN_SUFFIXES, SiteConfig, SiteLayout, SourcePage, find_files, relative_id

CONFIG_FILES: tuple[str, ...] = ("mkdocs.yml", "mkdocs.yaml")
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
    values = _read_config(config.path)
    docs = config.docs_folder(scalar(values.get("docs_dir")) or "docs")
    return _layout(docs, values, config.reason, config.site) if docs else None


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder of pages without mkdocs.yml: nothing in it tells that MkDocs builds it."""
    return _layout(root, {}, "chosen with --layout; mkdocs.yml was not found", root) if chosen else None


def _read_config(config: Path) -> dict[str, Any]:
    try:
        values = yaml.load(peek(config), Loader=_ConfigLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _layout(docs: Path, config: dict[str, Any], reason: str, root: Path) -> SiteLayout:
    nav_entries: _NavEntries = {}
    _collect_nav_entries(config.get("nav"), (), nav_entries)
    directory_urls = config.get("use_directory_urls", True) is not False
    pages = []
    found = find_files(docs)
    for path in found.files:
        if path.suffix.lower() not in MARKDOWN_SUFFIXES:
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
