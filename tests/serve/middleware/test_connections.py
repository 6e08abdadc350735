"""Connections: slow or oversized headers, pipelining and keep-alive, sent as raw bytes to a real server."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api_requests import (
    QUESTIONS,
    TIMEOUT_SECONDS,
    llm_settings,
)
from app_server import running
from doors import FACT
from glossator.core.settings import load_settings
from glossator.serve.app import ServerOptions, create_app
from glossator.serve.middleware.http_protocol import TimeoutProtocol
from llm_server import LlmServer, drips, searches, stalls

pytestmark = pytest.mark.slow

SEARCH_BODY = b'{"query": "zero-moment point"}'
GET_LIVEZ = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
GET_LIVEZ_HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
POST_SEARCH_HEAD = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class HastyProtocol(TimeoutProtocol):
    """Hardly waits for headers."""

    header_timeout_seconds = 0.5


class BriskProtocol(TimeoutProtocol):
    """Waits long enough for a client that sends its headers at once, even on a busy machine."""

    header_timeout_seconds = 2.0


class UnhurriedProtocol(TimeoutProtocol):
    header_timeout_seconds = TIMEOUT_SECONDS


Address = tuple[str, int]


@contextmanager
def listening(
    data: Path, protocol: type[TimeoutProtocol] = TimeoutProtocol, max_header_bytes: int = 65_536, **settings: Any
) -> Iterator[Address]:
    """The address of a server as `glossator serve` starts it, in this process."""
    app = create_app(load_settings(data_dir=data, **settings), options=ServerOptions(max_header_bytes=max_header_bytes))
    options: dict[str, Any] = {"ws": "none", "proxy_headers": False, "timeout_keep_alive": 60}
    with running(app, http=protocol, h11_max_incomplete_event_size=max_header_bytes, **options) as url:
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        yield parts.hostname, parts.port


@pytest.fixture
def address(data: Path) -> Iterator[Address]:
    """A server with the default limits."""
    with listening(data, max_body_bytes=10_000) as found:
        yield found


@pytest.fixture
def hasty(data: Path) -> Iterator[Address]:
    """A server that hardly waits for headers, and accepts few of them."""
    with listening(data, HastyProtocol, 2000, max_body_bytes=10_000) as found:
        yield found


@pytest.fixture
def brisk(data: Path) -> Iterator[Address]:
    """A server with a short header timeout, and a low limit of their size."""
    with listening(data, BriskProtocol, 2000, max_body_bytes=10_000) as found:
        yield found


@pytest.fixture
def unhurried(data: Path) -> Iterator[Address]:
    """A server that waits for headers as long as a test lasts."""
    with listening(data, UnhurriedProtocol, max_body_bytes=10_000) as found:
        yield found


class RawConnection:
    """A connection to a server, for raw bytes."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection(address)
        self.socket.settimeout(TIMEOUT_SECONDS / 2)
        self.received = b""
        self.closed = False

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *pieces: bytes, interval: float = 0.0) -> None:
        try:
            for piece in pieces:
                self.socket.sendall(piece)
                time.sleep(interval)
        except OSError:
            self.closed = True

    def receive(self, until: bytes = b"") -> bytes:
        """Everything received up to these bytes, or until the server closes the connection."""
        try:
            while not self.closed and not (until and until in self.received):
                piece = self.socket.recv(65_536)
                self.received += piece
                self.closed = not piece
        except TimeoutError:
            pass
        except OSError:
            self.closed = True
        return self.received

    def flood(self, piece: bytes, interval: float, max_bytes: int = 10**9) -> bool:
        """Send a piece again and again; whether the server closed the connection."""
        deadline = time.monotonic() + TIMEOUT_SECONDS / 4
        sent = 0
        while not self.closed and time.monotonic() < deadline and sent < max_bytes:
            self.send(piece, interval=interval)
            sent += len(piece)
        return self.closed


def headers(size: int) -> bytes:
    """Short headers that add up to this many bytes."""
    line = b"X-Filler: " + b"x" * 88 + b"\r\n"
    return line * (size // len(line) + 1)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"G",
        GET_LIVEZ_HEAD[:20],
        GET_LIVEZ_HEAD,
        GET_LIVEZ_HEAD + b"X-Half: a",
        POST_SEARCH_HEAD + b"Content-Le",
    ],
    ids=["nothing", "one byte", "half a request line", "no headers", "half a header", "half a POST"],
)
def test_connection_without_complete_headers_is_closed(hasty: Address, start: bytes) -> None:
    with RawConnection(hasty) as connection:
        connection.send(start)
        assert connection.receive() == b""
        assert connection.closed


def test_blank_line_instead_of_a_request_is_rejected(hasty: Address) -> None:
    with RawConnection(hasty) as connection:
        connection.send(b"\r\n")
        assert connection.receive().startswith(b"HTTP/1.1 400 ")
        assert connection.closed


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade"])
def test_http2_upgrade_offer_does_not_lose_the_body(address: Address, name: bytes) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\n" + name + b": h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    body = b'{"query": ""}'
    with RawConnection(address) as connection:
        for _ in range(2):
            connection.received = b""
            connection.send(POST_SEARCH_HEAD + upgrade + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert b"query is too short" in connection.receive(until=b"}")


def test_dripping_headers_time_out(hasty: Address) -> None:
    with RawConnection(hasty) as connection:
        connection.send(GET_LIVEZ_HEAD + b"X-Drip: ")
        assert connection.flood(b"x", interval=0.02)


@pytest.mark.parametrize("start", [b"G", GET_LIVEZ_HEAD + b"X-Half: a"])
def test_incomplete_second_request_times_out(brisk: Address, start: bytes) -> None:
    with RawConnection(brisk) as connection:
        connection.send(GET_LIVEZ)
        assert connection.receive(until=b"ok").endswith(b"ok")
        connection.send(start)
        assert connection.receive().endswith(b"ok")
        assert connection.closed


def test_blank_lines_do_not_keep_a_connection_open(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        connection.send(GET_LIVEZ)
        assert connection.receive(until=b"ok").endswith(b"ok")
        connection.send(b"\r\n")
        connection.receive()
        assert connection.closed


@pytest.mark.parametrize("pieces", [1, 2, 50])
def test_headers_over_the_limit_are_rejected(brisk: Address, pieces: int) -> None:
    """Also if they arrive all at once. The excess is sent last, as a reset could otherwise discard the response."""
    whole = GET_LIVEZ_HEAD + headers(1600) + headers(800)
    cut = len(whole) - 900
    size = cut // pieces
    with RawConnection(brisk) as connection:
        parts = [whole[at : min(at + size, cut)] for at in range(0, cut, size)] if pieces > 1 else []
        connection.send(*parts, whole[cut:] + b"\r\n" if parts else whole + b"\r\n")
        assert connection.receive().startswith(b"HTTP/1.1 431 ")
        assert connection.closed


def test_url_over_the_limit_is_rejected(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        connection.send(b"GET /" + b"x" * 4000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.receive().startswith(b"HTTP/1.1 431 ")
        assert connection.closed


def test_headers_within_the_limit_are_accepted(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        for _ in range(3):
            connection.send(GET_LIVEZ_HEAD + headers(1600) + b"\r\n")
            connection.receive(until=b"ok")
            assert connection.received.startswith(b"HTTP/1.1 200 ")
            connection.received = b""


def test_default_header_limit_is_between_32_kilobytes_and_a_megabyte(address: Address) -> None:
    with RawConnection(address) as connection:
        connection.send(GET_LIVEZ_HEAD + headers(32_000) + b"\r\n")
        assert connection.receive(until=b"ok").startswith(b"HTTP/1.1 200 ")
    with RawConnection(address) as connection:
        connection.send(GET_LIVEZ_HEAD)
        assert connection.flood(headers(20_000), interval=0, max_bytes=1_000_000)


def test_trailers_over_the_limit_are_rejected(brisk: Address) -> None:
    """Trailers come after the body, and do not count towards its size limit."""
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(SEARCH_BODY), SEARCH_BODY)
    with RawConnection(brisk) as connection:
        connection.send(POST_SEARCH_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        assert connection.flood(headers(10_000), interval=0.001, max_bytes=5_000_000)


def test_endless_chunk_extension_is_rejected(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        connection.send(POST_SEARCH_HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;name=")
        assert connection.flood(b"x" * 10_000, interval=0.001, max_bytes=5_000_000)


@pytest.mark.parametrize(
    "announced",
    [b"Content-Length: 100000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"],
    ids=["content-length", "chunked"],
)
def test_rejected_body_is_not_read_endlessly(brisk: Address, announced: bytes) -> None:
    piece = b"x" * 4000
    if b"chunked" in announced:
        piece = b"%x\r\n%s\r\n" % (len(piece), piece)
    with RawConnection(brisk) as connection:
        connection.send(POST_SEARCH_HEAD + announced)
        assert connection.flood(piece, interval=0.01)


def test_client_that_sends_slowly_after_a_rejection_is_disconnected(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        connection.send(POST_SEARCH_HEAD + b"Content-Length: 100000000\r\n\r\n")
        connection.receive(until=b"PAYLOAD_TOO_LARGE")
        connection.send(b"x")
        connection.receive()
        assert b"HTTP/1.1 413 " in connection.received
        assert connection.closed


def test_slow_headers_within_the_timeout_are_accepted(unhurried: Address) -> None:
    request = GET_LIVEZ_HEAD + b"X-Slow: " + b"x" * 40 + b"\r\n\r\n"
    with RawConnection(unhurried) as connection:
        connection.send(*(request[at : at + 4] for at in range(0, len(request), 4)), interval=1 / 20)
        assert connection.receive(until=b"ok").startswith(b"HTTP/1.1 200 ")


def test_keep_alive_may_exceed_the_header_timeout(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        for interval in (2.5, 0):
            connection.send(GET_LIVEZ, interval=interval)
            assert connection.receive(until=b"\r\n\r\nok").startswith(b"HTTP/1.1 200 ")
            connection.received = b""


def test_header_limits_do_not_apply_to_the_body(brisk: Address) -> None:
    body = SEARCH_BODY.ljust(9000)
    pieces = [body[at : at + 1000] for at in range(0, 9000, 1000)]
    with RawConnection(brisk) as connection:
        connection.send(POST_SEARCH_HEAD + b"Content-Length: 9000\r\n\r\n", *pieces, interval=0.25)
        assert connection.receive(until=b"time_ms").startswith(b"HTTP/1.1 200 ")
        connection.received = b""
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
        connection.send(POST_SEARCH_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\nX-Trailer: a\r\n\r\n")
        assert connection.receive(until=b"time_ms").startswith(b"HTTP/1.1 200 ")


def test_header_timeout_does_not_apply_to_the_answer(data: Path, model: LlmServer) -> None:
    model.script(searches(), drips(f"{FACT} [Source 1]", 2.5 / len(FACT)))
    with (
        listening(data, BriskProtocol, 2000, **llm_settings(model)) as (host, port),
        httpx.Client(base_url=f"http://{host}:{port}", timeout=60) as client,
    ):
        response = client.post("/ask", json=QUESTIONS["/ask"], timeout=TIMEOUT_SECONDS)
        assert FACT in response.json()["answer"]
        assert client.get("/livez").text == "ok"


def test_pipelined_requests_are_all_answered(brisk: Address) -> None:
    with RawConnection(brisk) as connection:
        connection.send(GET_LIVEZ * 4 + GET_LIVEZ_HEAD + b"Connection: close\r\n\r\n")
        assert connection.receive().count(b"HTTP/1.1 200 ") == 5


@pytest.mark.parametrize("path", ["/chat/stream", "/v1/chat/completions"])
def test_stream_that_exceeds_the_request_timeout_ends(data: Path, model: LlmServer, path: str) -> None:
    """It has begun, so its status is 200; but it must not look complete."""
    for seconds in (3, 12, 48):  # a busy machine may need longer to begin
        text = streamed_text(seconds, data, model, path)
        if FACT in text:
            break
    assert FACT in text
    assert not re.search(r'event: (sources|done)|"finish_reason": "stop"|\[DONE\]', text)


def streamed_text(seconds: int, data: Path, model: LlmServer, path: str) -> str:
    model.script(searches(), stalls(f"{FACT} [Source 1] A leg of a humanoid has 6 joints. [Source 2] And then"))
    settings: dict[str, Any] = llm_settings(model) | {"request_seconds": seconds, "answer_seconds": 600}
    body = QUESTIONS[path] | ({} if path.endswith("/stream") else {"stream": True})
    text = ""
    with (
        listening(data, **settings) as (host, port),
        httpx.Client(base_url=f"http://{host}:{port}", timeout=60) as client,
    ):
        with (
            suppress(httpx.RemoteProtocolError),
            client.stream("POST", path, json=body, timeout=TIMEOUT_SECONDS) as response,
        ):
            for line in response.iter_lines():
                text += line
        assert client.get("/livez").status_code == 200
    return text
