"""Pages and layouts, which all site generators produce, and the search for readable files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from glossator.core.book.versions import BookVersion
from glossator.core.errors import SourceError
from glossator.core.types import SkippedFile
from glossator.ingest.files import is_inside, peek, well_formed
from glossator.ingest.parsing.values import ParsedFile

MARKDOWN_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
TEXT_SUFFIXES = frozenset({".txt", ".text"})
RST_SUFFIXES = frozenset({".rst"})
ASCIIDOC_SUFFIXES = frozenset({".adoc", ".asciidoc"})
NOTEBOOK_SUFFIXES = frozenset({".ipynb"})
BOOK_SUFFIXES = frozenset({".epub", ".pdf"})
READABLE_SUFFIXES = (
    MARKDOWN_SUFFIXES
    | HTML_SUFFIXES
    | TEXT_SUFFIXES
    | RST_SUFFIXES
    | ASCIIDOC_SUFFIXES
    | NOTEBOOK_SUFFIXES
    | BOOK_SUFFIXES
)
EXCLUDED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "target", "_static", "_sources", "_images"})
LINK_NOT_FOLLOWED = "the link is broken, or points outside the folder."


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
    """The pages of a folder as its site generator defines them; pages may include files below `root` and `snippets`.

    `reason` says why this layout was taken, `title` is that of the site, `mdx` tells whether files named .md are MDX,
    and `extensions` are the Markdown extensions and plugins of the site. `references` has the title and the target of
    every name by which its pages refer to each other, `attributes` the values that its configuration defines. `docs` is
    the folder of the pages; for the readable files in it that are no pages, `left_out` says why; `unused` reports all
    that are no pages, by kind. `versions` are those that the generator makes, the current one first.
    """

    name: str
    reason: str
    pages: tuple[SourcePage, ...]
    root: Path
    title: str = ""
    base_url: str = ""
    mdx: bool = False
    extensions: frozenset[str] = frozenset()
    skipped: tuple[SkippedFile, ...] = ()
    snippets: Path | None = None
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    docs: Path | None = None
    left_out: Mapping[Path, str] = field(default_factory=dict)
    unused: tuple[SkippedFile, ...] = ()
    versions: tuple[BookVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The readable files of a folder, sorted, and the links that were not followed."""

    files: tuple[Path, ...]
    skipped: tuple[SkippedFile, ...]


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """The configuration file of a site generator, in the folder that was named or one level up."""

    path: Path
    named: Path

    @property
    def site(self) -> Path:
        return self.path.parent

    @property
    def reason(self) -> str:
        return f"{self.path.name} is {'in the folder' if self.site == self.named else 'one level up'}"

    def docs_folder(self, value: str) -> Path | None:
        """The folder that the configuration names for its pages; None if it is missing, or not the named one.

        A configuration is as untrusted as the pages: it makes nothing outside the named folder readable.
        """
        docs = self.site / value
        if not os.path.isdir(docs):  # noqa: PTH112 - false also for a name that is too long
            return None
        if self.site != self.named:
            return self.named if docs.resolve() == self.named.resolve() else None
        if not is_inside(docs, self.named):
            raise SourceError(
                f"{self.path.name} takes its pages from {value!r}, which is outside the given folder.",
                "Pass a folder that contains both, or use --layout plain.",
            )
        return docs


def not_markdown(generator: str) -> str:
    """Why a readable file that is not Markdown is not a page."""
    return f"{generator} builds pages only from Markdown; --layout plain also reads other files."


def listed_versions(root: Path) -> list[Any]:
    """What `versions.json` of a site lists; nothing if there is no such file, or it is not a list."""
    file = root / "versions.json"
    if not (file.is_file() and is_inside(file, root)):
        return []
    try:
        listed = json.loads(peek(file))
    except (SourceError, ValueError, RecursionError):
        return []
    return listed if isinstance(listed, list) else []


class SiteGenerator(Protocol):
    """A module that reads the sites of one generator."""

    CONFIG_FILES: tuple[str, ...]

    def from_config(self, config: SiteConfig) -> SiteLayout | None:
        """The layout that a configuration gives; None if it has no pages in the named folder."""

    def from_files(self, root: Path, *, chosen: bool) -> SiteLayout | None:
        """The layout without a configuration, if the user has chosen this generator or its files are recognized."""


def find_configs(root: Path, names: Sequence[str]) -> Iterator[SiteConfig]:
    """The configuration files in a folder, then those one level up, without links that lead elsewhere."""
    for site in (root, root.resolve().parent):
        for name in names:
            if (site / name).is_file() and is_inside(site / name, site):
                yield SiteConfig(site / name, root)


def skipped_configs(root: Path, names: Sequence[str]) -> Iterator[SkippedFile]:
    """The configuration files in a folder that are skipped: links that are broken or lead elsewhere."""
    for path in (root / name for name in names):
        if path.is_symlink() and not (path.is_file() and is_inside(path, root)):
            yield _skipped_link(path, LINK_NOT_FOLLOWED)


def find_files(root: Path) -> FoundFiles:
    """The readable files below a folder; hidden files are ignored, and links that leave the folder are skipped."""
    files: list[Path] = []
    skipped: list[SkippedFile] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in EXCLUDED_FOLDERS)
        links = (Path(folder, name) for name in folders if Path(folder, name).is_symlink())
        skipped += [_skipped_link(link, "links to folders are not followed.") for link in links]
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in READABLE_SUFFIXES:
                continue
            if not path.is_symlink() or (is_inside(path, root) and path.is_file()):
                files.append(path)
            else:
                skipped.append(_skipped_link(path, LINK_NOT_FOLLOWED))
    return FoundFiles(tuple(files), tuple(skipped))


def report_left_out(layout: SiteLayout, named: Path) -> SiteLayout:
    """The layout with the readable files of the given folder that are not pages, one for each kind and reason."""
    pages = {page.path.resolve() for page in layout.pages}
    known = {path.resolve(): reason for path, reason in layout.left_out.items()}
    docs = (layout.docs or named).resolve()
    kinds: dict[tuple[str, str], list[Path]] = {}
    for path in find_files(named).files:
        real = path.resolve()
        outside = "" if real.is_relative_to(docs) else f"it is outside {docs.name}, the folder of the site's pages."
        if real not in pages and (reason := known.get(real, outside)):
            kinds.setdefault((reason, path.suffix.lower()), []).append(path)
    unused = [_skipped_kind(paths, reason, suffix) for (reason, suffix), paths in kinds.items()]
    return replace(layout, unused=tuple(unused))


def _skipped_kind(paths: Sequence[Path], reason: str, suffix: str) -> SkippedFile:
    more = len(paths) - 1
    others = f" The same applies to {more:,} more {suffix} file{'' if more == 1 else 's'}." if more else ""
    return SkippedFile(well_formed(str(paths[0])), reason + others, len(paths))


def _skipped_link(path: Path, reason: str) -> SkippedFile:
    return SkippedFile(well_formed(str(path)), reason)


def relative_id(path: Path, root: Path) -> str:
    """A document's id: its path relative to the root, with forward slashes."""
    return path.relative_to(root).as_posix()


def pages_of_file(page: SourcePage, file: ParsedFile, *, is_alone: bool) -> list[SourcePage]:
    """The pages of a file; those of an archive are below its address, or below the book's if it is the only file."""
    if all(not parsed.name for parsed in file.pages):
        return [replace(page, fallback_title=page.fallback_title or file.title)]
    folder = "" if is_alone else f"{page.route}/"
    chapters = () if is_alone else (*page.chapters, file.title or page.path.stem)
    return [
        SourcePage(
            page.path / parsed.name,
            f"{page.document_id}/{parsed.name}",
            folder + parsed.name,
            (*chapters, *parsed.chapters),
            order=page.order,
        )
        for parsed in file.pages
    ]
