"""A folder of files with no site generator behind it."""

from __future__ import annotations

from pathlib import Path

from glossator.ingest.layouts.page import HTML, MARKDOWN, Layout, Page, relative_id, walk

_GENERATED = frozenset({"genindex", "search", "py-modindex", "404", "print", "toc"})


def layout(root: Path) -> Layout:
    """Every readable file is a page; an index file stands for its folder."""
    pages = [_page(path, root) for path in walk(root) if not _generated(path)]
    return Layout("plain", tuple(pages), root)


def single(path: Path) -> Layout:
    """One file is a book of one page."""
    return Layout("plain", (_page(path, path.parent),), path.parent)


def _page(path: Path, root: Path) -> Page:
    name = relative_id(path, root)
    route = name if path.suffix.lower() not in MARKDOWN else name[: -len(path.suffix)]
    if path.stem.lower() in ("index", "readme") and path.suffix.lower() in MARKDOWN:
        route = route[: -len(path.stem)]
    return Page(path, name, route, order=((0.0, name),))


def _generated(path: Path) -> bool:
    return path.suffix.lower() in HTML and path.stem in _GENERATED
