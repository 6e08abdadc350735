"""The values that every layout produces, and the one walk through a folder they share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARKDOWN = frozenset({".md", ".mdx", ".markdown"})
HTML = frozenset({".html", ".htm", ".xhtml"})
TEXT = frozenset({".txt", ".text"})
READABLE = MARKDOWN | HTML | TEXT
_NOT_CONTENT = frozenset({"node_modules", "__pycache__", "venv", "target", "_static", "_sources", "_images"})


@dataclass(frozen=True, slots=True)
class Page:
    """A file that becomes a document; `chapters` are the headings above it in the table of contents.

    `title` is what the table of contents calls it; `fallback_title` serves a page that names itself nowhere.
    """

    path: Path
    document_id: str
    route: str
    chapters: tuple[str, ...] = ()
    title: str = ""
    fallback_title: str = ""
    order: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder as its site generator sees it: files that its pages include must lie below `root`.

    `mdx` is whether files named .md are MDX too.
    """

    name: str
    pages: tuple[Page, ...]
    root: Path
    base_url: str = ""
    mdx: bool = False


def walk(root: Path) -> Iterator[Path]:
    """Readable files below a folder, sorted; hidden ones and links that leave it are passed over."""
    boundary = root.resolve()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_CONTENT)
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in READABLE:
                continue
            if path.is_symlink() and not _stays_inside(path, boundary):
                continue
            yield path


def _stays_inside(path: Path, boundary: Path) -> bool:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return target.is_file() and target.is_relative_to(boundary)


def relative_id(path: Path, root: Path) -> str:
    """A document's id: its path below the root, as a reader of the sources would write it."""
    return path.relative_to(root).as_posix()
