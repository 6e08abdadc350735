"""Pages of a live site are parsed in a child process: one that ends it costs that page only."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import FetchPolicy
from glossator.ingest.parsing.pool import ParserPool
from glossator.ingest.parsing.process import ParserLimits
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.site import content
from glossator.ingest.site.content import SitePage
from glossator.ingest.site.read import SiteRequest, read_site
from site_server import running_site

LIMITS = ParserLimits(cpu_seconds=1, elapsed_per_cpu_second=60, memory_bytes=1_000_000_000)
REASONS = {
    "crash": "it crashed the parser: it is damaged, or needs more than 1.0 GB. Repair or split the file.",
    "busy": "reading it took more than 1 seconds. Split or simplify the file.",
    "memory": "reading it needs too much memory. Split the file.",
}


def hostile_parser() -> ParserPool[SitePage]:
    context = ParseContext("", "site", 0)
    return ParserPool("hostile_parsers:parse_site_page", context, content._page, LIMITS, max_processes=1)


def test_a_page_that_ends_its_parser_is_skipped_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glossator.ingest.site.read.site_parser", hostile_parser)
    names = [*REASONS, "last"]
    with running_site() as site:
        links = "".join(f'<a href="{name}">{name}</a>' for name in names)
        site.page("/guide/", f"<html><body><main><h1>Guide</h1>{links}</main></body></html>")
        for name in names:
            site.page(f"/guide/{name}", f"<html><body><main><h1>Page {name}</h1><p>Words.</p></main></body></html>")
        policy = FetchPolicy(allow_private=True, max_bytes=1_000_000)
        contents = read_site(SiteRequest(f"{site.url}/guide/", None, policy, 100), PageCache(tmp_path / "cache"))
    assert [document.title for document in contents.documents] == ["Guide", "Page last"]
    skipped = {skip.path.rpartition("/")[2]: skip.reason for skip in contents.skipped}
    assert {name: skipped.get(name) for name in REASONS} == REASONS
