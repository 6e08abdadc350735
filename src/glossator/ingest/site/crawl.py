"""Finds and fetches the pages of a site: those of its sitemap, or those that its pages link to, breadth first."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from glossator.core.errors import FetchRefused, SourceError, SourceUnreachable
from glossator.core.ports import Progress
from glossator.core.types import PageNote, SkippedFile
from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import MAX_CONCURRENT_REQUESTS, Fetcher, Response
from glossator.ingest.fetch.robots import Robots, read_robots
from glossator.ingest.fetch.urls import without_url
from glossator.ingest.filters import FileFilter
from glossator.ingest.parsing.pool import ParserPool
from glossator.ingest.site.content import HTML_TYPES, SitePage, read_page
from glossator.ingest.site.scope import SiteScope
from glossator.ingest.site.sitemap import listed_pages

MAX_DEPTH = 30
MAX_FAILURES = 5
"""Pages in a row that cannot be reached: then the site is taken for unreachable."""
_BATCH_PAGES = 32
"""Pages that are fetched ahead of being read: more would only fill the memory."""
_LISTED_SHARE = 0.5
"""A sitemap that lists less of what the first page links to is not one of all pages."""


@dataclass(slots=True)
class Crawl:
    """One pass over a site: its pages in order, and all that was skipped."""

    fetcher: Fetcher
    cache: PageCache
    robots: Robots
    scope: SiteScope
    max_pages: int
    filter: FileFilter
    progress: Progress
    parser: ParserPool[SitePage]
    pages: dict[str, SitePage] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    notes: list[PageNote] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)
    planned: int = 1
    """Pages to fetch so far, with the first one."""
    fetched: int = 0
    unchanged: int = 0
    failures: int = 0
    is_full: bool = False

    def skip(self, url: str, reason: str) -> None:
        self.skipped.append(SkippedFile(url, without_url(reason, url)))

    def add_all(self, urls: Iterable[str]) -> list[SitePage]:
        """Fetch pages, a few at once; what they are is decided in order."""
        wanted = [url for url in dict.fromkeys(map(self.scope.in_scheme, urls)) if self._is_wanted(url)]
        room = self.max_pages - self.planned
        if len(wanted) > room and not self.is_full:
            self.is_full = True
            self.skip(self.scope.prefix, f"it has more than {self.max_pages} pages. Raise GLOSSATOR_MAX_PAGES.")
        wanted = wanted[: max(0, room)]
        self.requested |= set(wanted)
        self.planned += len(wanted)
        found: list[SitePage] = []
        pool = ThreadPoolExecutor(1 if self.robots.delay_seconds else MAX_CONCURRENT_REQUESTS)
        try:
            for start in range(0, len(wanted), _BATCH_PAGES):
                batch = wanted[start : start + _BATCH_PAGES]
                results = zip(batch, pool.map(self._fetch, batch), strict=True)
                for done, (url, result) in enumerate(results, start=start + 1):
                    found += self._accepted(url, result)
                    self.progress("fetch", self.planned - len(wanted) + done, self.planned)
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def _is_wanted(self, url: str) -> bool:
        if url in self.requested or not self.scope.may_be_page(url):
            return False
        if not self.filter.selects_name(self.scope.route(url)):
            return False
        if not self.robots.may_fetch(url):
            self.requested.add(url)
            self.skip(url, "robots.txt disallows it.")
            return False
        return True

    def _fetch(self, url: str) -> Response | FetchRefused | SourceUnreachable:
        try:
            self.robots.wait(self.fetcher)
            return self.fetcher.get(url, self._check_redirect)
        except (FetchRefused, SourceUnreachable) as error:
            return error

    def _check_redirect(self, url: str) -> None:
        if not self.scope.contains(url):
            raise FetchRefused(f"it redirects to {url}, which is not part of the site.")
        if not self.robots.may_fetch(url):
            raise FetchRefused(f"it redirects to {url}, which robots.txt disallows.")

    def _accepted(self, url: str, result: Response | FetchRefused | SourceUnreachable) -> list[SitePage]:
        """The page of a response, unless it is skipped."""
        if isinstance(result, SourceUnreachable):
            return self._unreachable(url, result)
        self.failures = 0
        if isinstance(result, FetchRefused):
            self.skip(url, str(result))
            return []
        return self.accept(url, result)

    def accept(self, url: str, response: Response) -> list[SitePage]:
        """Read a response as a page of the site."""
        if not response.is_success:
            self.skip(
                url, "the page does not exist." if response.status in (404, 410) else f"status {response.status}."
            )
            return []
        if response.media_type not in HTML_TYPES and not _looks_like_html(response):
            self.skip(url, f"it is not HTML, but {response.media_type or 'of no known type'}.")
            return []
        if response.url in self.pages:
            return []  # another address of a page that is there already
        self.unchanged += response.unchanged
        self.fetched += not response.unchanged
        try:
            page = read_page(response, self.parser)
        except SourceError as error:
            self.skip(url, str(error))
            return []
        self.pages[response.url] = replace(page, links=())  # they are followed once, and are many
        return [page]

    def _unreachable(self, url: str, error: SourceUnreachable) -> list[SitePage]:
        """Use the copy of the last ingest; after several failures in a row, leave the index as it is."""
        self.failures += 1
        if self.failures >= MAX_FAILURES or self.fetcher.is_out_of_time:
            raise error
        cached = self.cache.get(url)
        if cached is None:
            self.skip(url, error.message)
            return []
        self.notes.append(PageNote(url, f"{error.message} The copy of an earlier ingest is used."))
        return self.accept(url, Response(url, 200, cached.content_type, cached.robots, cached.body, unchanged=True))


def crawl_site(crawl: Crawl, first: SitePage) -> str:
    """Fetch all pages, and say how they were found."""
    scope = crawl.scope
    guesses = [f"{folder}sitemap.xml" for folder in scope.folders()]
    listed, place = listed_pages(
        crawl.fetcher,
        crawl.robots.sitemaps,
        guesses,
        lambda url: scope.may_be_page(scope.in_scheme(url)),
        crawl.skipped,
    )
    linked = {url for link in first.links if scope.may_be_page(url := scope.in_scheme(link))}
    if listed and len(linked & set(map(scope.in_scheme, listed))) >= _LISTED_SHARE * len(linked):
        follow(crawl, crawl.add_all(listed), links=False)
        return f"its pages are listed in {place}"
    follow(crawl, [first, *crawl.add_all(listed)], links=True)
    return "its pages were found by following links"


def follow(crawl: Crawl, pages: list[SitePage], *, links: bool) -> None:
    """Fetch what pages lead to: the pages that they are copies of, and with `links` all pages that they link to."""
    for _ in range(MAX_DEPTH):
        targets = [
            target for page in pages for target in ((page.canonical, *page.links) if links else (page.canonical,))
        ]
        pages = crawl.add_all(targets)
        if not pages:
            return


def open_site(fetcher: Fetcher, url: str) -> tuple[Response, Robots, SiteScope]:
    """The first page of a site; if its URL leads elsewhere, the site is what is there."""
    if "?" in url:
        raise FetchRefused(f"{url} has a query, which is not allowed in the URL of a site.", "Leave it out.")
    robots = read_robots(fetcher, url)
    _check_robots(robots, url)
    response = fetcher.get(url)
    if not response.is_success:
        raise FetchRefused(f"{url} returned status {response.status}.", "Check the URL.")
    scope = SiteScope.of(url)
    if not scope.contains(response.url):
        scope = SiteScope.of(response.url)
        robots = read_robots(fetcher, response.url)
        _check_robots(robots, response.url)
    return response, robots, scope


def _check_robots(robots: Robots, url: str) -> None:
    if not robots.may_fetch(url):
        raise FetchRefused(f"The robots.txt of the site disallows {url}.", "Ask its owner, or ingest a local copy.")


def _looks_like_html(response: Response) -> bool:
    return not response.media_type and response.body[:1000].lstrip().lower().startswith((b"<!doctype html", b"<html"))
