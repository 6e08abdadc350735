"""Versions of a live site published by mike: the front page redirects to one, and `versions.json` lists all."""

from __future__ import annotations

import json
from dataclasses import replace

from glossator.core.book.versions import BookVersion
from glossator.core.errors import FetchRefused, SourceUnreachable
from glossator.ingest.fetch.client import Response
from glossator.ingest.site.content import SitePage
from glossator.ingest.site.crawl import Crawl, follow
from glossator.ingest.versions import mike_versions, redirect_of

_LIST = "versions.json"


def listed_versions(crawl: Crawl, front: Response) -> tuple[BookVersion, ...]:
    """The versions of the site, starting with the one that its front page redirects to; none if that is a real page."""
    folder, below, _ = crawl.scope.route(front.url).partition("/")
    default = folder if below else redirect_of(front.body.decode("utf-8", "replace"))
    url = crawl.scope.prefix + _LIST
    if not default or not crawl.robots.may_fetch(url):
        return ()
    versions = mike_versions(_entries(crawl, url), default)
    return versions if versions and default in versions[0].names else ()


def _entries(crawl: Crawl, url: str) -> object:
    """The list; if it cannot be reached, as it was at the last ingest."""
    try:
        response = crawl.fetcher.get(url)
        body = response.body if response.is_success else b""
    except FetchRefused:
        return None
    except SourceUnreachable:
        cached = crawl.cache.get(url)
        body = cached.body if cached else b""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def crawl_versions(crawl: Crawl, versions: tuple[BookVersion, ...]) -> tuple[list[SitePage], str]:
    """Fetch the pages of all versions, and say how they were found; other names of versions only lead to copies."""
    names = {version.name for version in versions}
    aliases = [alias for version in versions for alias in version.aliases if alias not in names]
    crawl.filter = replace(crawl.filter, exclude=(*crawl.filter.exclude, *(f"/{alias}/" for alias in aliases)))
    fronts = crawl.add_all(crawl.scope.prefix + version.path for version in versions)
    follow(crawl, fronts, links=True)
    return fronts, f"its versions are listed in {crawl.scope.prefix}{_LIST}"
