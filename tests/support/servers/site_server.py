"""A real web site on loopback whose pages a test can change, and which remembers what it was asked for."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """A response; one with an ETag is not sent again to a client that has it."""

    body: bytes = b""
    status: int = 200
    content_type: str | None = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    etag: str = ""
    slow_seconds: float = 0.0
    """Between the bytes of the body, which are then sent one by one."""


@dataclass
class Site:
    """The pages by path, and the requests so far as (path, status)."""

    url: str = ""
    pages: dict[str, Reply | Callable[[], Reply]] = field(default_factory=dict)
    log: list[tuple[str, int]] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    reply_seconds: float = 0.0
    running: int = 0
    most_running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self, path: str, html: str, **options: object) -> None:
        """Set a page from its HTML."""
        self.pages[path] = Reply(html.encode(), **options)  # type: ignore[arg-type]

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        self.pages[path] = Reply(status=status, headers={"Location": target})

    def sitemap(self, *paths: str, path: str = "/sitemap.xml") -> None:
        """Set a sitemap that lists some paths."""
        locations = "".join(f"<url><loc>{self.url}{each}</loc></url>" for each in paths)
        xml = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
        self.pages[path] = Reply(xml.encode(), content_type="application/xml")

    def requests(self) -> Counter[str]:
        """How often each path was asked for since the last call, robots.txt and sitemaps left out."""
        found = Counter(path for path, _ in self.log if path != "/robots.txt" and "sitemap" not in path)
        self.log.clear()
        return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site = self._site
        with site.lock:
            site.running += 1
            site.most_running = max(site.most_running, site.running)
            site.started.append(time.monotonic())
        try:
            page = site.pages.get(self.path, Reply(b"not here", 404))
            reply = page() if callable(page) else page
            time.sleep(site.reply_seconds)
            if reply.slow_seconds:
                self._reply(reply)
        finally:
            with site.lock:
                site.running -= 1
        if not reply.slow_seconds:  # the client has it, and may ask again, before this thread goes on
            self._reply(reply)

    def _reply(self, reply: Reply) -> None:
        site = self._site
        has_it = bool(reply.etag) and self.headers.get("If-None-Match") == reply.etag
        status, body = (304, b"") if has_it else (reply.status, reply.body)
        with site.lock:
            site.log.append((self.path, status))
            site.agents.add(self.headers.get("User-Agent", ""))
        self.send_response(status)
        headers = {"Content-Type": reply.content_type, "ETag": reply.etag, **reply.headers}
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._send(body, reply.slow_seconds)

    def _send(self, body: bytes, slow_seconds: float) -> None:
        try:
            if not slow_seconds:
                self.wfile.write(body)
                return
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(slow_seconds)
        except OSError:
            self.close_connection = True  # the client had enough

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    @property
    def _site(self) -> Site:
        assert isinstance(self.server, _Server)
        return self.server.site


class _Server(ThreadingHTTPServer):
    site: Site

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients hang up on pages that are too large or too slow."""


@contextmanager
def running_site() -> Iterator[Site]:
    """A site without pages, on a free port of 127.0.0.1."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.site = site = Site(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
