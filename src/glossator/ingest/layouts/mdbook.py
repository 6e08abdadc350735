"""mdBook layout: the pages that SUMMARY.md lists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

from glossator.ingest.files import peek
from glossator.ingest.layouts.page import SiteLayout, SourcePage, relative_id

_ENTRY = re.compile(r"^(?P<indent>\s*)(?:[-*+]\s+)?\[(?P<title>(?:[^\[\]\\]|\\.)+)\]\((?P<target>[^)\s]*)\)\s*$")


def detect(root: Path) -> SiteLayout | None:
    """A folder with book.toml or SUMMARY.md, or a book's source folder."""
    source = _source_folder(root)
    summary = source / "SUMMARY.md"
    if not summary.is_file():
        return None
    book = root if source != root or (root / "book.toml").is_file() else root.resolve().parent
    return SiteLayout("mdbook", tuple(_pages(peek(summary), source)), book)


def _source_folder(root: Path) -> Path:
    config = peek(root / "book.toml")
    try:
        book = tomllib.loads(config).get("book", {}) if config else {}
    except (ValueError, RecursionError):
        book = {}
    named = root / str(book.get("src", "src") if isinstance(book, dict) else "src")
    return named if config or not (root / "SUMMARY.md").is_file() else root


def _pages(summary: str, source: Path) -> list[SourcePage]:
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
        inside = path.resolve().is_relative_to(source.resolve())
        if entry["target"] and inside and path.is_file() and path not in pages:
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
