"""Docusaurus: routes, slugs, number prefixes, categories, drafts."""

from __future__ import annotations

import json
import math
import posixpath
import re
from pathlib import Path
from typing import Any

import yaml

from glossator.core.errors import SourceError
from glossator.ingest.layouts.page import MARKDOWN, Layout, Page, relative_id, walk
from glossator.ingest.markdown import split_front_matter

_CONFIGS = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_LIKE = re.compile(r"^(?:\d{1,2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{1,2}|\d{4}))?")
_VERSION_LIKE = re.compile(r"^\d+[-_.]\d+")


def detect(root: Path) -> Layout | None:
    """A folder with a Docusaurus config, or a docs folder of such a site."""
    for site in (root, root.parent):
        config = next((site / name for name in _CONFIGS if (site / name).is_file()), None)
        if config is None:
            continue
        text = config.read_text("utf-8", "replace")
        docs = site / _option(text, "path", "docs")
        if site == root or docs.resolve() == root.resolve():
            return _layout(docs, _option(text, "routeBasePath", "docs"), _site_url(text)) if docs.is_dir() else None
    if any(next(root.rglob(name), None) for name in (*_CATEGORIES, "*.mdx")):
        return _layout(root, "", "")
    return None


def _option(config: str, name: str, default: str) -> str:
    """A literal option of the docs plugin; computed ones keep the default."""
    found = re.search(rf"docs:\s*\{{[^}}]*?\b{name}:\s*['\"]([^'\"]*)['\"]", config, re.DOTALL)
    return found[1] if found else default


def _site_url(config: str) -> str:
    url = re.search(r"^\s*url:\s*['\"](https?://[^'\"]+)['\"]", config, re.MULTILINE)
    base = re.search(r"^\s*baseUrl:\s*['\"]([^'\"]+)['\"]", config, re.MULTILINE)
    return url[1].rstrip("/") + (base[1] if base else "/") if url else ""


def _layout(docs: Path, route_base: str, base_url: str) -> Layout:
    pages: list[Page] = []
    skipped: list[tuple[Path, str]] = []
    for path in walk(docs):
        relative = path.relative_to(docs)
        if path.suffix.lower() not in MARKDOWN or any(part.startswith("_") for part in relative.parts):
            continue
        try:
            front, _ = split_front_matter(path.read_text("utf-8"))
        except UnicodeDecodeError:
            skipped.append((path, "it is not UTF-8 text. Save it as UTF-8."))
        except SourceError as error:
            skipped.append((path, str(error)))
        else:
            if not (front.get("draft") is True or front.get("unlisted") is True):
                pages.append(_page(path, docs, front, route_base))
    return Layout("docusaurus", tuple(sorted(pages, key=lambda page: page.order)), base_url, tuple(skipped))


def _page(path: Path, docs: Path, front: dict[str, Any], route_base: str) -> Page:
    folders = path.relative_to(docs).parts[:-1]
    categories = [_category(docs.joinpath(*folders[: depth + 1])) for depth in range(len(folders))]
    number, name = _strip(path.stem)
    names = [_strip(folder)[1] for folder in folders]
    if front.get("parse_number_prefixes") is False:
        name, names = path.stem, list(folders)
    is_index = path.stem.lower() in ("index", "readme", *(folder.lower() for folder in folders[-1:]))
    position = front.get("sidebar_position", number)
    order = (
        *((place, folder) for (_, place), folder in zip(categories, folders, strict=True)),
        (_number(position), path.name),
    )
    return Page(
        path=path,
        document_id=relative_id(path, docs),
        route=posixpath.join(route_base.strip("/"), _slug(front, names, name, is_index).lstrip("/")),
        chapters=tuple(label for label, _ in categories),
        title=str(front.get("title") or ""),
        fallback_title=name,
        order=order,
    )


def _slug(front: dict[str, Any], folders: list[str], name: str, is_index: bool) -> str:
    """The page's path: its slug, its folder if it is the folder's index, else folder and id."""
    slug = front.get("slug")
    if isinstance(slug, str) and slug:
        joined = slug if slug.startswith("/") else posixpath.join("/", *folders, slug)
        return posixpath.normpath(joined) + ("/" if slug.endswith("/") else "")
    last = "" if is_index else str(front.get("id") or name)
    return "/".join(["", *folders, last])


def _strip(name: str) -> tuple[float, str]:
    """A number prefix as the position, and the name without it."""
    found = _PREFIX.match(name)
    if not found or _DATE_LIKE.match(name) or _VERSION_LIKE.match(name):
        return math.inf, name
    return float(found[1]), found[2]


def _category(folder: Path) -> tuple[str, float]:
    """A folder's label and position in the sidebar."""
    number, label = _strip(folder.name)
    for name in _CATEGORIES:
        try:
            text = (folder / name).read_text("utf-8")
            values = json.loads(text) if name.endswith("json") else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError):
            continue
        if isinstance(values, dict):
            return str(values.get("label") or label), _number(values.get("position", number))
    return label, number


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf
