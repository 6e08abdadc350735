"""The package of an EPUB: its title, the order of its documents, and their titles in the table of contents."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from glossator.core.errors import SourceError
from glossator.ingest.formats.epub.archive import EpubArchive, resolve
from glossator.ingest.formats.epub.xml import parse_xml, text_of

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_DOCUMENT_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document"})


@dataclass(frozen=True, slots=True)
class EpubEntry:
    """The title of a document in the table of contents, and the titles above it."""

    title: str
    chapters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EpubPackage:
    """The documents of a book in reading order, their entries in the table of contents, and the encrypted files.

    `folder` is the one of the package document, from which the manifest names the files; `outside` are documents that
    it names outside the archive.
    """

    title: str
    documents: tuple[str, ...]
    contents: Mapping[str, EpubEntry]
    encrypted: frozenset[str]
    folder: str
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    type: str
    properties: tuple[str, ...]
    reference: str

    @property
    def is_document(self) -> bool:
        return self.type in _DOCUMENT_TYPES and "nav" not in self.properties


def read_package(archive: EpubArchive) -> EpubPackage:
    """The package that the container names."""
    container = parse_xml(archive.read(_CONTAINER), _CONTAINER)
    root_file = next((e.get("full-path", "") for e in container.iter("rootfile")), "")
    if not root_file:
        raise SourceError("the EPUB has no package document.", "Check that it is not damaged.")
    package = parse_xml(archive.read(root_file), root_file)
    items = _items(package, root_file)
    spine = [items[ref] for e in package.iter("itemref") if (ref := e.get("idref", "")) in items]
    documents = tuple(dict.fromkeys(item.name for item in spine if item.name and item.is_document))
    outside = tuple(dict.fromkeys(item.reference for item in spine if not item.name and item.is_document))
    if not documents:
        raise SourceError("the EPUB has no documents in its spine.", "Check that it is not damaged.")
    title = text_of(next(package.iter("title"), None))
    folder = posixpath.dirname(root_file)
    return EpubPackage(title, documents, _contents(archive, package, items), _encrypted(archive), folder, outside)


def _items(package: Element, root_file: str) -> dict[str, _Item]:
    """The files of the manifest, by their ids; one outside the archive has no name."""
    found = {}
    for element in package.iter("item"):
        reference = element.get("href", "")
        name, _ = resolve(root_file, reference)
        properties = tuple(element.get("properties", "").split())
        found[element.get("id", "")] = _Item(name, element.get("media-type", ""), properties, reference)
    return found


def _encrypted(archive: EpubArchive) -> frozenset[str]:
    """The files that only the shop's own application can open."""
    if not archive.has(_ENCRYPTION):
        return frozenset()
    root = parse_xml(archive.read(_ENCRYPTION), _ENCRYPTION)
    return frozenset(resolve("", e.get("URI", ""))[0] for e in root.iter("CipherReference"))


def _contents(archive: EpubArchive, package: Element, items: Mapping[str, _Item]) -> dict[str, EpubEntry]:
    """The first entry of each document: from the navigation document, otherwise from the older NCX."""
    navigation = next((item.name for item in items.values() if "nav" in item.properties), "")
    spine = next(package.iter("spine"), None)
    ncx = items.get(spine.get("toc", "") if spine is not None else "")
    for name, read in ((navigation, _navigation_entries), (ncx.name if ncx else "", _ncx_entries)):
        try:
            found: dict[str, EpubEntry] = {}
            for target, entry in read(parse_xml(archive.read(name), name)) if name else ():
                found.setdefault(resolve(name, target)[0], entry)
        except SourceError:
            continue  # the book can be read without its table of contents
        if found:
            return found
    return {}


def _navigation_entries(root: Element) -> Iterator[tuple[str, EpubEntry]]:
    lists = [nav.find("ol") for nav in root.iter("nav") if nav.get("type", "toc") == "toc"]
    for top in lists:
        if top is not None:
            yield from _list_entries(top, ())


def _list_entries(entries: Element, chapters: tuple[str, ...]) -> Iterator[tuple[str, EpubEntry]]:
    for item in entries.findall("li"):
        link = next((item.find(tag) for tag in ("a", "span") if item.find(tag) is not None), None)
        title = text_of(link)
        if link is not None and link.get("href"):
            yield link.get("href", ""), EpubEntry(title, chapters)
        below = item.find("ol")
        if below is not None:
            yield from _list_entries(below, (*chapters, title) if title else chapters)


def _ncx_entries(root: Element) -> Iterator[tuple[str, EpubEntry]]:
    for map_element in root.iter("navMap"):
        yield from _nav_points(map_element, ())


def _nav_points(parent: Element, chapters: tuple[str, ...]) -> Iterator[tuple[str, EpubEntry]]:
    for point in parent.findall("navPoint"):
        title = text_of(point.find("navLabel"))
        content = point.find("content")
        if content is not None:
            yield content.get("src", ""), EpubEntry(title, chapters)
        yield from _nav_points(point, (*chapters, title) if title else chapters)
