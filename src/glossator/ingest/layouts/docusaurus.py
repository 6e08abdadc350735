"""Docusaurus: routes, slugs, number prefixes, categories, drafts."""

from __future__ import annotations

import json
import math
import posixpath
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml

from glossator.core.errors import SourceError
from glossator.ingest.files import peek
from glossator.ingest.formats.markdown import scalar, split_front_matter
from glossator.ingest.layouts.page import MARKDOWN, Layout, Page, relative_id, walk

_CONFIGS = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_LIKE = re.compile(r"^(?:\d{1,2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{1,2}|\d{4}))?")
_VERSION_LIKE = re.compile(r"^\d+[-_.]\d+")


class _Category(NamedTuple):
    """A folder in the sidebar; unless it is linked elsewhere, its index page opens it."""

    label: str
    position: float
    linked: bool = False


def detect(root: Path) -> Layout | None:
    """A folder with a Docusaurus config, or a docs folder of such a site, or one that looks like it."""
    for site in (root, root.resolve().parent):
        config = next((site / name for name in _CONFIGS if (site / name).is_file()), None)
        if config is None:
            continue
        text = peek(config)
        docs = site / _option(text, "path", "docs")
        if docs.is_dir() and (site == root or docs.resolve() == root.resolve()):
            mdx = not re.search(r"\bformat:\s*['\"](?:detect|md)['\"]", text)
            return Layout(
                "docusaurus", _pages(docs, _option(text, "routeBasePath", "docs")), site, _site_url(text), mdx
            )
        if site == root:
            return None
    if any(path.suffix.lower() == ".mdx" or _categories(path.parent) for path in walk(root)):
        return Layout("docusaurus", _pages(root, ""), root, mdx=True)
    return None


def _categories(folder: Path) -> list[Path]:
    return [folder / name for name in _CATEGORIES if (folder / name).is_file()]


def _option(config: str, name: str, default: str) -> str:
    """A literal option of the docs plugin; computed ones keep the default."""
    found = re.search(rf"docs:\s*\{{[^}}]*?\b{name}:\s*['\"]([^'\"]*)['\"]", config, re.DOTALL)
    return found[1] if found else default


def _site_url(config: str) -> str:
    url = re.search(r"\burl:\s*['\"](https?://[^'\"]+)['\"]", config)
    base = re.search(r"\bbaseUrl:\s*['\"]([^'\"]+)['\"]", config)
    return url[1].rstrip("/") + (base[1] if base else "/") if url else ""


def _pages(docs: Path, route_base: str) -> tuple[Page, ...]:
    pages: list[Page] = []
    for path in walk(docs):
        relative = path.relative_to(docs)
        if path.suffix.lower() not in MARKDOWN or any(part.startswith("_") for part in relative.parts):
            continue
        front = _front_matter(path)
        if not (front.get("draft") is True or front.get("unlisted") is True):
            pages.append(_page(path, docs, front, route_base))
    return tuple(sorted(pages, key=lambda page: page.order))


def _front_matter(path: Path) -> dict[str, Any]:
    """What a page says of itself; one that cannot be read says so when its turn comes."""
    try:
        return split_front_matter(peek(path))[0]
    except SourceError:
        return {}


def _page(path: Path, docs: Path, front: dict[str, Any], route_base: str) -> Page:
    folders = path.relative_to(docs).parts[:-1]
    categories = [_category(docs.joinpath(*folders[: depth + 1])) for depth in range(len(folders))]
    number, name = _strip(path.stem)
    names = [_strip(folder)[1] for folder in folders]
    if front.get("parse_number_prefixes") is False:
        name, names = path.stem, list(folders)
    is_index = path.stem.lower() in ("index", "readme", *(folder.lower() for folder in folders[-1:]))
    position = _number(front.get("sidebar_position", number))
    if is_index and categories and not categories[-1].linked:
        position = -math.inf
    order = (
        *((category.position, folder) for category, folder in zip(categories, folders, strict=True)),
        (position, path.name),
    )
    return Page(
        path=path,
        document_id=relative_id(path, docs),
        route=posixpath.join(route_base.strip("/"), _slug(front, names, name, is_index).lstrip("/")),
        chapters=tuple(category.label for category in categories),
        title=scalar(front.get("title")),
        fallback_title=name,
        order=order,
    )


def _slug(front: dict[str, Any], folders: list[str], name: str, is_index: bool) -> str:
    """The page's path: its slug, its folder if it is the folder's index, else folder and id."""
    slug = unquote(scalar(front.get("slug")))
    if slug:
        joined = slug if slug.startswith("/") else posixpath.join("/", *folders, slug)
        return posixpath.normpath(joined) + ("/" if slug.endswith("/") else "")
    last = "" if is_index else scalar(front.get("id")) or name
    return "/".join(["", *folders, last])


def _strip(name: str) -> tuple[float, str]:
    """A number prefix as the position, and the name without it."""
    found = _PREFIX.match(name)
    if not found or _DATE_LIKE.match(name) or _VERSION_LIKE.match(name):
        return math.inf, name
    return float(found[1]), found[2]


def _category(folder: Path) -> _Category:
    """What a folder's file says of it, or its name."""
    number, name = _strip(folder.name)
    for file in _categories(folder):
        try:
            values = json.loads(peek(file)) if file.suffix == ".json" else yaml.safe_load(peek(file))
        except (ValueError, RecursionError, yaml.YAMLError):
            continue
        if isinstance(values, dict):
            position = _number(values.get("position", number))
            return _Category(scalar(values.get("label")) or name, position, "link" in values)
    return _Category(name, number)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf
