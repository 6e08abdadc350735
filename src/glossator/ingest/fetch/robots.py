"""The rules of a site's robots.txt: what may be fetched, how often, and where its sitemaps are."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from protego import Protego

from glossator.core.errors import FetchRefused
from glossator.ingest.fetch.client import USER_AGENT, Fetcher
from glossator.ingest.fetch.urls import joined, root_of

MAX_ROBOTS_BYTES = 512_000
"""As RFC 9309 asks; the rest is ignored."""
MAX_CRAWL_DELAY_SECONDS = 60.0


@dataclass(slots=True)
class Robots:
    """The rules for one host; waits so that requests begin as far apart as it asks."""

    rules: Protego
    sitemaps: tuple[str, ...]
    delay_seconds: float
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: float = 0.0

    def may_fetch(self, url: str) -> bool:
        return bool(self.rules.can_fetch(url, USER_AGENT))

    def wait(self, fetcher: Fetcher) -> None:
        """Wait for the next turn."""
        if not self.delay_seconds:
            return
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._next)
            self._next = begin + self.delay_seconds
        fetcher.wait(begin - now)


def read_robots(fetcher: Fetcher, url: str) -> Robots:
    """The rules of the host of a URL; a host without robots.txt has none, and one that fails may not be crawled."""
    address = f"{root_of(url)}robots.txt"
    try:
        response = fetcher.get(address)
        text = response.body[:MAX_ROBOTS_BYTES].decode("utf-8", "replace") if response.is_success else ""
    except FetchRefused:  # a host that must not be fetched from is refused with its pages
        text = ""
    rules = Protego.parse(text.removeprefix("\ufeff"))
    delay = min(float(rules.crawl_delay(USER_AGENT) or 0.0), MAX_CRAWL_DELAY_SECONDS)
    found = (joined(address, sitemap) for sitemap in rules.sitemaps)
    return Robots(rules, tuple(dict.fromkeys(filter(None, found))), delay)
