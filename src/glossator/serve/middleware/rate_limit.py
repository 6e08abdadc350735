"""Rate limits: requests per minute of each client, counted in memory or in Redis for all workers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr
from starlette.requests import HTTPConnection

from glossator.core.errors import SettingsError
from glossator.core.extras import require
from glossator.core.settings import Settings
from glossator.core.validation import is_loopback
from glossator.serve.auth.callers import ANYONE, READER, WIDGET
from glossator.serve.middleware.context import context_of
from glossator.serve.problems import RequestRejected

if TYPE_CHECKING:
    from throttled.asyncio import Throttled

_DEFAULT_PER_MINUTE = 120
"""If no limit is set and the server listens on more than the loopback interface."""
_MIN_BURST = 5
_MAX_CLIENTS_IN_MEMORY = 100_000
_REDIS_TIMEOUT_SECONDS = 0.5
_log = logging.getLogger(__name__)


def client_key(request: HTTPConnection) -> str:
    """What requests are counted by: the API key, or the client's address."""
    caller = context_of(request).caller
    return client_address(request) if caller.name in (ANYONE.name, READER.name, WIDGET) else f"key:{caller.name}"


def client_address(request: HTTPConnection) -> str:
    """The address of a client; an IPv6 /64 counts as one client."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"host:{host[:100]}"
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address.packed, 64), strict=False))


def requests_per_minute(settings: Settings) -> int:
    """The rate limit of one client; 0 means none, the default for a server on the loopback interface."""
    if settings.rate_per_minute is not None:
        return settings.rate_per_minute
    return 0 if is_loopback(settings.host) else _DEFAULT_PER_MINUTE


def request_limiter(settings: Settings) -> RateLimiter | None:
    """The limiter of requests; None if they are unlimited."""
    per_minute = requests_per_minute(settings)
    quota = Quota("rate", per_minute, burst=max(_MIN_BURST, per_minute // 4))
    return RateLimiter(quota, settings.redis_url) if per_minute else None


def failed_auth_limiter(settings: Settings) -> RateLimiter | None:
    """The limiter of requests without a valid key; None if they are unlimited."""
    per_minute = settings.failed_auth_per_minute
    return RateLimiter(Quota("failed-auth", per_minute, burst=per_minute), settings.redis_url) if per_minute else None


@dataclass(frozen=True, slots=True)
class Quota:
    """How many requests a client may send; quotas with different names are counted separately."""

    name: str
    per_minute: int
    burst: int


class RateLimiter:
    """A token bucket per client, in Redis if configured; while Redis is down, this process counts in memory."""

    def __init__(self, quota: Quota, redis_url: SecretStr, *, redis_cooldown_seconds: float = 5.0) -> None:
        """`redis_cooldown_seconds` is how long Redis is skipped after an error: a hanging one would delay everyone."""
        self._quota = quota
        self._redis_url = _checked_redis_url(redis_url.get_secret_value())
        self._redis_cooldown_seconds = redis_cooldown_seconds
        self._skip_redis_until = 0.0
        self._redis: Throttled | None = None
        self._memory: Throttled | None = None
        self._redis_client: Any = None

    async def check(self, client: str) -> None:
        """Count a request, or reject it if the client has used up its limit."""
        retry_after = math.ceil(await self._seconds_to_wait(client))
        if retry_after > 0:
            raise RequestRejected(
                HTTPStatus.TOO_MANY_REQUESTS,
                "RATE_LIMITED",
                "Too many requests.",
                f"Try again in {retry_after} s.",
                retry_after,
            )

    async def _seconds_to_wait(self, client: str) -> float:
        if self._memory is None:
            self._memory, self._redis = self._open()
        now = asyncio.get_running_loop().time()
        if self._redis is not None and now >= self._skip_redis_until:
            try:
                return await _take_token(self._redis, client)
            except Exception as error:
                self._skip_redis_until = now + self._redis_cooldown_seconds
                _log.warning(
                    "Redis is unavailable (%s); this process counts requests separately.", type(error).__name__
                )
        return await _take_token(self._memory, client)

    async def close(self) -> None:
        """Close the connections to Redis."""
        if self._redis_client is not None:
            await self._redis_client.connection_pool.disconnect()

    def _open(self) -> tuple[Throttled, Throttled | None]:
        """The buckets in memory, and those in Redis; imported on first use, as the library takes half a second."""
        from throttled.asyncio import MemoryStore, RateLimiterType, RedisStore, Throttled, per_min

        rate = per_min(self._quota.per_minute, burst=self._quota.burst)
        prefix = f"glossator:{self._quota.name}"

        def throttled(store: Any) -> Throttled:
            return Throttled(using=RateLimiterType.GCRA.value, quota=rate, store=store, key_prefix=prefix)

        memory = throttled(MemoryStore(options={"MAX_SIZE": _MAX_CLIENTS_IN_MEMORY}))
        if not self._redis_url:
            return memory, None
        redis = RedisStore(self._redis_url, {"SOCKET_TIMEOUT": _REDIS_TIMEOUT_SECONDS})
        self._redis_client = redis._backend.get_client()
        return memory, throttled(redis)


async def _take_token(bucket: Throttled, client: str) -> float:
    """Seconds until a token is available; 0 if one was taken."""
    result = await bucket.limit(client)
    return max(result.state.retry_after, 0.001) if result.limited else 0.0


def _checked_redis_url(url: str) -> str:
    """The URL, validated; an error does not repeat it, as it may contain a password."""
    if url:
        require("redis", "The Redis client (REDIS_URL)")
        from redis.asyncio.connection import parse_url

        try:
            parse_url(url)
        except ValueError:
            raise SettingsError(
                "REDIS_URL is not a valid Redis URL.", "Use redis://HOST:6379/0, or unset it."
            ) from None
    return url
