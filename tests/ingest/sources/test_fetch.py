"""Fetching a URL: only public addresses, only so many bytes and seconds, and again only what has changed."""

from __future__ import annotations

import gzip
import ipaddress
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glossator import __version__
from glossator.core.errors import FetchRefused, SourceUnreachable
from glossator.core.resilience.retry import Backoff
from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import Fetcher, FetchPolicy
from glossator.ingest.fetch.network import is_public
from glossator.ingest.fetch.urls import joined, normalized, without_url
from site_server import Reply, Site, running_site

PAGE = "<main><h1>Tides</h1><p>The Moon causes them.</p></main>"
QUICK = Backoff(first_seconds=0.01, max_seconds=0.05, attempts=3)


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as found:
        found.page("/", PAGE)
        yield found


def policy(**options: Any) -> FetchPolicy:
    return FetchPolicy(**{"allow_private": True, "backoff": QUICK, **options})


def fetch(url: str, **options: Any) -> Any:
    with Fetcher(policy(**options)) as fetcher:
        return fetcher.get(url)


PRIVATE = """
    127.0.0.1 127.8.8.8 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 240.0.0.1
    255.255.255.255 192.0.2.1 198.18.0.1 ::1 :: fe80::1 fc00::1 fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
    ::127.0.0.1 2002:7f00:1:: 2002:a00:1:: 2001:0:7f00:1:: 2001:db8::1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_address_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", "93.184.216.34 1.1.1.1 2606:4700::1111 ::ffff:1.1.1.1 64:ff9b::101:101".split())
def test_address_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", "127.0.0.1 localhost 127.1 2130706433 0x7f.1 [::1] [::ffff:127.0.0.1]".split())
def test_private_host_is_refused_in_every_notation(site: Site, host: str) -> None:
    port = site.url.rpartition(":")[2]
    with pytest.raises(FetchRefused, match="not on the public internet"):
        fetch(f"http://{host}:{port}/", allow_private=False)
    assert site.log == []


def test_connection_is_made_to_the_address_that_was_checked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers differently the second time changes nothing: there is no second question."""
    answers = iter(["127.0.0.1", "169.254.169.254"])
    real = socket.getaddrinfo

    def rebinding(host: str, *rest: Any, **options: Any) -> Any:
        return real(next(answers) if host == "rebinding.example" else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    port = site.url.rpartition(":")[2]
    assert fetch(f"http://rebinding.example:{port}/").status == 200
    assert list(answers) == ["169.254.169.254"]


def test_one_private_address_among_several_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_rest, **_options: found)
    with pytest.raises(FetchRefused, match=r"10\.0\.0\.1"):
        fetch("http://mixed.example/", allow_private=False)


def test_redirect_to_a_private_address_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first host counts as public here; the redirect leads to one that does not."""
    monkeypatch.setattr("glossator.ingest.fetch.network.is_public", lambda address: str(address) == "127.0.0.1")
    site.redirect("/out", "http://169.254.169.254/latest/meta-data/")
    with pytest.raises(FetchRefused, match=r"169\.254\.169\.254"):
        fetch(f"{site.url}/out", allow_private=False)
    assert [path for path, _ in site.log] == ["/out"]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x.org/", "gopher://x.org/", "http://", "http://u:p@x.org/", "http://x.org:0/"]
)
def test_url_is_refused(url: str) -> None:
    with pytest.raises(FetchRefused):
        fetch(url)


def test_redirect_to_another_scheme_is_refused(site: Site) -> None:
    site.redirect("/out", "file:///etc/passwd")
    with pytest.raises(FetchRefused, match="not an http"):
        fetch(f"{site.url}/out")


def test_redirects_are_followed_and_loops_end(site: Site) -> None:
    site.redirect("/old", "/")
    assert fetch(f"{site.url}/old").url == f"{site.url}/"
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    with pytest.raises(FetchRefused, match="loop"):
        fetch(f"{site.url}/a")
    for number in range(20):
        site.redirect(f"/{number}", f"/{number + 1}")
    with pytest.raises(FetchRefused, match="too often"):
        fetch(f"{site.url}/0")


def test_compressed_pages_are_read(site: Site) -> None:
    site.pages["/gzip"] = Reply(gzip.compress(PAGE.encode()), headers={"Content-Encoding": "gzip"})
    site.pages["/deflate"] = Reply(zlib.compress(PAGE.encode()), headers={"Content-Encoding": "deflate"})
    assert fetch(f"{site.url}/gzip").body == fetch(f"{site.url}/deflate").body == PAGE.encode()


def test_huge_pages_and_bombs_end_at_the_limit(site: Site) -> None:
    site.pages["/huge"] = Reply(b"x" * 2_000_000)
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert len(bomb) < 100_000
    site.pages["/bomb"] = Reply(bomb, headers={"Content-Encoding": "gzip"})
    site.pages["/twice"] = Reply(gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"})
    for path in ("/huge", "/bomb", "/twice"):
        with pytest.raises(FetchRefused, match=r"limit of 1\.0 MB"):
            fetch(site.url + path, max_bytes=1_000_000)


def test_broken_compression_is_an_error(site: Site) -> None:
    site.pages["/broken"] = Reply(b"not gzip at all", headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchRefused, match="cannot be decoded"):
        fetch(f"{site.url}/broken")


def test_slow_page_ends_at_the_timeout_though_bytes_keep_coming(site: Site) -> None:
    site.pages["/slow"] = Reply(b"x" * 200, slow_seconds=0.05)
    with pytest.raises(SourceUnreachable, match="took too long"):
        fetch(f"{site.url}/slow", request_seconds=0.2, backoff=Backoff(0.01, 0.01, 1))


def test_time_for_the_whole_source_is_limited(site: Site) -> None:
    with pytest.raises(SourceUnreachable, match="GLOSSATOR_FETCH_MINUTES"):
        fetch(f"{site.url}/", total_seconds=0.0)


def test_failures_are_retried(site: Site) -> None:
    replies = iter([Reply(status=503), Reply(status=429, headers={"Retry-After": "0"}), Reply(PAGE.encode())])
    site.pages["/busy"] = lambda: next(replies)
    assert fetch(f"{site.url}/busy").body == PAGE.encode()
    assert [status for _, status in site.log] == [503, 429, 200]


def test_failure_that_lasts_is_an_error_and_a_missing_page_is_not(site: Site) -> None:
    site.pages["/down"] = Reply(status=500)
    with pytest.raises(SourceUnreachable, match="status 500"):
        fetch(f"{site.url}/down")
    assert len(site.log) == QUICK.attempts
    assert fetch(f"{site.url}/missing").status == 404


def test_long_retry_after_fails_at_once(site: Site) -> None:
    site.pages["/busy"] = Reply(status=503, headers={"Retry-After": "3600"})
    with pytest.raises(SourceUnreachable, match="3600 seconds"):
        fetch(f"{site.url}/busy")
    assert len(site.log) == 1


def test_closed_port_is_unreachable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(SourceUnreachable, match="cannot be reached"):
            fetch(f"http://127.0.0.1:{closed.getsockname()[1]}/")


def test_unchanged_page_comes_from_the_cache(site: Site, tmp_path: Path) -> None:
    site.page("/", PAGE, etag='"1"')
    for unchanged in (False, True):
        with Fetcher(policy(), PageCache(tmp_path / "cache")) as fetcher:
            response = fetcher.get(f"{site.url}/")
            assert (response.body, response.unchanged) == (PAGE.encode(), unchanged)
            assert response.content_type == "text/html; charset=utf-8"
    site.page("/", "new", etag='"2"')
    with Fetcher(policy(), PageCache(tmp_path / "cache")) as fetcher:
        assert fetcher.get(f"{site.url}/").body == b"new"
    assert [status for _, status in site.log] == [200, 304, 200]


def test_damaged_cache_is_ignored(site: Site, tmp_path: Path) -> None:
    site.page("/", PAGE, etag='"1"')
    with Fetcher(policy(), PageCache(tmp_path)) as fetcher:
        fetcher.get(f"{site.url}/")
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"damaged")
    with Fetcher(policy(), PageCache(tmp_path)) as fetcher:
        assert not fetcher.get(f"{site.url}/").unchanged


def test_requests_name_their_program_and_use_no_proxy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    fetch(f"{site.url}/")
    assert site.agents == {f"glossator/{__version__}"}


def test_urls_have_one_form() -> None:
    assert normalized("HTTP://X.org:80/a/../b/./c%7e%2fd é#top") == "http://x.org/b/c~%2Fd%20%C3%A9"
    assert joined("https://x.org/a/b", "../c/?q=1#d") == "https://x.org/c/?q=1"
    assert joined("https://x.org/a/", "mailto:a@x.org") is None
    assert joined("https://x.org/a/", "//[bad") is None


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("https://x.org/a redirects in a loop.", "it redirects in a loop."),
        ("https://x.org/a: the response cannot be decoded.", "the response cannot be decoded."),
        ("https://x.org/a/b redirects in a loop.", "https://x.org/a/b redirects in a loop."),
        ("the page has no text.", "the page has no text."),
    ],
)
def test_reason_does_not_repeat_the_url_of_its_page(reason: str, shown: str) -> None:
    assert without_url(reason, "https://x.org/a") == shown
