"""How much a client may ask: the size of a request, how often, how many at once, and for how long."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glossator.core.errors import SettingsError
from glossator.core.settings import Settings
from glossator.serve.middleware.context import context_of
from glossator.serve.problems import Refused

if TYPE_CHECKING:
    from throttled.asyncio import Throttled

BODY_SECONDS = 15.0
"""Within which a body must have come."""
UNLIMITED = frozenset(
    ("/livez", "/readyz", "/health", "/ask/health", "/metrics", "/style.css", "/docs", "/openapi.json", "/llms.txt")
)
"""Paths that cost nothing, and that must answer when everything else is busy."""
_PER_MINUTE = 120
"""Requests of one client where the server listens to others than this machine, and nothing is set."""
_REDIS_PAUSE = 5.0
"""Seconds that a Redis which failed is left alone: one that hangs would hold up every request."""
_log = logging.getLogger(__name__)


class Limits:
    """Refuses what is too large, too often, too many at once or too slow."""

    def __init__(self, app: ASGIApp, settings: Settings, rate: Rate | None = None) -> None:
        self.app = app
        self.most_bytes = settings.max_body_bytes
        self.seconds = settings.request_seconds
        self.rate = rate
        self.room = Room(settings.max_running, settings.max_waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED or scope["method"] == "OPTIONS":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        if self.rate is not None:
            await self.rate.check(client_of(request))
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.most_bytes:
            raise self._too_large()
        body = _Body(receive, self.most_bytes, self._too_large)
        try:
            async with asyncio.timeout(self.seconds) as clock, self.room.place():
                await self.app(scope, body.receive, send)
        except TimeoutError:
            if not clock.expired():
                raise
            raise Refused(
                HTTPStatus.GATEWAY_TIMEOUT, "TIMEOUT", "This took too long.", "Try again, or ask for less."
            ) from None

    def _too_large(self) -> Refused:
        limit = f"The body is larger than {self.most_bytes:,} bytes."
        return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "PAYLOAD_TOO_LARGE", limit)


class _Body:
    """A body as it comes, counted and timed; when it is whole, what comes next may take its time."""

    def __init__(self, receive: Receive, most: int, too_large: object) -> None:
        self._receive, self._most, self._too_large = receive, most, too_large
        self._got = 0
        self._whole = False
        self._until: float | None = None

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "The body did not come in time.") from None
        self._got += len(message.get("body", b""))
        if self._got > self._most:
            raise self._too_large()  # type: ignore[operator]
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class Room:
    """So many requests at once, and so many that wait for a place; the next is sent away."""

    def __init__(self, running: int, waiting: int) -> None:
        self._places = asyncio.Semaphore(running)
        self._most_waiting = waiting
        self.waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place, when there is one."""
        if self._places.locked():
            if self.waiting >= self._most_waiting:
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS, "OVERLOADED", "Too many requests are being served.", "Try again.", 1
                )
            self.waiting += 1
            try:
                await self._places.acquire()
            finally:
                self.waiting -= 1
        else:
            await self._places.acquire()
        try:
            yield
        finally:
            self._places.release()


def client_of(request: HTTPConnection) -> str:
    """Who is counted: the key, or the address that the request came from (a whole /64 of IPv6 is one client)."""
    caller = context_of(request).caller
    if caller.name not in ("open", "widget"):
        return f"key:{caller.name}"
    host = request.client.host if request.client else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"host:{host[:100]}"
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address.packed, 64), strict=False))


def per_minute(settings: Settings) -> int:
    """Requests a minute of one client; none are counted on a server for this machine alone, unless it is set."""
    if settings.rate_per_minute is not None:
        return settings.rate_per_minute
    return 0 if is_loopback(settings.host) else _PER_MINUTE


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Rate:
    """A bucket of tokens for each client, in memory or in Redis for all workers; without Redis, memory goes on."""

    def __init__(self, settings: Settings) -> None:
        self._most = per_minute(settings)
        self._url = _checked(settings.redis_url.get_secret_value())
        self._buckets: list[Throttled] = []
        self._without_redis_until = 0.0
        self._redis: Any = None

    async def check(self, client: str) -> None:
        """Take a token, or refuse."""
        wait = await self._wait(client)
        if wait > 0:
            seconds = math.ceil(wait)
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                "RATE_LIMITED",
                "Too many requests.",
                f"Try again in {seconds} s.",
                seconds,
            )

    async def _wait(self, client: str) -> float:
        self._buckets = self._buckets or self._open()
        now = asyncio.get_running_loop().time()
        for place, bucket in enumerate(self._buckets):
            if place < len(self._buckets) - 1 and now < self._without_redis_until:
                continue
            try:
                found = await bucket.limit(client)
            except Exception as error:
                if place == len(self._buckets) - 1:
                    raise
                self._without_redis_until = now + _REDIS_PAUSE
                _log.warning("Redis cannot be used (%s); this process counts alone", type(error).__name__)
                continue
            return max(found.state.retry_after, 0.001) if found.limited else 0.0
        return 0.0

    async def close(self) -> None:
        """Let go of Redis."""
        if self._redis is not None:
            await self._redis.connection_pool.disconnect()

    def _open(self) -> list[Throttled]:
        """Imported when the first request comes: the library takes half a second."""
        from throttled.asyncio import MemoryStore, RateLimiterType, RedisStore, Throttled, per_min

        redis = [RedisStore(self._url, {"SOCKET_TIMEOUT": 0.5})] if self._url else []
        self._redis = redis[0]._backend.get_client() if redis else None
        stores = [*redis, MemoryStore(options={"MAX_SIZE": 100_000})]
        quota = per_min(self._most, burst=max(5, self._most // 4))
        return [
            Throttled(using=RateLimiterType.GCRA.value, quota=quota, store=store, key_prefix="glossator:rate")
            for store in stores
        ]


def _checked(url: str) -> str:
    """An address of a Redis, or none; errors do not repeat it, for it may hold a password."""
    if url:
        from redis.asyncio.connection import parse_url

        try:
            parse_url(url)
        except ValueError:
            raise SettingsError(
                "GLOSSATOR_REDIS_URL is not the address of a Redis.", "Write redis://HOST:6379/0, or remove it."
            ) from None
    return url
