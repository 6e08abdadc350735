"""mdBook: the pages are those that SUMMARY.md names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

from glossator.ingest.layouts.page import Layout, Page, relative_id

_ENTRY = re.compile(r"^(?P<indent>\s*)(?:[-*+]\s+)?\[(?P<title>(?:[^\[\]\\]|\\.)+)\]\((?P<target>[^)\s]*)\)\s*$")


def detect(root: Path) -> Layout | None:
    """A folder with book.toml or SUMMARY.md, or a book's source folder."""
    source = _source(root)
    summary = source / "SUMMARY.md"
    if not summary.is_file():
        return None
    return Layout("mdbook", tuple(_pages(summary.read_text("utf-8", "replace"), source)))


def _source(root: Path) -> Path:
    try:
        book = tomllib.loads((root / "book.toml").read_text("utf-8")).get("book", {})
        return root / str(book.get("src", "src"))
    except (OSError, ValueError):
        return root if (root / "SUMMARY.md").is_file() else root / "src"


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
