"""Reads a source: finds its pages, turns each into a document, and gives a reason for every skipped file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from glossator.core.book.addresses import BOOK_PATH, validate_base_url
from glossator.core.book.sources import FetchCounts, Layout, clean_name
from glossator.core.book.versions import BookVersion
from glossator.core.errors import BadInput, SourceError
from glossator.core.text.markup import IMAGE, sanitize
from glossator.core.types import Document, PageNote, SkippedFile
from glossator.ingest.files import well_formed
from glossator.ingest.filters import ALL_FILES, FileFilter
from glossator.ingest.formats.html import ExtractedPage
from glossator.ingest.hashes import content_hash
from glossator.ingest.layouts import find_layout, plain
from glossator.ingest.layouts.page import READABLE_SUFFIXES, SiteLayout, SourcePage, pages_of_file
from glossator.ingest.parsing.files import FileParser
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.references import SourceImages, SourceReferences
from glossator.ingest.versions import with_versions

READER_VERSION = 12
"""Part of the content hash; increased when the same file would give different text, so that it is indexed again."""

_FRONT_PAGES = frozenset(
    """
    index.md readme.md index.mdx readme.mdx index.html index.rst readme.rst index.adoc readme.adoc index.ipynb
    """.split()
)


@dataclass(frozen=True, slots=True)
class SourceContents:
    """The documents of a source in reading order, and the files that were skipped.

    `base_url` is empty if the pages are published nowhere else: then the server shows them below `BOOK_PATH`.
    """

    layout: str
    documents: tuple[Document, ...]
    skipped: tuple[SkippedFile, ...]
    name: str = ""
    base_url: str = ""
    reason: str = field(default="", compare=False)
    """Why this layout was taken; the same book may be found in two ways."""
    images: dict[str, Path] = field(default_factory=dict)
    """The files of the images that the documents show, by name."""
    notes: tuple[PageNote, ...] = ()
    fetches: FetchCounts = field(default_factory=FetchCounts, compare=False)
    versions: tuple[BookVersion, ...] = ()
    """The current one first."""


def read_source(
    source: str,
    base_url: str | None,
    max_bytes: int,
    layout: Layout = Layout.AUTO,
    snippets: str | None = None,
    files: FileFilter = ALL_FILES,
    versions: Sequence[str] = (),
) -> SourceContents:
    """Read every page of a folder, or one file; without a base URL, citations lead to the one of its configuration.

    `snippets` is a folder outside the source whose files its pages may include; `files` decides which are pages;
    `versions` names versions of the book, the current one first.
    """
    path = existing_path(source)
    site = plain.file_layout(path) if path.is_file() else find_layout(path, layout)
    pages = tuple(page for page in site.pages if files.selects(page.path, path))
    site = with_versions(replace(site, snippets=_included_folder(snippets), pages=pages), versions)
    noted = [*site.skipped, *site.unused]
    base = _site_url(site, noted) if base_url is None else base_url and validate_base_url(base_url)
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    notes: list[PageNote] = []
    references = SourceReferences(site, base, SourceImages(site.root))
    with FileParser(_context(site, max_bytes)) as parser:
        reader = _Reader(references, parser, notes)
        parser.start(page.path for page in site.pages)
        for page in site.pages:
            try:
                documents += reader.documents(page)
            except SourceError as error:
                skipped.append(SkippedFile(well_formed(str(page.path)), str(error)))
    if not documents:
        raise SourceError(*_no_documents_message(source, [*skipped, *site.unused], site.skipped))
    distinct = tuple(_with_distinct_urls(documents, skipped))
    name = _name(site, distinct, path, reader.file_title)
    contents = SourceContents(site.name, distinct, (*noted, *skipped), name, base, site.reason, references.images.files)
    return replace(contents, notes=tuple(notes), versions=site.versions)


def _context(site: SiteLayout, max_bytes: int) -> ParseContext:
    return ParseContext(
        str(site.root.absolute()),
        site.name,
        max_bytes,
        site.references,
        site.attributes,
        tuple(sorted(site.extensions)),
        site.mdx,
        str(site.snippets.absolute()) if site.snippets else None,
    )


def _site_url(site: SiteLayout, noted: list[SkippedFile]) -> str:
    """The URL in the site's configuration, if it is one."""
    if not site.base_url:
        return ""
    try:
        return validate_base_url(site.base_url)
    except BadInput as error:
        noted.append(SkippedFile("The URL in the site's configuration", str(error)))
        return ""


def _name(site: SiteLayout, documents: tuple[Document, ...], path: Path, file_title: str) -> str:
    """The title of the site; without one, that of its front page; otherwise the name of the folder."""
    front = file_title if len(site.pages) == 1 else ""
    front = front or next(
        (d.title for d in documents if d.document_id.lower() in _FRONT_PAGES or len(site.pages) == 1), ""
    )
    return clean_name(site.title) or clean_name(front) or clean_name(well_formed(path.resolve().name)) or site.name


def moved_to(document: Document, url: str) -> Document:
    """The document at another URL, which is part of its content hash."""
    moved = replace(document, url=url)
    return replace(moved, content_hash=_content_hash(moved))


def existing_path(source: str) -> Path:
    """The path of a folder or file; a SourceError if there is none."""
    path = Path(source)
    try:
        if path.is_dir() or path.is_file():
            return path
    except (OSError, ValueError):
        pass
    raise SourceError(f"{source} does not exist.", "Pass a folder or file that exists.")


def _included_folder(name: str | None) -> Path | None:
    folder = Path(name) if name else None
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112 - false also for a name that is too long
        raise SourceError(f"{name} is not a folder.", "Pass the folder of the included files with --snippets.")
    return folder


def _no_documents_message(source: str, skipped: Sequence[SkippedFile], links: Sequence[SkippedFile]) -> tuple[str, str]:
    if skipped:
        files = sum(skip.files for skip in skipped)
        return f"{skipped[0].path}: {skipped[0].reason}", f"({files:,} files were skipped.)" if files > 1 else ""
    suffixes = " ".join(sorted(READABLE_SUFFIXES))
    first = f" {links[0].path}: {links[0].reason}" if links else ""
    return f"{source} contains no readable files.{first}", f"Pass a folder or file of one of these types: {suffixes}."


def _with_distinct_urls(documents: list[Document], skipped: list[SkippedFile]) -> Iterator[Document]:
    """Documents with distinct URLs; if two pages have the same one, the second is skipped."""
    seen: dict[str, str] = {}
    for document in documents:
        if document.url in seen:
            skipped.append(SkippedFile(document.document_id, f"the page has the same URL as {seen[document.url]}."))
        else:
            seen[document.url] = document.document_id
            yield document


@dataclass(slots=True)
class _Reader:
    """Reads the pages of one source; `file_title` is the title of the last file that has several pages or its own."""

    references: SourceReferences
    parser: FileParser
    notes: list[PageNote]
    file_title: str = ""

    def documents(self, page: SourcePage) -> list[Document]:
        """The documents of a file: one, unless it is an archive of pages."""
        if well_formed(str(page.path)) != str(page.path):
            raise SourceError("the file name is not UTF-8.", "Rename the file.")
        file = self.parser.result(page.path)
        self.file_title = file.title
        self.notes += [PageNote(page.document_id, note) for note in file.notes]
        pages = pages_of_file(page, file, is_alone=len(self.references.layout.pages) == 1)
        references = self.references
        if len(pages) > 1:
            references = replace(references, layout=replace(references.layout, pages=tuple(pages)))
        return [self._document(p, parsed.page, references) for p, parsed in zip(pages, file.pages, strict=True)]

    def _document(self, page: SourcePage, extracted: ExtractedPage, references: SourceReferences) -> Document:
        if not extracted.text.strip():
            raise SourceError("the page has no text.")
        self.notes += [PageNote(page.document_id, note) for note in extracted.notes]
        title = page.title or extracted.title or page.fallback_title or page.path.stem
        base = f"{references.base_url}/" if references.base_url else BOOK_PATH
        html = sanitize(extracted.markup, references.of_page(page))
        document = Document(
            document_id=page.document_id,
            url=base + _route(page),
            title=title,
            chapters=(*page.chapters, title),
            text=extracted.text,
            blocks=extracted.blocks,
            content_hash="",
            html=html,
            images=tuple(dict.fromkeys(IMAGE.findall(html))),
        )
        return replace(document, content_hash=_content_hash(document))


def _content_hash(document: Document) -> str:
    others = (str(READER_VERSION), *document.chapters, repr(document.blocks), document.html)
    return content_hash(document.text, document.url, others)


def _route(page: SourcePage) -> str:
    """The path of a page below the address of its book, which it cannot leave."""
    segments = [segment for segment in page.route.lstrip("/").split("/") if segment not in (".", "..")]
    return quote("/".join(segments), safe="/-._~")
