"""Pages and layouts, which all site generators produce, and the search for readable files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARKDOWN_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
TEXT_SUFFIXES = frozenset({".txt", ".text"})
READABLE_SUFFIXES = MARKDOWN_SUFFIXES | HTML_SUFFIXES | TEXT_SUFFIXES
_EXCLUDED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "target", "_static", "_sources", "_images"})


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A file that becomes a document; `chapters` are its parents in the table of contents.

    `title` comes from the table of contents; `fallback_title` is used if the page itself has no title.
    """

    path: Path
    document_id: str
    route: str
    chapters: tuple[str, ...] = ()
    title: str = ""
    fallback_title: str = ""
    order: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SiteLayout:
    """The pages of a folder as its site generator defines them; pages may include files below `root` only.

    `mdx` tells whether files named .md are MDX too; `extensions` are the Markdown extensions and plugins of the site.
    """

    name: str
    pages: tuple[SourcePage, ...]
    root: Path
    base_url: str = ""
    mdx: bool = False
    extensions: frozenset[str] = frozenset()


def readable_files(root: Path) -> Iterator[Path]:
    """Readable files below a folder, sorted; hidden files and links that leave the folder are skipped."""
    boundary = root.resolve()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _EXCLUDED_FOLDERS)
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in READABLE_SUFFIXES:
                continue
            if path.is_symlink() and not _is_inside(path, boundary):
                continue
            yield path


def _is_inside(path: Path, boundary: Path) -> bool:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return target.is_file() and target.is_relative_to(boundary)


def relative_id(path: Path, root: Path) -> str:
    """A document's id: its path relative to the root, with forward slashes."""
    return path.relative_to(root).as_posix()
