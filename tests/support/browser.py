"""Shared by the tests in a browser: Chromium, the sample book behind a real server, and a site of another origin."""

from __future__ import annotations

import gc
import json
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Route, expect, sync_playwright

import glossator
from commands import quick_folder
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from paths import BOOK
from servers import PATIENT, running

Body = dict[str, Any]
OpenPage = Callable[..., Page]

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu"]
PATIENCE = 15_000
"""Milliseconds in which what a test waits for must happen, also where the machine is busy."""
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
GLOSSARY, BALANCE = "/book/glossary", "/book/motion/balance"
QUESTION = "What is the zero-moment point?"
FACT = "The zero-moment point is the point on the ground about which the horizontal components"
"""The beginning of the answer, which is the glossary's."""
OUT_OF_SCOPE = "Who won the football match in Lisbon yesterday evening?"
SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}
SESSION = "3f0e8a52-6d0f-4a53-9c0f-0d6f0a1b2c3d"


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A port that is ours before anything is served on it: a book's addresses hold it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(("127.0.0.1", 0))
        yield opened


def address_of(opened: socket.socket) -> str:
    return f"http://127.0.0.1:{opened.getsockname()[1]}"


@contextmanager
def serving(folder: Path, on: socket.socket, **settings: Any) -> Iterator[str]:
    """The address of a server in this process."""
    with running(create_app(load_settings(data_dir=folder, **settings)), on, http=PATIENT) as address:
        yield address


@dataclass(frozen=True)
class Site:
    """A plain site of another origin: whatever pages a test gives it."""

    url: str
    pages: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, body: str, head: str = "") -> str:
        """The address of a page with this in it."""
        self.pages[path] = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>'
            f'<link rel="icon" href="data:,">{head}</head><body><main><h1>A site</h1>{body}</main></body></html>'
        )
        return self.url + path


@contextmanager
def running_site() -> Iterator[Site]:
    pages: dict[str, str] = {}

    class Sender(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = pages.get(self.path.partition("?")[0])
            content = (found or "").encode()
            self.send_response(200 if found else 404)
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
        yield Site(f"http://127.0.0.1:{server.server_port}", pages)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site whose pages may ask the book."""
    with running_site() as running:
        yield running


@pytest.fixture(scope="module")
def shelf(sample_data: Path) -> Iterator[tuple[Path, socket.socket]]:
    """The sample book, with the port that its addresses name."""
    with quick_folder() as folder, listening() as on:
        data = Path(shutil.copytree(sample_data, folder / "data", symlinks=True))
        with glossator.open(data) as book:
            book.ingest(BOOK, base_url=f"{address_of(on)}/book", only=True)
        yield data, on


@pytest.fixture(scope="module")
def address(shelf: tuple[Path, socket.socket], site: Site) -> Iterator[str]:
    """A server with that book and no language model; its citations are pages of its own."""
    with serving(*shelf, cors_origins=site.url) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module: with one for the session no loop could run in the tests after it.

    Garbage is collected when it has gone: Python 3.11 was seen to crash now and then when it did so within the driver.
    """
    if PROGRAM is None:
        pytest.skip("Chromium is not installed (on Debian: apt install chromium)")
    gc.disable()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        yield opened
        opened.close()
    gc.enable()
    gc.collect()


@dataclass
class Complaints:
    """What pages complained about in their consoles; a test says which of it has to be."""

    heard: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        self.allowed.append(pattern)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._note)
        context.on("weberror", lambda error: self.heard.append(f"uncaught: {error.error}"))

    def unexpected(self) -> list[str]:
        return [one for one in self.heard if not any(re.search(pattern, one) for pattern in self.allowed)]

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.heard.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


@pytest.fixture
def complaints() -> Complaints:
    """Which complaints of a page a test allows: `complaints.allow("404")`."""
    return Complaints()


@pytest.fixture
def open_page(chromium: Browser, address: str, complaints: Complaints) -> Iterator[OpenPage]:
    """Opens pages in contexts of their own, with any options of Playwright's; a page that complains fails the test."""
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Page:
        context = chromium.new_context(
            **{"base_url": address, "viewport": DESKTOP, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        complaints.watch(context)
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    expect.set_options(timeout=PATIENCE)
    yield opened
    for context in contexts:
        context.unroute_all(behavior="ignoreErrors")
        context.close()
    assert not complaints.unexpected()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page in a context of its own, on a desktop."""
    return open_page()


def launcher(page: Page) -> Locator:
    """The floating button."""
    return page.locator("glossator-chat .launcher")


def panel(page: Page) -> Locator:
    return page.locator("glossator-chat [part=panel]")


def field_of(page: Page) -> Locator:
    """Where the question is written."""
    return page.locator("glossator-chat textarea")


def messages(page: Page) -> Locator:
    """The exchanges, oldest first."""
    return page.locator("glossator-chat [part=message]")


def answers(page: Page) -> Locator:
    return page.locator("glossator-chat [part=answer]")


def marks(page: Page) -> Locator:
    return page.locator("glossator-chat [part=mark]")


def button(page: Page, name: str) -> Locator:
    """A button of the chat, by the name that is spoken."""
    return page.locator("glossator-chat").get_by_role("button", name=name, exact=True)


def said(page: Page, key: str, number: object = "") -> str:
    """What the chat says under this name, in English."""
    text: str = page.evaluate("key => customElements.get('glossator-chat').strings.en[key]", key)
    return text.replace("{n}", str(number))


def open_chat(page: Page, path: str = "/") -> Page:
    """A page with its chat open."""
    page.goto(path)
    launcher(page).click()
    expect(field_of(page)).to_be_focused()
    return page


def ask(page: Page, question: str, *, wait: bool = True) -> Locator:
    """The exchange that a question begins; unless told otherwise, when it has ended."""
    before = messages(page).count()
    field_of(page).fill(question)
    field_of(page).press("Enter")
    turn = messages(page).nth(before)
    expect(turn).to_be_visible()
    if wait:
        settled(page)
    return turn


def settled(page: Page) -> None:
    """Wait until nothing is being answered."""
    expect(page.locator("glossator-chat .stop")).to_be_hidden()


def select(page: Page, selector: str) -> str:
    """Select the text of an element as a reader would; gives what is selected."""
    text: str = page.locator(selector).first.evaluate(
        "node => { const range = document.createRange(); range.selectNodeContents(node);"
        " const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range); return chosen.toString(); }"
    )
    return text


def cited(source_url: str, quote: str, *, title: str = "Balance", section: str = "Zero-moment point") -> Body:
    """A source, and the words that are quoted of it."""
    return {
        "source_url": source_url,
        "title": title,
        "section": section,
        "chunk_position": 1,
        "similarity_score": 0.87,
        "snippet": quote,
        "quote": quote,
    }


def events(text: str, *sources: Body, **about: Any) -> str:
    """An answer as `/chat/stream` sends it, in several deltas."""
    size = max(1, len(text) // 3)
    deltas = [("delta", {"delta": text[at : at + size]}) for at in range(0, len(text), size)]
    metadata = {
        "query_time_ms": 12.5,
        "retrieval_count": 5,
        "mode": "full",
        "request_id": SESSION,
        "session_id": SESSION,
        "receipt_id": "01receipt",
        "stored": True,
        "degraded": False,
        "abstained": False,
        "low_confidence": False,
        "confidence": 0.9,
        "fallback_message": None,
        "withheld": 0,
        "suggestions": [],
        "citations": [{"number": n, "quote": one["quote"], "start": 0, "end": 1} for n, one in enumerate(sources, 1)],
        "verdicts": [{"citations": [n], "status": "supported", "score": 0.9} for n in range(1, len(sources) + 1)],
        **about,
    }
    given = [{key: value for key, value in source.items() if key != "quote"} for source in sources]
    told = [*deltas, ("sources", {"sources": given, "metadata": metadata}), ("done", {"done": True})]
    return "".join(f"id: x:{n}\nevent: {name}\ndata: {json.dumps(data)}\n\n" for n, (name, data) in enumerate(told, 1))


@dataclass
class Held:
    """A question that the page has asked and that is answered when a test says so."""

    asked: list[Body] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)

    def hold(self, route: Route) -> None:
        self.asked.append(json.loads(route.request.post_data or "{}"))
        self.routes.append(route)

    def release(self, stream: str) -> None:
        """Answer the oldest that waits."""
        self.routes.pop(0).fulfill(status=200, headers=SHARED, content_type="text/event-stream", body=stream)


def held(page: Page) -> Held:
    """Keep the page's questions waiting."""
    found = Held()
    page.route("**/chat/stream", found.hold)
    return found


def scripted(page: Page, *streams: str) -> list[Body]:
    """Answer the page's questions with these streams, the last one for ever; gives what it asks, as it asks."""
    asked: list[Body] = []

    def fulfil(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or "{}"))
        body = streams[min(len(asked), len(streams)) - 1]
        route.fulfill(status=200, headers=SHARED, content_type="text/event-stream", body=body)

    page.route("**/chat/stream", fulfil)
    return asked


MARKDOWN = """## Steps

1. Measure the **forces**
2. Compute the *point*
   - inside the polygon
   - outside it

| Robot | Mass |
|---|---|
| Atlas | 89 kg |

```python
print("<b>zmp</b>")
```

See [the glossary](https://example.org/glossary) and `p_x`. [1]
"""
CHAT = '<glossator-chat endpoint="{address}" {attributes}></glossator-chat>'
SCRIPT = '<script type="module" src="{address}/widget.js"></script>'
SHORT = events("Yes. [1]", cited("/book/glossary", "yes"))
QUOTE = f"{FACT} of the moment of gravity and inertia forces vanish."
LIT = "() => [...(CSS.highlights.get('glossator') ?? [])].map(String)"
CONVEX = "Convex hull means the shape that a rubber band would take"
OFFER = "glossator-chat [part=offer]"
CHOSEN = "glossator-chat [part=panel] .quote:not([part=message] *)"


def embedded(site: Site, address: str, attributes: str = "", path: str = "/page") -> str:
    """The address of a page of another origin with the chat in it."""
    return site.add(path, (CHAT + SCRIPT).format(address=address, attributes=attributes))


def later(page: Page) -> None:
    """After every timer of the page that is set by now and is short: they run in their order."""
    page.evaluate("new Promise(resolve => setTimeout(resolve, 500))")


def take(page: Page, selector: str) -> str:
    """Select the text of an element, and accept the offer to ask about it."""
    text = select(page, selector)
    page.locator(OFFER).click()
    expect(field_of(page)).to_be_focused()
    return text


def take_convex(page: Page) -> None:
    page.goto(BALANCE)
    take(page, f"article p:has-text('{CONVEX}')")
