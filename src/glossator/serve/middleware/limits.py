"""Limits of a request: its size, how many run at once, and how long each may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glossator.core.settings import Settings
from glossator.serve.middleware.rate_limit import RateLimiter, client_key
from glossator.serve.problems import VALIDATION_ERROR, RequestRejected

MAX_HEADER_BYTES = 65_536
MAX_QUERY_PARAMETERS = 100
BODY_TIMEOUT_SECONDS = 15.0
UNLIMITED_PATHS = frozenset(
    ("/livez", "/readyz", "/health", "/ask/health", "/metrics", "/style.css", "/docs", "/openapi.json", "/llms.txt")
)
"""Cheap paths, which must respond even when the server is overloaded."""


class LimitsMiddleware:
    """Rejects requests that are too large, too frequent, too many at once or too slow."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        rate_limiter: RateLimiter | None = None,
        *,
        body_timeout_seconds: float = BODY_TIMEOUT_SECONDS,
        max_header_bytes: int = MAX_HEADER_BYTES,
    ) -> None:
        self.app = app
        self.max_header_bytes = max_header_bytes
        self.max_body_bytes = settings.max_body_bytes
        self.body_timeout_seconds = body_timeout_seconds
        self.request_timeout_seconds = settings.request_seconds
        self.rate_limiter = rate_limiter
        self.concurrency = ConcurrencyLimit(settings.max_running, settings.max_waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._check_headers(scope)
            _check_encoding(scope)
        if scope["type"] != "http" or scope["path"] in UNLIMITED_PATHS or scope["method"] == "OPTIONS":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        if self.rate_limiter is not None:
            await self.rate_limiter.check(client_key(request))
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.max_body_bytes:
            raise _body_too_large(self.max_body_bytes)
        body = _LimitedBody(receive, self.max_body_bytes, self.body_timeout_seconds)
        try:
            async with asyncio.timeout(self.request_timeout_seconds) as timeout, self.concurrency.slot():
                await self.app(scope, body.receive, send)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise RequestRejected(
                HTTPStatus.GATEWAY_TIMEOUT,
                "TIMEOUT",
                "The request timed out.",
                "Try again, or send a shorter question.",
            ) from None

    def _check_headers(self, scope: Scope) -> None:
        """The HTTP parser limits headers while it waits for the rest of them, but not those that arrive complete."""
        size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) + len(b": \r\n") for name, value in scope["headers"])
        if size > self.max_header_bytes:
            raise _HeadersTooLarge
        if scope.get("query_string", b"").count(b"&") >= MAX_QUERY_PARAMETERS:
            raise RequestRejected(HTTPStatus.BAD_REQUEST, VALIDATION_ERROR, "Too many query parameters.")
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            raise _AmbiguousLength


def _check_encoding(scope: Scope) -> None:
    """No body is decoded: an encoding would hide its size from the limits."""
    encodings = Headers(scope=scope).getlist("content-encoding")
    if any(encoding.strip().lower() not in ("", "identity") for encoding in encodings):
        raise _UnsupportedEncoding


class _UnsupportedEncoding(RequestRejected):
    headers = {"Accept-Encoding": "identity"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        super().__init__(status, status.name, "Compressed request bodies are not supported.", "Omit Content-Encoding.")


class _AmbiguousLength(RequestRejected):
    """A proxy in front may believe the other header, and take the rest of the body for another request."""

    headers = {"Connection": "close"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        message = "The request has both Content-Length and Transfer-Encoding."
        super().__init__(HTTPStatus.BAD_REQUEST, VALIDATION_ERROR, message, "Send only one of them.")


class _HeadersTooLarge(RequestRejected):
    headers = {"Connection": "close"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        super().__init__(status, status.name, "The request headers are too large.")


def _body_too_large(max_bytes: int) -> RequestRejected:
    message = f"The request body is larger than {max_bytes:,} bytes."
    return RequestRejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)


class _LimitedBody:
    """Wraps `receive` to limit the size of the body and the time until it is complete; later messages pass through."""

    def __init__(self, receive: Receive, max_bytes: int, timeout_seconds: float) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._deadline: float | None = None
        self._received_bytes = 0
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise RequestRejected(
                HTTPStatus.REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "The request body did not arrive in time."
            ) from None
        self._received_bytes += len(message.get("body", b""))
        if self._received_bytes > self._max_bytes:
            raise _body_too_large(self._max_bytes)
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class ConcurrencyLimit:
    """At most `max_running` requests at once and `max_waiting` in the queue; the next one is rejected."""

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self._slots = asyncio.Semaphore(max_running)
        self._max_waiting = max_waiting
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot, after waiting for one if need be."""
        if self._slots.locked() and self._waiting >= self._max_waiting:
            raise RequestRejected(
                HTTPStatus.TOO_MANY_REQUESTS, "OVERLOADED", "The server is overloaded.", "Try again.", 1
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()
