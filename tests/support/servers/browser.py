"""Browser tests: Chromium, the sample book behind a real server, a site of another origin, and the chat's elements."""

from __future__ import annotations

import gc
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Route, expect, sync_playwright

import glossator
from app_server import running
from commands import quick_folder
from data_dirs import copy_data
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from in_process import no_garbage_collection
from paths import BOOK

Body = dict[str, Any]
OpenPage = Callable[..., Page]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DISABLED_FEATURES = """
    WebUIOmniboxPopup WebUIOmniboxAimPopup
    AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable
    LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning AvoidCorsURLLoaderRestartOnRedirect
    OptimizationHints NetworkTimeServiceQuerying AimEnabled PreconnectToSearch
""".split()
"""The pages behind the address bar, which cost as much time as a test's own page, and what Playwright itself disables:
Chromium obeys only the last list."""
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-site-isolation-trials",  # with site isolation, a spare process is started for every page
    f"--disable-features={','.join(DISABLED_FEATURES)}",
]
TIMEOUT_MS = 30_000
"""For everything that a test waits for, on a busy machine too."""
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
GLOSSARY, BALANCE = "/book/glossary", "/book/motion/balance"
QUESTION = "What is the zero-moment point?"
FACT = "The zero-moment point is the point on the ground about which the horizontal components"
"""The beginning of the answer, from the glossary."""
OUT_OF_SCOPE = "Who won the football match in Lisbon yesterday evening?"
CORS_HEADERS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}


@contextmanager
def bound_socket(port: int = 0) -> Iterator[socket.socket]:
    """A socket bound before the server starts: the book is ingested with its address.

    Several may be bound to one port; until one of them listens, it refuses connections.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind(("127.0.0.1", port))
        yield opened


def url_of(opened: socket.socket) -> str:
    return f"http://127.0.0.1:{opened.getsockname()[1]}"


@contextmanager
def serving(folder: Path, on: socket.socket, **settings: Any) -> Iterator[str]:
    """Run a server in this process; gives its address."""
    with running(create_app(load_settings(data_dir=folder, **settings)), on) as address:
        yield address


@dataclass
class Site:
    """A plain site of another origin, with the pages that a test adds."""

    url: str
    pages: dict[str, str] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    """Content-Security-Policies, by path."""

    def add(self, path: str, body: str, head: str = "") -> str:
        """Add a page; gives its address."""
        self.pages[path] = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>'
            f'<link rel="icon" href="data:,">{head}</head><body><main><h1>A site</h1>{body}</main></body></html>'
        )
        return self.url + path


@contextmanager
def running_site() -> Iterator[Site]:
    site = Site("")

    class Sender(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            content = site.pages.get(path, "").encode()
            self.send_response(200 if content else 404)
            if path in site.policies:
                self.send_header("Content-Security-Policy", site.policies[path])
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Sender) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site whose origin the server allows."""
    with running_site() as running:
        yield running


@pytest.fixture(scope="session")
def addressed_book(sample_data: Path) -> Iterator[tuple[Path, int]]:
    """A data directory with the sample book, to be treated as read-only, and the port that its addresses name."""
    with quick_folder() as folder, bound_socket() as reserved:
        data = copy_data(sample_data, folder / "data")
        with glossator.open(data) as book:
            book.ingest(BOOK, base_url=f"{url_of(reserved)}/book", only=True)
        yield data, reserved.getsockname()[1]


@pytest.fixture(scope="module")
def sample_book(addressed_book: tuple[Path, int]) -> Iterator[tuple[Path, socket.socket]]:
    """The sample book's data directory, and a socket at the port that its addresses name."""
    data, port = addressed_book
    with quick_folder() as folder, bound_socket(port) as on:
        yield copy_data(data, folder / "data"), on


@pytest.fixture(scope="module")
def address(sample_book: tuple[Path, socket.socket], site: Site) -> Iterator[str]:
    """A server with the sample book and without a language model; citations link to its own pages."""
    with serving(*sample_book, cors_origins=site.url) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser per module: with one per session, no event loop could run in later tests.

    Garbage is collected only after it has closed: Python 3.11 was seen to crash when collecting within the driver.
    """
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (on Debian: apt install chromium)")
    with no_garbage_collection(), sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield opened
        opened.close()
        assert not gc.isenabled(), "Something enabled garbage collection while the browser was open."
    gc.collect()


@dataclass
class ConsoleErrors:
    """Errors and warnings in the consoles of pages; a test allows those that it expects."""

    messages: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        self.allowed.append(pattern)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._note)
        context.on("weberror", lambda error: self.messages.append(f"uncaught: {error.error}"))

    def unexpected(self) -> list[str]:
        return [one for one in self.messages if not any(re.search(pattern, one) for pattern in self.allowed)]

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


@pytest.fixture
def console_errors() -> ConsoleErrors:
    """Allows console errors that a test expects: `console_errors.allow("404")`."""
    return ConsoleErrors()


@pytest.fixture
def open_page(chromium: Browser, address: str, console_errors: ConsoleErrors) -> Iterator[OpenPage]:
    """Opens pages in contexts of their own; an unexpected console error fails the test."""
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Page:
        context = chromium.new_context(
            **{"base_url": address, "viewport": DESKTOP, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        console_errors.watch(context)
        context.set_default_timeout(TIMEOUT_MS)
        return context.new_page()

    expect.set_options(timeout=TIMEOUT_MS)
    yield opened
    for context in contexts:
        context.unroute_all(behavior="ignoreErrors")
        context.close()
    assert not console_errors.unexpected()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page of desktop size in a context of its own."""
    return open_page()


def launcher(page: Page) -> Locator:
    """The button that opens the chat."""
    return page.locator("glossator-chat .launcher")


def panel(page: Page) -> Locator:
    return page.locator("glossator-chat [part=panel]")


def field_of(page: Page) -> Locator:
    """The input of the question."""
    return page.locator("glossator-chat textarea")


def messages(page: Page) -> Locator:
    """The turns, oldest first."""
    return page.locator("glossator-chat [part=message]")


def answers(page: Page) -> Locator:
    return page.locator("glossator-chat [part=answer]")


def marks(page: Page) -> Locator:
    return page.locator("glossator-chat [part=mark]")


def button(page: Page, name: str) -> Locator:
    """A button of the chat, by its accessible name."""
    return page.locator("glossator-chat").get_by_role("button", name=name, exact=True)


def chat_text(page: Page, key: str, number: object = "") -> str:
    """An English text of the chat, by its key."""
    text: str = page.evaluate("key => customElements.get('glossator-chat').strings.en[key]", key)
    return text.replace("{n}", str(number))


def open_chat(page: Page, path: str = "/") -> Page:
    """A page with its chat open."""
    page.goto(path)
    launcher(page).click()
    expect(field_of(page)).to_be_focused()
    return page


def ask(page: Page, question: str, *, wait: bool = True) -> Locator:
    """Ask a question and wait for the end of the answer; gives the turn."""
    before = messages(page).count()
    field_of(page).fill(question)
    field_of(page).press("Enter")
    turn = messages(page).nth(before)
    expect(turn).to_be_visible()
    if wait:
        wait_until_idle(page)
    return turn


def wait_until_idle(page: Page) -> None:
    """Wait until no question is being answered."""
    expect(page.locator("glossator-chat .stop")).to_be_hidden()


def select(page: Page, selector: str) -> str:
    """Select the text of an element as a reader would; gives the selected text."""
    text: str = page.locator(selector).first.evaluate(
        "node => { const range = document.createRange(); range.selectNodeContents(node);"
        " const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range); return chosen.toString(); }"
    )
    return text


@dataclass
class HeldRequests:
    """Requests of the page that wait until a test releases them."""

    page: Page
    bodies: list[Body] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)

    def hold(self, route: Route) -> None:
        self.bodies.append(json.loads(route.request.post_data or "{}"))
        self.routes.append(route)

    def release(self, stream: str) -> None:
        """Answer the oldest request, once it has arrived."""
        deadline = time.monotonic() + 10
        while not self.routes and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        self.routes.pop(0).fulfill(status=200, headers=CORS_HEADERS, content_type="text/event-stream", body=stream)


def hold_requests(page: Page) -> HeldRequests:
    """Hold back the answers to the page's questions."""
    requests = HeldRequests(page)
    page.route("**/chat/stream", requests.hold)
    return requests


def script_answers(page: Page, *streams: str) -> list[Body]:
    """Answer questions with these streams, the last one repeatedly; gives the list of request bodies."""
    bodies: list[Body] = []

    def fulfil(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or "{}"))
        body = streams[min(len(bodies), len(streams)) - 1]
        route.fulfill(status=200, headers=CORS_HEADERS, content_type="text/event-stream", body=body)

    page.route("**/chat/stream", fulfil)
    return bodies


CHAT = '<glossator-chat endpoint="{address}" {attributes}></glossator-chat>'
SCRIPT = '<script type="module" src="{address}/widget.js"></script>'
QUOTE = f"{FACT} of the moment of gravity and inertia forces vanish."
HIGHLIGHTED = "() => [...(CSS.highlights.get('glossator') ?? [])].map(String)"
CONVEX = "Convex hull means the shape that a rubber band would take"
OFFER = "glossator-chat [part=offer]"
CHOSEN_TEXT = "glossator-chat [part=panel] .quote:not([part=message] *)"


def embedded(site: Site, address: str, attributes: str = "", path: str = "/page") -> str:
    """The address of a page of another origin with the chat in it."""
    return site.add(path, (CHAT + SCRIPT).format(address=address, attributes=attributes))


def wait_for_timers(page: Page) -> None:
    """Wait until every short timer that the page has set by now has run."""
    page.evaluate("new Promise(resolve => setTimeout(resolve, 500))")


def choose_text(page: Page, selector: str) -> str:
    """Select the text of an element and accept the offer to ask about it; gives the text."""
    text = select(page, selector)
    page.locator(OFFER).click()
    expect(field_of(page)).to_be_focused()
    return text


def choose_convex_paragraph(page: Page) -> None:
    page.goto(BALANCE)
    choose_text(page, f"article p:has-text('{CONVEX}')")
