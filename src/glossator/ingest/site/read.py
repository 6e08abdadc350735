"""Reads a live site: every page becomes a document at its own URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urldefrag

from glossator.core.book.addresses import BOOK_PATH, validate_base_url
from glossator.core.book.sources import FetchCounts, clean_name
from glossator.core.book.versions import BookVersion, version_at
from glossator.core.errors import SourceError
from glossator.core.ports import Progress, no_progress
from glossator.core.text.markup import Resolve, sanitize
from glossator.core.types import Document
from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import Fetcher, FetchPolicy
from glossator.ingest.fetch.urls import host_of, joined
from glossator.ingest.filters import ALL_FILES, FileFilter
from glossator.ingest.read import SourceContents, moved_to
from glossator.ingest.references import MAX_LINK_CHARACTERS, relative_address
from glossator.ingest.site.content import SitePage, site_parser
from glossator.ingest.site.crawl import Crawl, crawl_site, open_site
from glossator.ingest.site.scope import SiteScope, same_page
from glossator.ingest.site.versions import crawl_versions, listed_versions
from glossator.ingest.versions import chosen_first, find_versions


@dataclass(frozen=True, slots=True)
class SiteRequest:
    """What to read: the first URL of a site, where its pages are cited, and the limits."""

    url: str
    base_url: str | None
    policy: FetchPolicy
    max_pages: int
    pages: FileFilter = ALL_FILES
    """Decides which paths below the URL are read."""
    versions: Sequence[str] = ()
    """Names of versions of the book, the current one first."""


def read_site(request: SiteRequest, cache: PageCache, progress: Progress = no_progress) -> SourceContents:
    """Fetch the pages of a site and read them; an error if it cannot be reached."""
    with Fetcher(request.policy, cache) as fetcher, site_parser() as parser:
        response, robots, scope = open_site(fetcher, request.url)
        crawl = Crawl(fetcher, cache, robots, scope, request.max_pages, request.pages, progress, parser)
        crawl.requested |= {request.url, response.url}
        listed = listed_versions(crawl, response)
        if listed:
            first, reason = crawl_versions(crawl, listed)
        else:
            first = crawl.accept(response.url, response)
            reason = crawl_site(crawl, first[0]) if first else ""
    cache.evict_unused()
    base_url = scope.base_url if request.base_url is None else request.base_url and validate_base_url(request.base_url)
    routes = [scope.route(page.url) for page in crawl.pages.values()]
    found = tuple(v for v in listed if any(version_at(route, [v]) for route in routes))
    versions = chosen_first(found, request.versions) if found else find_versions(routes, request.versions)
    documents = tuple(_documents(crawl, base_url, versions))
    if not documents:
        skipped = crawl.skipped[0] if crawl.skipped else None
        raise SourceError(
            f"{request.url} has no readable pages.", f"{skipped.path}: {skipped.reason}" if skipped else ""
        )
    name = first[0].site_name or documents[0].title or host_of(scope.prefix)
    counts = FetchCounts(crawl.fetched, crawl.unchanged)
    return SourceContents(
        "site",
        documents,
        tuple(crawl.skipped),
        clean_name(name) or host_of(scope.prefix),
        base_url,
        reason,
        notes=tuple(crawl.notes),
        fetches=counts,
        versions=versions,
    )


def _documents(crawl: Crawl, base_url: str, versions: Sequence[BookVersion]) -> Iterator[Document]:
    """A document for each page that is not a copy of another one."""
    own = {page.url: _own_url(page, crawl, versions) for page in crawl.pages.values()}
    seen: dict[tuple[str, str], str] = {}
    for page in crawl.pages.values():
        key = (same_page(page.url), page.extracted.text)
        if not page.is_indexed:
            crawl.skip(page.url, "the page asks not to be indexed (noindex).")
        elif not page.extracted.text.strip():
            crawl.skip(page.url, "the page has no text.")
        elif own[page.url] != page.url and own[page.url] in crawl.pages:
            crawl.skip(page.url, f"it is a copy of {own[page.url]}.")
        elif key in seen:
            crawl.skip(page.url, f"it is a copy of {seen[key]}.")
        else:
            seen[key] = page.url
            yield _document(page, crawl.scope, base_url, _resolver(page, crawl.scope, own))


def _own_url(page: SitePage, crawl: Crawl, versions: Sequence[BookVersion]) -> str:
    """The canonical URL, if there is a page with the same text: a canonical URL is often set by mistake.

    That of an old version is often the same page of the current one, which does not stand for it.
    """
    canonical = crawl.scope.in_scheme(page.canonical)
    original = crawl.pages.get(canonical)
    if original is None or original.extracted.text != page.extracted.text:
        return page.url
    here, there = (version_at(crawl.scope.route(url), versions) for url in (page.url, canonical))
    return canonical if here == there else page.url


def _document(page: SitePage, scope: SiteScope, base_url: str, resolve: Resolve) -> Document:
    extracted = page.extracted
    title = extracted.title or scope.route(page.url).strip("/").rpartition("/")[2] or host_of(page.url)
    route = quote(scope.route(page.url), safe="/-._~")
    address = page.url if base_url == scope.base_url else (f"{base_url}/" if base_url else BOOK_PATH) + route
    html = sanitize(extracted.markup, resolve)
    document = Document(page.url, address, title, (title,), extracted.text, extracted.blocks, "", html)
    return moved_to(document, address)  # which computes its content hash


def _resolver(page: SitePage, scope: SiteScope, own: dict[str, str]) -> Resolve:
    """Links between pages of the site are relative, so that they work on this server as well; images are not shown."""
    here = scope.route(page.url)

    def resolve(tag: str, value: str) -> str | None:
        if tag == "img" or len(value) > MAX_LINK_CHARACTERS:
            return None
        if value.startswith("#"):
            return value
        target = joined(page.base, value)
        if target is None:
            return value if value.lower().startswith("mailto:") else None
        fragment = urldefrag(value).fragment
        inside = own.get(scope.in_scheme(target))
        address = relative_address(here, scope.route(inside)) if inside else target
        return f"{address}#{fragment}" if fragment else address

    return resolve
