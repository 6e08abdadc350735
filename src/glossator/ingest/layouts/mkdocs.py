"""MkDocs: docs_dir, nav, and addresses that are folders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from glossator.ingest.files import peek
from glossator.ingest.formats.markdown import scalar
from glossator.ingest.layouts.page import MARKDOWN, Layout, Page, relative_id, walk


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name Python objects: they are data here and never built."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _loader, _suffix, _node: None)


def detect(root: Path) -> Layout | None:
    """A folder with mkdocs.yml, or its docs folder."""
    for site in (root, root.parent):
        config = next((site / n for n in ("mkdocs.yml", "mkdocs.yaml") if (site / n).is_file()), None)
        if config is None:
            continue
        values = _read(config)
        docs = site / (scalar(values.get("docs_dir")) or "docs")
        if docs.is_dir() and (site == root or docs.resolve() == root.resolve()):
            return _layout(docs, values)
    return None


def _read(config: Path) -> dict[str, Any]:
    try:
        values = yaml.load(peek(config), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _layout(docs: Path, config: dict[str, Any]) -> Layout:
    places: dict[str, tuple[int, str, tuple[str, ...]]] = {}
    _place(config.get("nav"), (), places)
    folders = config.get("use_directory_urls", True) is not False
    pages = []
    for path in walk(docs):
        if path.suffix.lower() not in MARKDOWN:
            continue
        name = relative_id(path, docs)
        place, title, chapters = places.get(name, (math.inf, "", path.relative_to(docs).parts[:-1]))
        pages.append(Page(path, name, _route(name, folders), chapters, title, order=((float(place), name),)))
    return Layout("mkdocs", tuple(sorted(pages, key=lambda page: page.order)), docs, scalar(config.get("site_url")))


def _place(nav: Any, above: tuple[str, ...], places: dict[str, tuple[int, str, tuple[str, ...]]]) -> None:
    """Number the pages of a nav, with their titles and the headings above them."""
    for entry in nav if isinstance(nav, list) else []:
        for title, target in entry.items() if isinstance(entry, dict) else [("", entry)]:
            if isinstance(target, str):
                places.setdefault(target, (len(places), scalar(title), above))
            else:
                _place(target, (*above, scalar(title)), places)


def _route(name: str, folders: bool) -> str:
    stem = name.rsplit(".", 1)[0]
    folder, _, last = stem.rpartition("/")
    is_index = last.lower() in ("index", "readme")
    if not folders:
        return f"{folder}/index.html".lstrip("/") if is_index else f"{stem}.html"
    return f"{folder}/".lstrip("/") if is_index else f"{stem}/"
