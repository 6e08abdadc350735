"""Sitemaps: the pages that a site lists, also through sitemap indexes, compressed or not."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from xml.parsers import expat

from glossator.core.errors import FetchRefused
from glossator.core.types import SkippedFile
from glossator.ingest.fetch.client import Fetcher
from glossator.ingest.fetch.urls import joined, without_url

MAX_SITEMAP_BYTES = 50_000_000
"""As sitemaps.org says."""
MAX_SITEMAPS, MAX_LOCATIONS, MAX_NESTING = 500, 200_000, 20
_GZIP = b"\x1f\x8b"


class _Locations:
    """Collects the addresses in a sitemap; entities are an error, as no sitemap needs to define any."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.sitemaps: list[str] = []
        self._path: list[str] = []
        self._text: list[str] = []

    def parse(self, data: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.EntityDeclHandler = _refuse_entity
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, ValueError, LookupError):
            raise FetchRefused("it is not a sitemap, or its XML is broken.") from None

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        if len(self._path) > MAX_NESTING:
            raise FetchRefused("it is nested too deeply.")
        self._path.append(name.rpartition(" ")[2])
        self._text.clear()

    def _end(self, _name: str) -> None:
        match self._path[-2:]:
            case ["url", "loc"] if len(self.pages) < MAX_LOCATIONS:
                self.pages.append("".join(self._text).strip())
            case ["sitemap", "loc"] if len(self.sitemaps) < MAX_SITEMAPS:
                self.sitemaps.append("".join(self._text).strip())
        self._path.pop()


def _refuse_entity(*_declaration: object) -> None:
    raise FetchRefused("it defines XML entities, which are not allowed.")


def listed_pages(
    fetcher: Fetcher,
    declared: Sequence[str],
    guesses: Iterable[str],
    is_page: Callable[[str], bool],
    skipped: list[SkippedFile],
) -> tuple[list[str], str]:
    """The pages that the declared sitemaps list, and the first address; else those of the first guess that has any."""
    if declared:
        return [page for page in _pages(fetcher, declared, skipped) if is_page(page)], declared[0]
    for guess in guesses:
        pages = [page for page in _pages(fetcher, [guess], []) if is_page(page)]
        if pages:
            return pages, guess
    return [], ""


def _pages(fetcher: Fetcher, addresses: Sequence[str], skipped: list[SkippedFile]) -> Iterator[str]:
    """The pages in some sitemaps and in those that they refer to; a sitemap that cannot be read is skipped."""
    waiting, seen = list(addresses), set(addresses)
    while waiting and len(seen) <= MAX_SITEMAPS:
        address = waiting.pop(0)
        found = _Locations()
        try:
            found.parse(_content(fetcher, address))
        except FetchRefused as error:
            skipped.append(SkippedFile(address, without_url(error.message, address)))
        yield from (page for each in found.pages if (page := joined(address, each)))
        more = [url for each in found.sitemaps if (url := joined(address, each)) and url not in seen]
        waiting += dict.fromkeys(more)
        seen |= set(more)


def _content(fetcher: Fetcher, address: str) -> bytes:
    response = fetcher.get(address, max_bytes=MAX_SITEMAP_BYTES)
    if not response.is_success:
        raise FetchRefused(f"it returned status {response.status}.")
    if not response.body.startswith(_GZIP):
        return response.body
    unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        data = unzip.decompress(response.body, MAX_SITEMAP_BYTES)
    except zlib.error:
        raise FetchRefused("it is not valid gzip.") from None
    if unzip.unconsumed_tail:
        raise FetchRefused(f"it is larger than {MAX_SITEMAP_BYTES / 1e6:.0f} MB.")
    return data
