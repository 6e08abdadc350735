"""mdBook: the pages are those that SUMMARY.md names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

from glossator.ingest.files import peek
from glossator.ingest.layouts.page import Layout, Page, relative_id

_ENTRY = re.compile(r"^(?P<indent>\s*)(?:[-*+]\s+)?\[(?P<title>(?:[^\[\]\\]|\\.)+)\]\((?P<target>[^)\s]*)\)\s*$")


def detect(root: Path) -> Layout | None:
    """A folder with book.toml or SUMMARY.md, or a book's source folder."""
    source = _source(root)
    summary = source / "SUMMARY.md"
    if not summary.is_file():
        return None
    book = root if source != root or (root / "book.toml").is_file() else root.resolve().parent
    return Layout("mdbook", tuple(_pages(peek(summary), source)), book)


def _source(root: Path) -> Path:
    config = peek(root / "book.toml")
    try:
        book = tomllib.loads(config).get("book", {}) if config else {}
    except (ValueError, RecursionError):
        book = {}
    named = root / str(book.get("src", "src") if isinstance(book, dict) else "src")
    return named if config or not (root / "SUMMARY.md").is_file() else root


def _pages(summary: str, source: Path) -> list[Page]:
    """The summary's entries in order; an entry's indentation tells what stands above it."""
    above: list[tuple[int, str]] = []
    pages: dict[Path, Page] = {}
    for line in summary.splitlines():
        entry = _ENTRY.match(line)
        if not entry:
            continue
        depth, title = len(entry["indent"].expandtabs(4)), re.sub(r"[`*\\]", "", entry["title"])
        above = [(d, t) for d, t in above if d < depth]
        path = source / unquote(entry["target"].partition("#")[0])
        inside = path.resolve().is_relative_to(source.resolve())
        if entry["target"] and inside and path.is_file() and path not in pages:
            chapters = tuple(t for _, t in above)
            pages[path] = Page(
                path=path,
                document_id=relative_id(path, source),
                route=_route(path, source),
                chapters=chapters,
                title=title,
                order=((float(len(pages)), ""),),
            )
        above.append((depth, title))
    return list(pages.values())


def _route(path: Path, source: Path) -> str:
    stem = "index" if path.stem.lower() == "readme" else path.stem
    return path.relative_to(source).with_name(f"{stem}.html").as_posix()
