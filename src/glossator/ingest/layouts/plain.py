"""Plain layout: a folder of files without a site generator, or one file."""

from __future__ import annotations

from pathlib import Path

from glossator.ingest.layouts.page import (
    HTML_SUFFIXES,
    MARKDOWN_SUFFIXES,
    SiteLayout,
    SourcePage,
    find_files,
    relative_id,
)

_GENERATED_PAGES = frozenset({"genindex", "search", "py-modindex", "404", "print", "toc"})
_GENERATED = "its name is that of an index, search or error page that site generators make."


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
    route = name if path.suffix.lower() not in MARKDOWN_SUFFIXES else name[: -len(path.suffix)]
    if path.stem.lower() in ("index", "readme") and path.suffix.lower() in MARKDOWN_SUFFIXES:
        route = route[: -len(path.stem)]
    return SourcePage(path, name, route, order=((0.0, name),))


def _is_generated(path: Path) -> bool:
    return path.suffix.lower() in HTML_SUFFIXES and path.stem in _GENERATED_PAGES
