"""Plain layout: a folder of files without a site generator, or one file."""

from __future__ import annotations

from pathlib import Path

from glossator.ingest.layouts.page import (
    ASCIIDOC_SUFFIXES,
    HTML_SUFFIXES,
    MARKDOWN_SUFFIXES,
    NOTEBOOK_SUFFIXES,
    RST_SUFFIXES,
    SiteLayout,
    SourcePage,
    find_files,
    relative_id,
)

_BECOMES_HTML = RST_SUFFIXES | ASCIIDOC_SUFFIXES | NOTEBOOK_SUFFIXES
_GENERATED_PAGES = frozenset({"genindex", "search", "py-modindex", "404", "print", "toc"})
_GENERATED = "site generators create an index, search or error page with this name."


def folder_layout(root: Path, reason: str) -> SiteLayout:
    """Every readable file is a page; the URL of an index file is that of its folder."""
    found = find_files(root)
    pages = [_page(path, root) for path in found.files if not _is_generated(path)]
    generated = dict.fromkeys(filter(_is_generated, found.files), _GENERATED)
    return SiteLayout("plain", reason, tuple(pages), root, skipped=found.skipped, left_out=generated)


def file_layout(path: Path) -> SiteLayout:
    """A single file, as a book of one page."""
    return SiteLayout("plain", "the source is one file", (_page(path, path.parent),), path.parent)


def _page(path: Path, root: Path) -> SourcePage:
    name = relative_id(path, root)
    return SourcePage(path, name, _route(path, name), order=((0.0, name),))


def _route(path: Path, name: str) -> str:
    """Markdown has no ending; what becomes HTML has that of HTML; other files are published as they are."""
    suffix = path.suffix.lower()
    if suffix in _BECOMES_HTML:
        return f"{name[: -len(suffix)]}.html"
    if suffix not in MARKDOWN_SUFFIXES:
        return name
    route = name[: -len(suffix)]
    return route[: -len(path.stem)] if path.stem.lower() in ("index", "readme") else route


def _is_generated(path: Path) -> bool:
    return path.suffix.lower() in HTML_SUFFIXES and path.stem in _GENERATED_PAGES
