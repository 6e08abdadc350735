"""mdBook layout: the pages that SUMMARY.md lists."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from glossator.core.types import SkippedFile
from glossator.ingest.files import is_inside, peek, well_formed
from glossator.ingest.formats.markdown import scalar
from glossator.ingest.layouts.page import SiteConfig, SiteLayout, SourcePage, find_files, relative_id

CONFIG_FILES: tuple[str, ...] = ("book.toml",)
_ENTRY = re.compile(r"^(?P<indent>\s*)(?:[-*+]\s+)?\[(?P<title>(?:[^\[\]\\]|\\.)+)\]\((?P<target>[^)\s]*)\)\s*$")
_UNLISTED = "SUMMARY.md does not list it."


def from_config(config: SiteConfig) -> SiteLayout | None:
    """A folder with book.toml, or the source folder of such a book."""
    book = _read_config(config.path)
    source = config.docs_folder(scalar(book.get("src")) or "src")
    return _layout(source, config.reason, config.site, scalar(book.get("title"))) if source else None


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder with SUMMARY.md, itself or in `src`, but without book.toml."""
    source = root if (root / "SUMMARY.md").is_file() else root / "src"
    prefix = "chosen with --layout; " if chosen else ""
    return _layout(source, f"{prefix}SUMMARY.md is in the folder", root) if is_inside(source, root) else None


def _read_config(config: Path) -> dict[str, Any]:
    try:
        book = tomllib.loads(peek(config)).get("book")
    except (ValueError, RecursionError):
        return {}
    return book if isinstance(book, dict) else {}


def _layout(source: Path, reason: str, root: Path, title: str = "") -> SiteLayout | None:
    summary = source / "SUMMARY.md"
    if not (summary.is_file() and is_inside(summary, source)):
        return None
    skipped: list[SkippedFile] = []
    pages = _pages(peek(summary), source, skipped)
    unlisted = dict.fromkeys((file for file in find_files(source).files if file != summary), _UNLISTED)
    return SiteLayout(
        "mdbook", reason, tuple(pages), root, title, skipped=tuple(skipped), docs=source, left_out=unlisted
    )


def _pages(summary: str, source: Path, skipped: list[SkippedFile]) -> list[SourcePage]:
    """The summary's entries in order; indentation determines their parents."""
    parents: list[tuple[int, str]] = []
    pages: dict[Path, SourcePage] = {}
    for line in summary.splitlines():
        entry = _ENTRY.match(line)
        if not entry:
            continue
        depth, title = len(entry["indent"].expandtabs(4)), re.sub(r"[`*\\]", "", entry["title"])
        parents = [(d, t) for d, t in parents if d < depth]
        path = source / unquote(entry["target"].partition("#")[0])
        is_page = bool(entry["target"]) and path not in pages and os.path.isfile(path)  # noqa: PTH113 - false also for a name that is too long
        if is_page and not is_inside(path, source):
            skipped.append(
                SkippedFile(well_formed(str(path)), "SUMMARY.md lists it, but it is outside the book's folder.")
            )
        elif is_page:
            chapters = tuple(t for _, t in parents)
            pages[path] = SourcePage(
                path=path,
                document_id=relative_id(path, source),
                route=_route(path, source),
                chapters=chapters,
                title=title,
                order=((float(len(pages)), ""),),
            )
        parents.append((depth, title))
    return list(pages.values())


def _route(path: Path, source: Path) -> str:
    stem = "index" if path.stem.lower() == "readme" else path.stem
    return path.relative_to(source).with_name(f"{stem}.html").as_posix()
