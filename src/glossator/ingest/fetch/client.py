"""Fetches one URL at a time within limits of size and time, following redirects itself so that each is checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from types import TracebackType
from urllib.parse import urljoin

import httpx2
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from glossator.core.errors import FetchRefused, SourceUnreachable
from glossator.core.resilience.retry import Backoff, is_transient_status, parse_retry_after
from glossator.ingest.fetch.cache import CachedPage, PageCache
from glossator.ingest.fetch.network import CheckedBackend
from glossator.ingest.fetch.transport import CheckedTransport
from glossator.ingest.fetch.urls import host_of, normalized

USER_AGENT = f"glossator/{version('glossator')}"
MAX_CONCURRENT_REQUESTS = 4
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Limits of what is fetched from one source."""

    allow_private: bool = False
    max_bytes: int = 10_000_000
    """Of a response, after decompression."""
    request_seconds: float = 30.0
    """For one attempt, its redirects included."""
    total_seconds: float = 3600.0
    max_redirects: int = 10
    backoff: Backoff = field(default_factory=lambda: Backoff(first_seconds=1.0, max_seconds=30.0, attempts=3))
    """If a server asks for a delay longer than `max_seconds`, the request fails at once."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response, at the URL where the redirects ended; `unchanged` means that the body is the cached one."""

    url: str
    status: int
    content_type: str = ""
    robots: str = ""
    body: bytes = b""
    unchanged: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()


class _Transient(Exception):
    """A failure that a retry may resolve, and the delay that the server asked for."""

    def __init__(self, error: SourceUnreachable, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.retry_after = retry_after


class Fetcher:
    """Fetches from the hosts of one source; may be used by several threads."""

    def __init__(self, policy: FetchPolicy, cache: PageCache | None = None) -> None:
        self._policy = policy
        self._cache = cache
        self._backend = CheckedBackend(allow_private=policy.allow_private)
        self._client = httpx2.Client(
            transport=CheckedTransport(self._backend, MAX_CONCURRENT_REQUESTS),
            headers={
                "User-Agent": USER_AGENT,
                "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5",
            },
            timeout=policy.request_seconds,
            trust_env=False,
        )
        self._ends_at = time.monotonic() + policy.total_seconds

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, url: str, may_follow: Callable[[str], None] | None = None, max_bytes: int | None = None) -> Response:
        """The response at a URL, with retries; `may_follow` raises an error for a redirect that is not wanted."""
        limit = max_bytes or self._policy.max_bytes
        with_retries = Retrying(
            stop=stop_after_attempt(self._policy.backoff.attempts),
            wait=self._retry_delay,
            retry=retry_if_exception_type(_Transient),
            reraise=True,
        )
        try:
            return with_retries(self._attempt, normalized(url), may_follow, limit)
        except _Transient as failure:
            raise failure.error from None

    @property
    def is_out_of_time(self) -> bool:
        return time.monotonic() >= self._ends_at

    def wait(self, seconds: float) -> None:
        """Sleep, at most until the time for the whole source is over."""
        time.sleep(min(seconds, max(0.0, self._ends_at - time.monotonic())))

    def _retry_delay(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.retry_after if isinstance(failure, _Transient) else None
        delay = self._policy.backoff.delay(state.attempt_number) if asked is None else asked
        return min(delay, max(0.0, self._ends_at - time.monotonic()))

    def _attempt(self, url: str, may_follow: Callable[[str], None] | None, max_bytes: int) -> Response:
        """Follow redirects from a URL to a response."""
        now = time.monotonic()
        if self.is_out_of_time:
            raise _out_of_time(self._policy.total_seconds)
        seen = {url}
        with self._backend.deadline(min(now + self._policy.request_seconds, self._ends_at)):
            while True:
                response, location = self._request(url, max_bytes)
                if location is None:
                    return response
                url = _target(url, location)
                if url in seen or len(seen) > self._policy.max_redirects:
                    raise FetchRefused(f"{url} redirects in a loop, or too often.")
                seen.add(url)
                if may_follow:
                    may_follow(url)

    def _request(self, url: str, max_bytes: int) -> tuple[Response, str | None]:
        """One request: its response, and where it redirects to."""
        cached = self._cache.get(url) if self._cache else None
        try:
            with self._client.stream("GET", url, headers=_validators(cached)) as response:
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    return Response(url, response.status_code), response.headers["location"]
                if cached and response.status_code == _NOT_MODIFIED:
                    return Response(url, 200, cached.content_type, cached.robots, cached.body, unchanged=True), None
                self._raise_for_status(url, response)
                body = _read(url, response, max_bytes) if response.is_success else b""
        except httpx2.TimeoutException:
            raise _Transient(_unreachable(url, "it took too long")) from None
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise _Transient(_unreachable(url, str(error) or type(error).__name__)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise FetchRefused(f"{url}: the response cannot be decoded.") from None
        content_type = response.headers.get("content-type", "")
        robots = "\n".join(response.headers.get_list("x-robots-tag"))  # each may name another robot
        fetched = Response(url, response.status_code, content_type, robots, body)
        self._store(fetched, response.headers.get("etag", ""), response.headers.get("last-modified", ""))
        return fetched, None

    def _store(self, fetched: Response, etag: str, last_modified: str) -> None:
        if self._cache and fetched.is_success:
            content = (fetched.url, fetched.content_type, fetched.robots, etag, last_modified, fetched.body)
            self._cache.put(CachedPage(*content))

    def _raise_for_status(self, url: str, response: httpx2.Response) -> None:
        status = response.status_code
        if not is_transient_status(status, also=range(500, 1000)):
            return
        error = _unreachable(url, f"status {status}")
        asked = parse_retry_after(response.headers.get("retry-after"))
        if asked is not None and asked > self._policy.backoff.max_seconds:
            raise SourceUnreachable(error.message, f"Try again in {asked:.0f} seconds, as the server requests.")
        raise _Transient(error, asked)


def _read(url: str, response: httpx2.Response, max_bytes: int) -> bytes:
    """The decompressed body; the client decompresses in small pieces, so that a bomb ends at the limit."""
    content = bytearray()
    for block in response.iter_bytes():
        content += block
        if len(content) > max_bytes:
            raise FetchRefused(
                f"{url} is larger than the limit of {max_bytes / 1e6:.1f} MB.", "Raise GLOSSATOR_MAX_FILE_MB."
            )
    return bytes(content)


def _validators(cached: CachedPage | None) -> dict[str, str]:
    """Headers that ask for a page only if it has changed."""
    if cached is None:
        return {}
    pairs = {"If-None-Match": cached.etag, "If-Modified-Since": cached.last_modified}
    return {name: value for name, value in pairs.items() if value}


def _target(url: str, location: str) -> str:
    try:
        return normalized(urljoin(url, location))
    except ValueError:
        raise FetchRefused(f"{url} redirects to an invalid URL.") from None


def _unreachable(url: str, reason: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"{host_of(url)} cannot be reached ({reason}).", "Check the URL and the network, or retry."
    )


def _out_of_time(seconds: float) -> SourceUnreachable:
    return SourceUnreachable(
        f"Fetching took more than {seconds / 60:.0f} minutes.",
        "Run the command again to continue, or raise GLOSSATOR_FETCH_MINUTES.",
    )
