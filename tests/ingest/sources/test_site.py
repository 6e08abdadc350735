"""A live site as a source: which of its pages are read, at which addresses, and with which text."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glossator.core.errors import FetchRefused, SourceError, SourceUnreachable
from glossator.core.resilience.retry import Backoff
from glossator.core.types import BlockKind
from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import Fetcher, FetchPolicy
from glossator.ingest.fetch.robots import read_robots
from glossator.ingest.filters import FileFilter
from glossator.ingest.read import SourceContents
from glossator.ingest.site.charset import decode
from glossator.ingest.site.crawl import MAX_FAILURES
from glossator.ingest.site.read import SiteRequest, read_site
from glossator.ingest.site.scope import SiteScope
from site_server import Reply, Site, running_site

pytestmark = pytest.mark.slow

QUICK = Backoff(first_seconds=0.01, max_seconds=0.05, attempts=2)


def html(title: str, *links: str, head: str = "", text: str = "") -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    body = f'<main><h1 id="top">{title}</h1><p>{text or f"The text of {title}."}</p><p>{anchors}</p></main>'
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


@pytest.fixture
def site() -> Iterator[Site]:
    """A small site below /guide/, with pages that link to each other and to other places."""
    with running_site() as found:
        found.page("/guide/", html("Guide", "a.html", "b/", "/other/", "https://x.org/", "file.zip", "a.html?print=1"))
        found.page("/guide/a.html", html("Page A", "b/", "./", "missing"))
        found.page("/guide/b/", html("Page B", "../c.html#part", "mailto:a@x.org", "javascript:x()"))
        found.page("/guide/c.html", html("Page C"))
        found.page("/other/", html("Other"))
        yield found


@pytest.fixture
def read(site: Site, tmp_path: Path) -> Any:
    """Reads the site, or another path of its server."""

    def read_path(path: str = "/guide/", base_url: str | None = None, **options: Any) -> SourceContents:
        limits = {"allow_private": True, "backoff": QUICK, "max_bytes": 1_000_000}
        policy = FetchPolicy(**limits | {k: v for k, v in options.items() if k in FetchPolicy.__dataclass_fields__})
        files = FileFilter(options.get("include", ()), options.get("exclude", ()))
        request = SiteRequest(site.url + path, base_url, policy, options.get("max_pages", 100), files)
        return read_site(request, PageCache(tmp_path / "cache"))

    return read_path


def paths(contents: SourceContents, site: Site) -> list[str]:
    return [document.url.removeprefix(site.url) for document in contents.documents]


def reasons(contents: SourceContents, site: Site) -> dict[str, str]:
    return {skip.path.removeprefix(site.url): skip.reason for skip in contents.skipped}


def test_pages_are_found_by_links_below_the_url_only(site: Site, read: Any) -> None:
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/a.html", "/guide/b/", "/guide/c.html"]
    assert contents.reason == "its pages were found by following links"
    assert reasons(contents, site) == {"/guide/missing": "the page does not exist."}
    assert site.requests().keys() == {"/guide/", "/guide/a.html", "/guide/b/", "/guide/c.html", "/guide/missing"}


def test_documents_have_the_urls_and_titles_of_their_pages(site: Site, read: Any) -> None:
    contents = read()
    page = contents.documents[1]
    assert page.document_id == page.url == f"{site.url}/guide/a.html"
    assert (page.title, page.chapters) == ("Page A", ("Page A",))
    assert page.text.startswith("Page A\n\nThe text of Page A.")
    assert page.blocks[0].kind is BlockKind.HEADING
    assert page.blocks[0].anchor == "top"
    assert (contents.name, contents.base_url, contents.layout) == ("Guide", f"{site.url}/guide", "site")
    assert (contents.fetches.fetched, contents.fetches.unchanged) == (4, 0)


def test_links_between_pages_are_relative_and_others_absolute(site: Site, read: Any) -> None:
    front, _, b, _ = read().documents
    assert 'href="a.html"' in front.html
    assert 'href="b/"' in front.html
    assert f'href="{site.url}/other/"' in front.html
    assert 'href="../c.html#part"' in b.html
    assert "javascript" not in b.html.replace(">javascript:x()<", "")


def test_base_url_replaces_the_address_of_the_site(read: Any) -> None:
    assert read(base_url="https://docs.example.org/v1").documents[1].url == "https://docs.example.org/v1/a.html"
    assert read(base_url="").documents[1].url == "/book/a.html"


def test_sitemap_lists_the_pages(site: Site, read: Any) -> None:
    site.sitemap("/guide/", "/guide/c.html", "/guide/a.html", "/guide/b/", "/other/")
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/c.html", "/guide/a.html", "/guide/b/"]
    assert contents.reason == f"its pages are listed in {site.url}/sitemap.xml"
    site.sitemap("/guide/", "/guide/a.html", "/guide/b/")
    assert paths(read(), site) == ["/guide/", "/guide/a.html", "/guide/b/"]  # gone from the sitemap


def test_sitemap_of_a_few_pages_is_not_taken_for_all(site: Site, read: Any) -> None:
    site.sitemap("/guide/", "/guide/unlinked.html")
    site.page("/guide/unlinked.html", html("Unlinked"))
    assert set(paths(read(), site)) >= {"/guide/unlinked.html", "/guide/a.html", "/guide/c.html"}


def test_sitemap_index_in_robots_txt_is_followed_also_compressed(site: Site, read: Any) -> None:
    index = "".join(
        f"<sitemap><loc>{site.url}/{name}</loc></sitemap>" for name in ("one.xml", "two.xml.gz", "index.xml")
    )
    site.pages["/index.xml"] = Reply(f"<sitemapindex>{index}</sitemapindex>".encode(), content_type="text/xml")
    site.sitemap("/guide/a.html", "/guide/b/", path="/one.xml")
    site.sitemap("/guide/c.html", path="/plain.xml")
    plain = site.pages["/plain.xml"]
    assert isinstance(plain, Reply)
    site.pages["/two.xml.gz"] = Reply(gzip.compress(plain.body), content_type="application/gzip")
    site.pages["/robots.txt"] = Reply(f"Sitemap: {site.url}/index.xml\n".encode(), content_type="text/plain")
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/a.html", "/guide/b/", "/guide/c.html"]
    assert contents.reason == f"its pages are listed in {site.url}/index.xml"


ENTITY_BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<urlset><url><loc>&b;</loc></url></urlset>"""
EXTERNAL = b"""<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>&a;</loc></url></urlset>"""


@pytest.mark.parametrize(
    "sitemap",
    [ENTITY_BOMB, EXTERNAL, b"<html>not found</html>", b"<urlset><url><loc>", b"\x1f\x8bnot gzip", b""],
    ids=["entity bomb", "external entity", "HTML", "cut off", "broken gzip", "empty"],
)
def test_bad_sitemap_is_skipped_with_a_reason(site: Site, read: Any, sitemap: bytes) -> None:
    site.pages["/robots.txt"] = Reply(f"Sitemap: {site.url}/map.xml".encode(), content_type="text/plain")
    site.pages["/map.xml"] = Reply(sitemap, content_type="application/xml")
    contents = read()
    assert len(contents.documents) == 4
    assert ("/map.xml" in reasons(contents, site)) == (sitemap != b"<html>not found</html>")


def test_sitemap_bomb_ends_at_the_limit(site: Site, read: Any) -> None:
    site.pages["/robots.txt"] = Reply(f"Sitemap: {site.url}/map.xml.gz".encode(), content_type="text/plain")
    site.pages["/map.xml.gz"] = Reply(gzip.compress(b" " * 60_000_000), content_type="application/gzip")
    assert "larger than" in reasons(read(), site)["/map.xml.gz"]


def test_robots_txt_is_obeyed(site: Site, read: Any) -> None:
    rules = "User-agent: *\nDisallow: /guide/\n\nUser-agent: glossator\nDisallow: /guide/b\nDisallow: /*.html$\n"
    site.pages["/robots.txt"] = Reply(rules.encode(), content_type="text/plain")
    contents = read()
    assert paths(contents, site) == ["/guide/"]
    assert reasons(contents, site) == dict.fromkeys(("/guide/a.html", "/guide/b/"), "robots.txt disallows it.")
    assert site.requests().keys() == {"/guide/"}
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /\n", content_type="text/plain")
    with pytest.raises(FetchRefused, match=r"robots\.txt of the site disallows"):
        read()


def test_failing_robots_txt_stops_the_ingest(site: Site, read: Any) -> None:
    site.pages["/robots.txt"] = Reply(status=503)
    with pytest.raises(SourceUnreachable):
        read()


def test_crawl_delay_lets_one_request_run_at_a_time(site: Site, read: Any) -> None:
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.05\n", content_type="text/plain")
    site.sitemap("/guide/", "/guide/a.html", "/guide/b/", "/guide/c.html")
    site.reply_seconds = 0.1  # longer than the delay: requests overlap unless they wait for each other
    assert (len(read().documents), site.most_running) == (4, 1)


def test_crawl_delay_is_waited_for(site: Site) -> None:
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.05\n", content_type="text/plain")
    with Fetcher(FetchPolicy(allow_private=True)) as fetcher:
        robots = read_robots(fetcher, site.url)
        started = time.monotonic()
        for _ in range(3):
            robots.wait(fetcher)
    assert time.monotonic() - started >= 2 * 0.05  # a sleep is never shorter than it should be


def test_few_requests_run_at_once(site: Site, read: Any) -> None:
    names = [f"/guide/{number}" for number in range(12)]
    for name in names:
        site.pages[name] = Reply(html(name).encode(), slow_seconds=0.0005)
    site.page("/guide/", html("Guide", *names))
    assert len(read().documents) == 13
    assert site.most_running <= 4


def test_redirected_page_has_its_final_address_once(site: Site, read: Any) -> None:
    site.page("/guide/", html("Guide", "old.html", "new.html", "out.html", "loop"))
    site.page("/guide/new.html", html("New"))
    site.redirect("/guide/old.html", "new.html", 301)
    site.redirect("/guide/out.html", "/other/")
    site.redirect("/guide/loop", "loop")
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/new.html"]
    assert reasons(contents, site).keys() == {"/guide/out.html", "/guide/loop"}
    assert "not part of the site" in reasons(contents, site)["/guide/out.html"]
    assert "/other/" not in site.requests()


def test_url_that_redirects_elsewhere_names_what_is_there(site: Site, read: Any) -> None:
    site.redirect("/docs", "/guide/", 301)
    contents = read("/docs")
    assert contents.base_url == f"{site.url}/guide"
    assert len(contents.documents) == 4


def test_copies_of_a_page_are_read_once_at_the_canonical_address(site: Site, read: Any) -> None:
    canonical = '<link rel="canonical" href="/guide/page/">'
    site.page("/guide/", html("Guide", "page/index.html", "page/other.html", "./index.html"))
    site.page("/guide/index.html", html("Guide", "page/index.html", "page/other.html", "./index.html"))
    for path in ("/guide/page/index.html", "/guide/page/"):
        site.page(path, html("Page", head=canonical))
    site.page("/guide/page/other.html", html("Printed", head=canonical))  # says so, but has another text
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/page/other.html", "/guide/page/"]
    assert reasons(contents, site) == {
        "/guide/index.html": f"it is a copy of {site.url}/guide/.",
        "/guide/page/index.html": f"it is a copy of {site.url}/guide/page/.",
    }


def test_canonical_address_of_another_site_is_ignored(site: Site, read: Any) -> None:
    site.page("/guide/", html("Guide", head='<link rel="canonical" href="https://evil.example/">'))
    assert paths(read(), site) == ["/guide/"]


def test_pages_that_ask_not_to_be_indexed_are_skipped(site: Site, read: Any) -> None:
    site.page("/guide/a.html", html("A", "c.html", head='<meta name="ROBOTS" content="noindex">'))
    site.page("/guide/b/", html("B"), headers={"X-Robots-Tag": "noindex, nofollow"})
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/c.html"]  # links of A are followed
    assert set(reasons(contents, site)) == {"/guide/a.html", "/guide/b/"}


@pytest.mark.parametrize("header", ["googlebot: noindex", "otherbot: none, nofollow", "unavailable_after: 1 Jan 2099"])
def test_rules_for_other_robots_do_not_count(site: Site, read: Any, header: str) -> None:
    site.page("/guide/c.html", html("Page C"), headers={"X-Robots-Tag": header})
    assert "/guide/c.html" in paths(read(), site)


@pytest.mark.parametrize("header", ["max-snippet: 20, noindex", "Glossator: none", "xbot: all, glossator: noindex"])
def test_rules_for_all_robots_and_for_this_one_count(site: Site, read: Any, header: str) -> None:
    site.page("/guide/c.html", html("Page C"), headers={"X-Robots-Tag": header})
    assert "/guide/c.html" not in paths(read(), site)


@pytest.mark.parametrize("content", ["0; url=a.html", "0;URL='./a.html'", "5, url = /guide/a.html"])
def test_page_that_redirects_by_itself_is_followed(site: Site, read: Any, content: str) -> None:
    site.page("/guide/", f'<html><head><meta http-equiv="Refresh" content="{content}"></head><body></body></html>')
    assert paths(read(), site)[0] == "/guide/a.html"


def test_other_types_and_huge_pages_are_skipped(site: Site, read: Any) -> None:
    site.page("/guide/", html("Guide", "data", "huge", "empty", "bomb", "unknown"))
    site.pages["/guide/data"] = Reply(b"{}", content_type="application/json")
    site.pages["/guide/huge"] = Reply(b"<p>" + b"x" * 1_500_000)
    site.pages["/guide/empty"] = Reply(b"<html><body></body></html>")
    site.pages["/guide/bomb"] = Reply(gzip.compress(b"<p>" * 5_000_000), headers={"Content-Encoding": "gzip"})
    site.pages["/guide/unknown"] = Reply(b"<!DOCTYPE html><main><p>Words.</p></main>", content_type=None)
    contents = read()
    assert paths(contents, site) == ["/guide/", "/guide/unknown"]
    found = reasons(contents, site)
    assert found["/guide/data"] == "it is not HTML, but application/json."
    assert found["/guide/empty"] == "the page has no text."
    too_large = "it is larger than the limit of 1.0 MB. Raise GLOSSATOR_MAX_FILE_MB."
    assert (found["/guide/huge"], found["/guide/bomb"]) == (too_large, too_large)


def test_number_of_pages_is_limited(site: Site, read: Any) -> None:
    contents = read(max_pages=3)
    assert len(contents.documents) == 3
    assert reasons(contents, site)["/guide/"] == "it has more than 3 pages. Raise GLOSSATOR_MAX_PAGES."


def test_endless_links_end(site: Site, read: Any) -> None:
    trap = iter(range(1_000_000))
    site.pages = {
        f"/guide/{'x/' * depth}": lambda: Reply(html(f"Trap {next(trap)}", "x/").encode()) for depth in range(99)
    }
    assert 20 < len(read().documents) < 50


def test_patterns_choose_pages(site: Site, read: Any) -> None:
    assert paths(read(exclude=("b",)), site) == ["/guide/", "/guide/a.html"]
    assert paths(read(include=("*.html",)), site) == ["/guide/", "/guide/a.html"]


def test_page_that_fails_is_read_from_the_last_ingest(site: Site, read: Any) -> None:
    before = read()
    site.pages["/guide/a.html"] = Reply(status=500)
    contents = read()
    assert contents.documents == before.documents
    (note,) = contents.notes
    assert "status 500" in note.note
    assert "earlier ingest" in note.note


def test_site_that_stops_responding_is_an_error(site: Site, read: Any) -> None:
    site.page("/guide/", html("Guide", *(f"{number}" for number in range(20))))
    for number in range(20):
        site.pages[f"/guide/{number}"] = Reply(status=502)
    with pytest.raises(SourceUnreachable, match="status 502"):
        read()
    assert len(site.requests()) < 20 > MAX_FAILURES


def test_first_page_must_exist_and_have_text(site: Site, read: Any) -> None:
    with pytest.raises(FetchRefused, match="status 404"):
        read("/nowhere/")
    with pytest.raises(FetchRefused, match="has a query"):
        read("/guide/?a=b")
    site.page("/blank/", "<html></html>")
    with pytest.raises(SourceError, match="no readable pages"):
        read("/blank/")


CHARSETS = [
    ("Ünïcode", "utf-8", "text/html; charset=iso-8859-1", ""),
    ("Ünïcode", "utf-8", "text/html", '<meta charset="windows-1252">'),
    ("Ünïcode", "cp1252", "text/html; charset=utf-8", '<meta charset="windows-1252">'),
    ("Ünïcode", "cp1252", "text/html; charset=nonsense", ""),
    ("Ünïcode", "latin-1", "text/html; charset=iso-8859-1", ""),
    ("Привет", "koi8-r", "text/html", '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">'),
    ("日本語", "shift_jis", "text/html; charset=Shift_JIS", ""),
    ("日本語", "iso-2022-jp", "text/html; charset=iso-2022-jp", ""),
    ("日本語", "utf-16", "text/html", ""),
    ("“quoted”", "cp1252", "text/html; charset=iso-8859-1", ""),
    ("plain", "ascii", "text/html; charset=punycode", ""),
]


@pytest.mark.parametrize(("text", "encoding", "header", "meta"), CHARSETS)
def test_charset_is_found(text: str, encoding: str, header: str, meta: str) -> None:
    page = f"<html><head>{meta}</head><p>{text}</p></html>"
    assert decode(page.encode(encoding), header) == page


FRAMES = {
    "Docusaurus": '<nav class="navbar">Top</nav><div class="announcementBar_x" role="banner">New!</div><main><article>'
    '<nav class="theme-doc-breadcrumbs">Crumbs</nav><div class="theme-doc-markdown">{}</div></article></main>'
    '<footer class="footer">Foot</footer>',
    "MkDocs Material": '<header class="md-header">Head</header><main class="md-main"><div class="md-sidebar"><nav>Side'
    '</nav></div><article class="md-content__inner">{}</article></main><div class="md-consent">Cookies</div>',
    "mdBook": '<nav id="sidebar">S</nav><div id="page-wrapper"><div id="menu">Menu</div><div id="content"><main>{}'
    '</main><nav class="nav-wrapper">Next</nav></div></div>',
    "Sphinx": '<div class="related" role="navigation">Next</div><div class="document"><div class="body" role="main">{}'
    '</div></div><div class="sphinxsidebar" role="navigation">Side</div><div class="footer">Foot</div>',
    "no generator": '<header>Site <a href="/">Home</a></header><div id="cookie-banner">We use cookies.</div>'
    '<div role="navigation">Menu</div>{}<div class="cookie-consent open">Accept</div><footer>Foot</footer>',
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_main_content_is_read(site: Site, read: Any, frame: str) -> None:
    content = (
        '<h1 id="intro">Intro<a class="headerlink" href="#intro">¶</a></h1><p>Words.</p>'
        '<h2 id="cookie-notice">Cookie notice</h2><p>More.</p>'
    )
    site.page("/guide/", f"<html><head><title>T</title></head><body>{frame.format(content)}</body></html>")
    (page,) = read().documents
    assert page.text == "Intro\n\nWords.\n\nCookie notice\n\nMore."
    assert [block.anchor for block in page.blocks if block.kind is BlockKind.HEADING] == ["intro", "cookie-notice"]


def test_scope_is_the_folder_of_a_url() -> None:
    prefixes = {
        "https://x.org": "https://x.org/",
        "https://x.org/guide": "https://x.org/guide/",
        "https://x.org/guide/": "https://x.org/guide/",
        "https://x.org/guide/index.html": "https://x.org/guide/",
        "https://X.org:443/a/../b/?q#f": "https://x.org/b/",
    }
    assert {url: SiteScope.of(url).prefix for url in prefixes} == prefixes
    scope = SiteScope.of("https://x.org/guide")
    assert scope.contains("https://x.org/guide")
    assert scope.contains("https://x.org/guide/a")
    elsewhere = ("https://x.org/guidebook", "https://x.org.evil/guide/", "http://x.org/guide/a")
    assert not any(map(scope.contains, elsewhere))
    others = ("search.html", "genindex", "genindex.html", "py-modindex/", "file.pdf", "a/style.css", "page?x=1")
    assert not any(scope.may_be_page(f"https://x.org/guide/{name}") for name in others)
    assert all(scope.may_be_page(f"https://x.org/guide/{name}") for name in ("search/", "a.html", "v1.2", ""))
    assert list(scope.folders()) == ["https://x.org/guide/", "https://x.org/"]
