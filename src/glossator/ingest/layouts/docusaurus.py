"""Docusaurus layout: routes, slugs, number prefixes, categories and drafts."""

from __future__ import annotations

import json
import math
import posixpath
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import yaml

from glossator.core.book.versions import VERSION_NAME, BookVersion
from glossator.core.errors import SourceError
from glossator.core.text.plain_yaml import load_yaml
from glossator.core.types import SkippedFile
from glossator.ingest.files import is_inside, peek
from glossator.ingest.formats.markdown import scalar, split_front_matter
from glossator.ingest.layouts.page import (
    MARKDOWN_SUFFIXES,
    FoundFiles,
    SiteConfig,
    SiteLayout,
    SourcePage,
    find_files,
    listed_versions,
    not_markdown,
    relative_id,
)

CONFIG_FILES: tuple[str, ...] = (
    "docusaurus.config.js",
    "docusaurus.config.ts",
    "docusaurus.config.mjs",
    "docusaurus.config.cjs",
)
_CATEGORY_FILES = ("_category_.json", "_category_.yml", "_category_.yaml")
_PARTIAL = "its name or folder begins with _: it is not a page, but other pages can include it."
_UNPUBLISHED = "its front matter marks it as a draft or unlisted."
_NUMBER_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_LIKE = re.compile(r"^(?:\d{1,2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{1,2}|\d{4}))?")
_VERSION_OPTIONS = re.compile(r"\bversions:\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_NEXT = "current"
"""What Docusaurus calls the version that is not released yet."""
_VERSION_LIKE = re.compile(r"^\d+[-_.]\d+")


class _Category(NamedTuple):
    """A folder in the sidebar; its index page comes first, unless it links to another page."""

    label: str
    position: float
    has_link: bool = False


def from_config(config: SiteConfig) -> SiteLayout | None:
    """A folder with a Docusaurus config, or the docs folder of such a site."""
    text = peek(config.path)
    docs = config.docs_folder(_option(text, "path", "docs"))
    if docs is None:
        return None
    route_base = _option(text, "routeBasePath", "docs").strip("/")
    versions = _versions(config, text, docs, route_base)
    pages: list[SourcePage] = []
    left_out: dict[Path, str] = {}
    skipped: list[SkippedFile] = []
    for folder, version in (versions or {docs: BookVersion("", quote(route_base))}).items():
        found = find_files(folder)
        own, others = _pages(found, folder, unquote(version.path))
        below = docs if folder == docs else config.site
        pages += [replace(page, document_id=relative_id(page.path, below)) for page in own]
        left_out |= others
        skipped += found.skipped
    return SiteLayout(
        "docusaurus",
        config.reason,
        tuple(pages),
        config.site,
        _title(text),
        _site_url(text),
        mdx=not re.search(r"\bformat:\s*['\"](?:detect|md)['\"]", text),
        skipped=tuple(skipped),
        docs=docs,
        left_out=left_out,
        versions=tuple(versions.values()),
    )


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder with MDX or category files, but without a config."""
    found = find_files(root)
    if chosen:
        reason = "chosen with --layout; docusaurus.config.js was not found"
    elif any(path.suffix.lower() == ".mdx" or _category_files(path.parent) for path in found.files):
        reason = "the folder has MDX or category files"
    else:
        return None
    docs = root / "docs"
    in_docs = tuple(path for path in found.files if path.is_relative_to(docs))
    pages, left_out = _pages(replace(found, files=in_docs), docs, "docs")
    others, also_left_out = _pages(replace(found, files=tuple(sorted({*found.files} - {*in_docs}))), root, "")
    return SiteLayout(
        "docusaurus",
        reason,
        tuple(replace(page, document_id=relative_id(page.path, root)) for page in (*pages, *others)),
        root,
        mdx=True,
        skipped=found.skipped,
        left_out=left_out | also_left_out,
    )


def _category_files(folder: Path) -> list[Path]:
    files = (folder / name for name in _CATEGORY_FILES)
    return [file for file in files if file.is_file() and is_inside(file, folder)]


def _versions(config: SiteConfig, text: str, docs: Path, route_base: str) -> dict[Path, BookVersion]:
    """The folders of the versions that the site has, the current one first; none without versions.

    The docs folder is the next version, unless the configuration says that it is the last one released.
    """
    names = _version_names(config)
    if not names:
        return {}
    last = _literal(text, "lastVersion") or names[0]
    folders = {name: config.site / "versioned_docs" / f"version-{name}" for name in names}
    if not re.search(r"\bincludeCurrentVersion:\s*false\b", text):
        folders[_NEXT] = docs
    found: dict[Path, BookVersion] = {}
    for name, folder in sorted(folders.items(), key=lambda item: item[0] != last):
        if folder.is_dir() and is_inside(folder, config.named):
            usual = "" if name == last else "next" if name == _NEXT else name
            below = _version_path(text, name, usual)
            path = "".join(f"{quote(part)}/" for part in (*route_base.split("/"), *below.split("/")) if part)
            found[folder] = BookVersion("next", path, (_NEXT,)) if name == _NEXT else BookVersion(name, path)
    return found if len(found) > 1 else {}


def _version_names(config: SiteConfig) -> list[str]:
    """The released versions, from the newest; only of a site that was named as a whole."""
    listed = listed_versions(config.site) if config.site == config.named else []
    return [name for name in listed if isinstance(name, str) and VERSION_NAME.fullmatch(name)]


def _version_path(config: str, name: str, usual: str) -> str:
    """The path of a version below the docs: from its options, otherwise the default."""
    found = re.search(rf"""['"]?{re.escape(name)}['"]?:\s*\{{[^}}]*?\bpath:\s*['"]([^'"]*)['"]""", config)
    return found[1] if found else usual


def _literal(config: str, name: str) -> str:
    found = re.search(rf"""\b{name}:\s*['"]([^'"]+)['"]""", config)
    return found[1] if found else ""


def _option(config: str, name: str, default: str) -> str:
    """A literal option of the docs plugin, not of one of its versions; for a computed one, the default."""
    whole = _VERSION_OPTIONS.sub("", config)
    found = re.search(rf"docs:\s*\{{[^}}]*?\b{name}:\s*['\"]([^'\"]*)['\"]", whole, re.DOTALL)
    return found[1] if found else default


def _title(config: str) -> str:
    """The site's title: the first one in the config, before those of the navigation bar and the footer."""
    found = re.search(r"""\btitle:\s*(['"`])((?:\\.|(?!\1)[^\\\n])+)\1""", config)
    return re.sub(r"\\(.)", r"\1", found[2]) if found else ""


def _site_url(config: str) -> str:
    url = re.search(r"\burl:\s*['\"](https?://[^'\"]+)['\"]", config)
    base = re.search(r"\bbaseUrl:\s*['\"]([^'\"]+)['\"]", config)
    return url[1].rstrip("/") + (base[1] if base else "/") if url else ""


def _pages(found: FoundFiles, docs: Path, route_base: str) -> tuple[tuple[SourcePage, ...], dict[Path, str]]:
    """The pages in order, and why other files are not pages."""
    pages: list[SourcePage] = []
    left_out: dict[Path, str] = {}
    for path in found.files:
        if path.suffix.lower() not in MARKDOWN_SUFFIXES:
            left_out[path] = not_markdown("Docusaurus")
        elif any(part.startswith("_") for part in path.relative_to(docs).parts):
            left_out[path] = _PARTIAL
        elif (front := _front_matter(path)).get("draft") is True or front.get("unlisted") is True:
            left_out[path] = _UNPUBLISHED
        else:
            pages.append(_page(path, docs, front, route_base))
    return tuple(sorted(pages, key=lambda page: page.order)), left_out


def _front_matter(path: Path) -> dict[str, Any]:
    """The front matter of a page; errors in it are reported when the page is read."""
    try:
        return split_front_matter(peek(path))[0]
    except SourceError:
        return {}


def _page(path: Path, docs: Path, front: dict[str, Any], route_base: str) -> SourcePage:
    folders = path.relative_to(docs).parts[:-1]
    categories = [_category(docs.joinpath(*folders[: depth + 1])) for depth in range(len(folders))]
    number, name = _strip_number_prefix(path.stem)
    names = [_strip_number_prefix(folder)[1] for folder in folders]
    if front.get("parse_number_prefixes") is False:
        name, names = path.stem, list(folders)
    is_index = path.stem.lower() in ("index", "readme", *(folder.lower() for folder in folders[-1:]))
    position = _number(front.get("sidebar_position", number))
    if is_index and categories and not categories[-1].has_link:
        position = -math.inf
    order = (
        *((category.position, folder) for category, folder in zip(categories, folders, strict=True)),
        (position, path.name),
    )
    return SourcePage(
        path=path,
        document_id=relative_id(path, docs),
        route=posixpath.join(route_base.strip("/"), _slug(front, names, name, is_index).lstrip("/")),
        chapters=tuple(category.label for category in categories),
        title=scalar(front.get("title")),
        fallback_title=name,
        order=order,
    )


def _slug(front: dict[str, Any], folders: list[str], name: str, is_index: bool) -> str:
    """The page's path: its slug; for an index page its folder; otherwise its folder and id."""
    slug = unquote(scalar(front.get("slug")))
    if slug:
        joined = slug if slug.startswith("/") else posixpath.join("/", *folders, slug)
        return posixpath.normpath(joined) + ("/" if slug.endswith("/") else "")
    last = "" if is_index else scalar(front.get("id")) or name
    return "/".join(["", *folders, last])


def _strip_number_prefix(name: str) -> tuple[float, str]:
    """The number prefix of a name as a position, and the name without it."""
    found = _NUMBER_PREFIX.match(name)
    if not found or _DATE_LIKE.match(name) or _VERSION_LIKE.match(name):
        return math.inf, name
    return float(found[1]), found[2]


def _category(folder: Path) -> _Category:
    """A folder's label and position, from its category file or its name."""
    number, name = _strip_number_prefix(folder.name)
    for file in _category_files(folder):
        try:
            values = json.loads(peek(file)) if file.suffix == ".json" else load_yaml(peek(file))
        except (ValueError, RecursionError, yaml.YAMLError):
            continue
        if isinstance(values, dict):
            position = _number(values.get("position", number))
            return _Category(scalar(values.get("label")) or name, position, "link" in values)
    return _Category(name, number)


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.inf
    except OverflowError:
        return math.inf
