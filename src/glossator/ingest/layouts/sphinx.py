"""Sphinx layout: the pages in the order of the tables of contents, from index on; conf.py is read, never executed."""

from __future__ import annotations

import ast
import fnmatch
import math
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glossator.core.types import SkippedFile
from glossator.ingest.files import is_inside, peek
from glossator.ingest.formats.rst.outline import TocEntry, first_title, labels, toc_entries
from glossator.ingest.formats.slugs import docutils_id
from glossator.ingest.layouts.page import SiteConfig, SiteLayout, SourcePage, find_files, relative_id

CONFIG_FILES: tuple[str, ...] = ("conf.py",)
MAX_TOC_DEPTH = 20
_PAGE_SUFFIXES = (".rst", ".md", ".ipynb")
_EXCLUDED = ("_build", "_build/*", "_templates/*", "Thumbs.db")
_MARKDOWN_TITLE = re.compile(r"^# +(.+?)[ #]*$", re.MULTILINE)
_TOCTREE = re.compile(r"^\.\. toctree::", re.MULTILINE)
_SIGNS = frozenset({"project", "extensions", "html_theme", "root_doc", "master_doc", "source_suffix", "html_title"})
"""Names that the conf.py of Sphinx defines; other programs have a file of this name too."""
_ATTRIBUTES = ("version", "release", "rst_prolog", "rst_epilog", "smartquotes")


@dataclass(frozen=True, slots=True)
class _Pages:
    """The files of a site by the names of their pages, and the text of each."""

    root: Path
    paths: Mapping[str, Path]
    texts: Mapping[str, str]

    def title(self, name: str) -> str:
        text = self.texts[name]
        if self.paths[name].suffix == ".rst":
            return first_title(text)
        found = _MARKDOWN_TITLE.search(text)
        return found[1] if found and self.paths[name].suffix == ".md" else ""


@dataclass(slots=True)
class _Order:
    """The pages as the tables of contents list them: each with the titles above it and its own."""

    entries: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)


def from_config(config: SiteConfig) -> SiteLayout | None:
    """A folder with conf.py and the page from which all others are listed."""
    if config.site.resolve() != config.named.resolve():
        return None
    values = _read_config(peek(config.path))
    if not _SIGNS & values.keys():
        return None
    return _layout(config.named, values, config.reason)


def from_files(root: Path, *, chosen: bool) -> SiteLayout | None:
    """A folder whose index.rst has a table of contents, as only Sphinx reads it."""
    if chosen:
        return _layout(root, {}, "chosen with --layout; conf.py was not found")
    if not _TOCTREE.search(peek(root / "index.rst")) or not is_inside(root / "index.rst", root):
        return None
    return _layout(root, {}, "index.rst has a toctree")


def _read_config(text: str) -> dict[str, Any]:
    """The values that conf.py assigns as constants; what it computes is unknown."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    values: dict[str, Any] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if names and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            values |= dict.fromkeys(names, _constant(node.value, values))
    return values


def _constant(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of an expression that is a constant, a list of them, or the name of an earlier one."""
    if isinstance(node, ast.Name):
        return values.get(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _layout(root: Path, config: dict[str, Any], reason: str) -> SiteLayout | None:
    found = find_files(root)
    excluded = (*_EXCLUDED, *_strings(config.get("exclude_patterns")))
    files = [path for path in found.files if path.suffix in _PAGE_SUFFIXES]
    shown = [path for path in files if not _matches(relative_id(path, root), excluded)]
    paths = {posixpath.splitext(relative_id(path, root))[0]: path for path in reversed(shown)}
    main = _string(config, "root_doc") or _string(config, "master_doc") or "index"
    if main not in paths:
        return None
    pages = _Pages(root, paths, {name: peek(path) for name, path in paths.items()})
    order = _Order({main: ((), "")})
    skipped = list(found.skipped)
    _collect(pages, main, (), order, skipped, 0)
    return SiteLayout(
        "sphinx",
        reason,
        tuple(_source_pages(pages, order)),
        root,
        _string(config, "html_title") or _string(config, "project"),
        _string(config, "html_baseurl"),
        skipped=tuple(skipped),
        references=_references(pages),
        attributes={name: str(config[name]) for name in _ATTRIBUTES if config.get(name) is not None},
    )


def _string(config: dict[str, Any], name: str) -> str:
    value = config.get(name)
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern covers a file or one of its folders; in Sphinx `*` stays within a folder, `**` does not."""
    folders = name.split("/")
    parts = ["/".join(folders[: count + 1]) for count in range(len(folders))]
    return any(
        fnmatch.fnmatchcase(part, pattern.rstrip("/"))
        and ("**" in pattern or part.count("/") == pattern.rstrip("/").count("/"))
        for pattern in patterns
        for part in parts
    )


def _collect(
    pages: _Pages, name: str, chapters: tuple[str, ...], order: _Order, skipped: list[SkippedFile], depth: int
) -> None:
    """Add the pages that a page lists, and those that they list."""
    if depth > MAX_TOC_DEPTH:
        return
    for entry in toc_entries(pages.texts[name]):
        for target in _targets(pages, name, entry):
            if target not in pages.paths:
                skipped.append(SkippedFile(target, f"{name} lists it, but it does not exist."))
            elif target not in order.entries:
                above = (*chapters, entry.caption) if entry.caption and not chapters else chapters
                order.entries[target] = (above, entry.title)
                title = entry.title or pages.title(target) or target
                _collect(pages, target, (*above, title), order, skipped, depth + 1)


def _targets(pages: _Pages, name: str, entry: TocEntry) -> Iterator[str]:
    """The names of the pages that an entry stands for; none for a URL or the page itself."""
    if entry.target in ("self", "genindex", "modindex", "search") or "://" in entry.target:
        return
    folder = "" if entry.target.startswith("/") else posixpath.dirname(name)
    target = posixpath.normpath(posixpath.join(folder, entry.target.lstrip("/")))
    if entry.is_pattern:
        yield from sorted(page for page in pages.paths if page != name and _matches_page(page, target))
        return
    stem, suffix = posixpath.splitext(target)
    yield stem if suffix in _PAGE_SUFFIXES and target not in pages.paths else target


def _matches_page(page: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(page, pattern) and ("**" in pattern or page.count("/") == pattern.count("/"))


def _source_pages(pages: _Pages, order: _Order) -> Iterator[SourcePage]:
    """The pages that are listed, in this order, then the others."""
    positions = {name: number for number, name in enumerate(order.entries)}
    for name in sorted(pages.paths, key=lambda name: (positions.get(name, math.inf), name)):
        chapters, title = order.entries.get(name, ((), ""))
        position = float(positions.get(name, math.inf))
        yield SourcePage(
            pages.paths[name],
            relative_id(pages.paths[name], pages.root),
            f"{name}.html",
            chapters,
            fallback_title=title,
            order=((position, name),),
        )


def _references(pages: _Pages) -> dict[str, tuple[str, str]]:
    """The title and the address of every page and of every label."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in pages.texts.items():
        file = relative_id(pages.paths[name], pages.root)
        found[f"doc:{name}"] = (pages.title(name) or name, file)
        for label, title in labels(text) if file.endswith(".rst") else ():
            found.setdefault(f"ref:{label}", (title or label, f"{file}#{docutils_id(label)}"))
    return found
