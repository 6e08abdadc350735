"""A proxy between the page and the real server that loses connections and sends canned responses."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.testclient import TestClient

import browser
import doors
from browser import button, chat_text, messages, wait_until_idle
from doors import FACT, QUESTION
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from llm_server import LlmServer, says

data, model = doors.data, doors.model
SENTENCES = (
    FACT,
    "Miomir Vukobratović introduced it in 1968.",
    "A robot keeps its balance as long as this point stays inside the support polygon of its feet.",
)
REQUEST_BODY = {"query": QUESTION, "selected_text": None, "session_id": None}
"""The body of the first request of a conversation."""
MAX_WAIT_SECONDS = 60.0
DROPPED_HEADERS = {"connection", "transfer-encoding", "content-length", "date", "server"}
Piece = bytes | threading.Event


@dataclass(frozen=True)
class CannedResponse:
    """A response to a question, in pieces; at an event the proxy waits for it. It may break off at the end."""

    status: int
    headers: dict[str, str]
    pieces: tuple[Piece, ...]
    breaks: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    @property
    def events(self) -> list[bytes]:
        return [part + b"\n\n" for part in self.body.split(b"\n\n")[:-1]]

    def with_pieces(self, *pieces: Piece, breaks: bool = False) -> CannedResponse:
        return replace(self, pieces=pieces, breaks=breaks)


NO_RESPONSE = CannedResponse(0, {}, ())
"""The connection is lost before anything is sent."""


@dataclass
class FaultyProxy:
    """A proxy in front of the real server that answers questions with canned responses, if there are any."""

    url: str = ""
    upstream_url: str = ""
    replies: list[CannedResponse] = field(default_factory=list)
    token_reply: CannedResponse | None = None
    """The response to a page that requests a token."""
    bodies: list[Any] = field(default_factory=list)
    resumed: list[str | None] = field(default_factory=list)

    def next_reply(self, path: str, body: bytes, last_event_id: str | None) -> CannedResponse | None:
        if path == "/widget/token":
            return self.token_reply
        if path != "/chat/stream":
            return None
        self.bodies.append(json.loads(body))
        self.resumed.append(last_event_id)
        return self.replies.pop(0) if self.replies else None


class Handler(BaseHTTPRequestHandler):
    """Sends canned responses to questions, and forwards everything else."""

    proxy: FaultyProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        reply = None
        if self.command == "POST":
            reply = self.proxy.next_reply(self.path, body, self.headers.get("Last-Event-ID"))
        try:
            self._send_canned(reply) if reply else self._forward(body)
        except OSError:  # the page has disconnected
            return

    do_POST = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - the names that http.server calls

    def _send_canned(self, reply: CannedResponse) -> None:
        if reply.status:
            self._begin(reply.status, reply.headers)
        for piece in reply.pieces:
            if isinstance(piece, threading.Event):
                piece.wait(MAX_WAIT_SECONDS)
            else:
                self._send(piece)
        if reply.breaks or not reply.status:
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(b"")

    def _forward(self, body: bytes) -> None:
        given = urlsplit(self.proxy.upstream_url)
        with closing(http.client.HTTPConnection(given.hostname or "", given.port)) as upstream:
            upstream.request(self.command, self.path, body or None, dict(self.headers))
            response = upstream.getresponse()
            self._begin(response.status, dict(response.getheaders()))
            while piece := response.read1():
                self._send(piece)
            self._send(b"")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in DROPPED_HEADERS:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        if status not in (204, 304):
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def shared_proxy(data: Path, model: LlmServer) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy()
    handler = type("Bound", (Handler,), {"proxy": proxy})
    with browser.bound_socket() as on, browser.serving(data, on, **llm_settings(model)) as upstream_url:
        proxy.upstream_url = upstream_url
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads, server.block_on_close = True, False
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            proxy.url = f"http://127.0.0.1:{server.server_port}"
            yield proxy
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def address(shared_proxy: FaultyProxy) -> str:
    return shared_proxy.url


@pytest.fixture
def proxy(shared_proxy: FaultyProxy, model: LlmServer, console_errors: browser.ConsoleErrors) -> FaultyProxy:
    """The proxy without canned responses, in front of a server that answers in three sentences."""
    shared_proxy.replies, shared_proxy.bodies, shared_proxy.resumed = [], [], []
    model.script(says("\n\n".join(f"{sentence} [Source 1]" for sentence in SENTENCES), size=50, interval=0.01))
    console_errors.allow("Failed to load resource")
    return shared_proxy


def llm_settings(model: LlmServer) -> dict[str, Any]:
    return {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}


def record_response(
    data: Path, body: Any = REQUEST_BODY, headers: dict[str, str] | None = None, **settings: Any
) -> CannedResponse:
    """The response of a real server with these settings."""
    app = create_app(load_settings(data_dir=data, **settings))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        return canned(client.post("/chat/stream", json=body, headers=headers))


def canned(response: Any) -> CannedResponse:
    return CannedResponse(response.status_code, dict(response.headers), (response.content,))


@pytest.fixture
def stream(proxy: FaultyProxy) -> CannedResponse:
    """A complete answer of the upstream server, which can resume it."""
    return canned(httpx.post(f"{proxy.upstream_url}/chat/stream", json=REQUEST_BODY, timeout=MAX_WAIT_SECONDS))


def error_box(turn: Locator) -> Locator:
    return turn.locator("[part=trouble]")


def expect_complete(page: Page, turn: Locator) -> None:
    """The answer has every sentence exactly once, and there is no error."""
    wait_until_idle(page)
    expect(turn.locator("[part=mark]")).to_have_count(len(SENTENCES))
    for sentence in map(re.escape, SENTENCES):
        once = re.compile(f"^((?!{sentence}).)*{sentence}((?!{sentence}).)*$", re.DOTALL)
        expect(turn.locator("[part=answer]")).to_have_text(once, use_inner_text=True)
    expect(turn.locator(".question")).to_contain_text(QUESTION)
    expect(error_box(turn)).to_have_count(0)


def expect_error(page: Page, turn: Locator, kind: str) -> None:
    """The error is explained, and the question is still there."""
    expect(error_box(turn)).to_contain_text(chat_text(page, kind))
    expect(turn.locator(".question")).to_contain_text(QUESTION)
    wait_until_idle(page)


def retry(page: Page, turn: Locator) -> None:
    """A retry succeeds, in the same turn."""
    button(page, chat_text(page, "retry")).click()
    expect_complete(page, turn)
    expect(messages(page)).to_have_count(1)


def rate_limited(data: Path, *_: object) -> CannedResponse:
    app = create_app(load_settings(data_dir=data, rate_per_minute=1))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        while (response := client.post("/chat/stream", json={})).status_code != 429:
            pass
    return canned(response)
