"""The sections of the book: found by URL or by title, each with its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from glossator.core.errors import BadInput
from glossator.core.ports import DocumentStore
from glossator.core.text.links import deep_link
from glossator.core.types import Block, BlockKind, ContentsEntry, Document

_TEXT_DIRECTIVE = re.compile(r"text=(?:([^,&]*)-,)?([^,&]+)")


@dataclass(frozen=True, slots=True)
class PageSection:
    """A span of a page below one heading; consecutive headings without text between them share a section."""

    headings: tuple[Block, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SectionedPage:
    """A document and its sections in reading order; sections are numbered from 0."""

    document: Document
    sections: tuple[PageSection, ...]

    def text(self, number: int) -> str:
        section = self.sections[number]
        return self.document.text[section.start : section.end].strip()

    def heading(self, number: int) -> str:
        """The innermost heading, or the title of the page if there is none."""
        headings = self.sections[number].headings
        return self._heading_text(headings[-1]) if headings else self.document.title

    def url(self, number: int) -> str:
        """A link to a section: by its anchor, or by a text fragment if it has no anchor of its own."""
        document, section = self.document, self.sections[number]
        heading = section.headings[-1] if section.headings else Block(BlockKind.HEADING, section.start, section.start)
        spans = ((0, 0), (heading.start, heading.end), (section.start, section.end))
        links = [deep_link(document.url, heading.anchor, document.text, *span) for span in spans]
        return next((link for link in links if self.find_fragment(link.partition("#")[2]) == number), document.url)

    def find_fragment(self, fragment: str) -> int | None:
        """The section that a URL fragment points to; a text directive is more precise than an anchor."""
        anchor, _, directive = fragment.partition(":~:")
        offset = _find_directive(self.document.text, directive)
        if offset is not None:
            return next(n for n, section in enumerate(self.sections) if offset < section.end)
        if not anchor:
            return 0
        names = (anchor, unquote(anchor))
        return next((n for n, s in enumerate(self.sections) if any(h.anchor in names for h in s.headings)), None)

    def find_heading(self, name: str) -> int | None:
        """The section with a heading; the title of the page means its first section."""
        wanted = _normalize(name)
        for number, section in enumerate(self.sections):
            if any(_normalize(self._heading_text(heading)) == wanted for heading in section.headings):
                return number
        return 0 if wanted == _normalize(self.document.title) else None

    def _heading_text(self, heading: Block) -> str:
        return self.document.text[heading.start : heading.end]


@dataclass(frozen=True, slots=True)
class SectionLocation:
    """A section of the book: the position of its page in the table of contents, and its number on the page."""

    entry: int
    page: SectionedPage
    number: int


def split_sections(document: Document) -> tuple[PageSection, ...]:
    """The sections of a page; together they cover all of its text."""
    sections: list[PageSection] = []
    headings: list[Block] = []
    start, has_text = 0, False
    for block in document.blocks:
        if block.kind is not BlockKind.HEADING:
            has_text = True
            continue
        if has_text:
            sections.append(PageSection(tuple(headings), start, block.start))
            headings, start, has_text = [], block.start, False
        headings.append(block)
    if has_text or headings:
        sections.append(PageSection(tuple(headings), start, len(document.text)))
    return tuple(sections)


def load_pages(documents: DocumentStore, entries: Sequence[ContentsEntry]) -> Iterator[SectionedPage]:
    """The pages of the given entries, without empty ones."""
    for entry in entries:
        document = documents.get(entry.document_id)
        sections = split_sections(document) if document else ()
        if document and sections:
            yield SectionedPage(document, sections)


def find_by_url(documents: DocumentStore, contents: Sequence[ContentsEntry], url: str) -> SectionLocation:
    """The section that a URL points to."""
    address, _, fragment = url.strip().partition("#")
    exact = [n for n, entry in enumerate(contents) if entry.url == address]
    similar = [n for n, entry in enumerate(contents) if _normalize_url(entry.url) == _normalize_url(address)]
    for position in (*exact, *similar):
        for page in load_pages(documents, contents[position : position + 1]):
            number = page.find_fragment(fragment)
            if number is None:
                raise BadInput(
                    "The page at this URL has no such section.",
                    "Omit the # and what follows it to read the beginning, or use a URL from search_book.",
                )
            return SectionLocation(position, page, number)
    raise BadInput("The book has no page at this URL.", "Use a URL from search_book or ask_book.")


def find_by_title(
    documents: DocumentStore, contents: Sequence[ContentsEntry], title: str | None, section: str | None
) -> SectionLocation:
    """The section with a heading on the page with a title."""
    if not title:
        raise BadInput("Neither url nor title is given.", "Pass a url, or a title with a section.")
    matches = [n for n, entry in enumerate(contents) if _normalize(entry.title) == _normalize(title)]
    for position in matches:
        for page in load_pages(documents, contents[position : position + 1]):
            number = page.find_heading(section) if section else 0
            if number is not None:
                return SectionLocation(position, page, number)
    missing = "No page with this title has such a section." if matches else "The book has no page with this title."
    raise BadInput(missing, "Find it with search_book, and pass its url.")


def previous_url(documents: DocumentStore, contents: Sequence[ContentsEntry], at: SectionLocation) -> str | None:
    """The section before a section; None at the beginning of the book."""
    if at.number > 0:
        return at.page.url(at.number - 1)
    page = next(load_pages(documents, contents[: at.entry][::-1]), None)
    return page.url(len(page.sections) - 1) if page else None


def next_url(documents: DocumentStore, contents: Sequence[ContentsEntry], at: SectionLocation) -> str | None:
    """The section after a section; None at the end of the book."""
    if at.number + 1 < len(at.page.sections):
        return at.page.url(at.number + 1)
    page = next(load_pages(documents, contents[at.entry + 1 :]), None)
    return page.url(0) if page else None


def _find_directive(text: str, directive: str) -> int | None:
    """The offset of the text that a text directive quotes, if it occurs."""
    match = _TEXT_DIRECTIVE.match(directive)
    if not match:
        return None
    prefix, quote = unquote(match[1] or ""), unquote(match[2])
    if not prefix:
        offset = text.find(quote)
        return offset if offset >= 0 else None
    occurrence = re.search(rf"{re.escape(prefix)}\s*({re.escape(quote)})", text)
    return occurrence.start(1) if occurrence else None


def _normalize_url(url: str) -> str:
    return unquote(url).rstrip("/")


def _normalize(name: str) -> str:
    return " ".join(name.split()).casefold()
