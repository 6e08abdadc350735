"""The sections of the book: found by a link or by name, each with its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from glossator.core.errors import BadInput
from glossator.core.text.links import deep_link
from glossator.core.types import Block, BlockKind, Document
from glossator.store.index.documents import DocumentShelf, Entry

_TEXT = re.compile(r"text=(?:([^,&]*)-,)?([^,&]+)")


def edge(shelf: DocumentShelf, entries: Sequence[Entry], which: int) -> str | None:
    """The first or last section of the nearest page that has any."""
    for page in pages(shelf, entries):
        return page.url_of(range(len(page.sections))[which])
    return None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, up to the next; headings with nothing between them are one section's."""

    headings: tuple[Block, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """A document and its sections, in reading order; a section is known by its number from 0."""

    document: Document
    sections: tuple[Section, ...]

    def text_of(self, number: int) -> str:
        section = self.sections[number]
        return self.document.text[section.start : section.end].strip()

    def name_of(self, number: int) -> str:
        """The nearest heading, or the title where there is none."""
        headings = self.sections[number].headings
        return self._words(headings[-1]) if headings else self.document.title

    def url_of(self, number: int) -> str:
        """A link to a section: by its anchor, or by its words where it has none of its own."""
        document, section = self.document, self.sections[number]
        heading = section.headings[-1] if section.headings else Block(BlockKind.HEADING, section.start, section.start)
        spans = ((0, 0), (heading.start, heading.end), (section.start, section.end))
        links = [deep_link(document.url, heading.anchor, document.text, *span) for span in spans]
        return next((link for link in links if self.at(link.partition("#")[2]) == number), document.url)

    def at(self, fragment: str) -> int | None:
        """The section that the part of a url after its # names: its words tell more than its anchor."""
        anchor, _, directive = fragment.partition(":~:")
        place = _place(self.document.text, directive)
        if place is not None:
            return next(n for n, section in enumerate(self.sections) if place < section.end)
        if not anchor:
            return 0
        names = (anchor, unquote(anchor))
        return next((n for n, s in enumerate(self.sections) if any(h.anchor in names for h in s.headings)), None)

    def called(self, name: str) -> int | None:
        """The section under a heading; the page's own title names its beginning."""
        wanted = _folded(name)
        for number, section in enumerate(self.sections):
            if any(_folded(self._words(heading)) == wanted for heading in section.headings):
                return number
        return 0 if wanted == _folded(self.document.title) else None

    def _words(self, heading: Block) -> str:
        return self.document.text[heading.start : heading.end]


def sections_of(document: Document) -> tuple[Section, ...]:
    """The sections of a page; every character of its text stands in one of them."""
    sections: list[Section] = []
    headings: list[Block] = []
    start, filled = 0, False
    for block in document.blocks:
        if block.kind is not BlockKind.HEADING:
            filled = True
            continue
        if filled:
            sections.append(Section(tuple(headings), start, block.start))
            headings, start, filled = [], block.start, False
        headings.append(block)
    if filled or headings:
        sections.append(Section(tuple(headings), start, len(document.text)))
    return tuple(sections)


def pages(shelf: DocumentShelf, entries: Sequence[Entry]) -> Iterator[Page]:
    """The pages of some entries that have any text."""
    for entry in entries:
        document = shelf.get(entry.document_id)
        sections = sections_of(document) if document else ()
        if document and sections:
            yield Page(document, sections)


def at_url(shelf: DocumentShelf, contents: Sequence[Entry], url: str) -> tuple[int, Page, int]:
    address, _, fragment = url.strip().partition("#")
    exact = [n for n, entry in enumerate(contents) if entry.url == address]
    alike = [n for n, entry in enumerate(contents) if _bare(entry.url) == _bare(address)]
    for at in (*exact, *alike):
        for page in pages(shelf, contents[at : at + 1]):
            number = page.at(fragment)
            if number is None:
                raise BadInput(
                    "The page at this url has no such section.",
                    "Leave off what follows the # to read its beginning, or use a url that search_book gave.",
                )
            return at, page, number
    raise BadInput("The book has no page at this url.", "Use a url that search_book or ask_book gave.")


def at_title(
    shelf: DocumentShelf, contents: Sequence[Entry], title: str | None, section: str | None
) -> tuple[int, Page, int]:
    if not title:
        raise BadInput("Neither a url nor a title is given.", "Give a url, or a title with a section.")
    titled = [n for n, entry in enumerate(contents) if _folded(entry.title) == _folded(title)]
    for at in titled:
        for page in pages(shelf, contents[at : at + 1]):
            number = page.called(section) if section else 0
            if number is not None:
                return at, page, number
    missing = "No page of this title has such a section." if titled else "The book has no page of this title."
    raise BadInput(missing, "Find it with search_book, and give the url.")


def _place(text: str, directive: str) -> int | None:
    """Where the words of a text fragment stand, if they do."""
    named = _TEXT.match(directive)
    if not named:
        return None
    before, words = unquote(named[1] or ""), unquote(named[2])
    if not before:
        found = text.find(words)
        return found if found >= 0 else None
    match = re.search(rf"{re.escape(before)}\s*({re.escape(words)})", text)
    return match.start(1) if match else None


def _bare(address: str) -> str:
    return unquote(address).rstrip("/")


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
