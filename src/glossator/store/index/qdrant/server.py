"""A Qdrant server: requests with timeouts, retries and a circuit breaker, and errors that say what to do."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from glossator.core.errors import GlossatorError, IndexCorrupted, IndexUnavailable, SettingsError, StorageError
from glossator.core.resilience.breaker import CircuitBreaker
from glossator.core.resilience.deadline import call_within
from glossator.core.resilience.retry import Backoff, is_transient_status
from glossator.store.index.shared import ServerTimes

T = TypeVar("T")
Call = Callable[[QdrantClient], T]

_REQUEST_SECONDS, _WRITE_SECONDS = 4, 120
_COOLDOWN_SECONDS = 2.0
_READ_BACKOFF = Backoff(first_seconds=0.05, max_seconds=0.5, attempts=4)
_FAILURES = (ApiException, QdrantException, ValidationError, ValueError, OSError)
"""What the client raises: of the network, for a status, and for responses that are not what they should be."""


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    """Where the server is, and how collections are created there."""

    url: str
    api_key: str = ""
    name: str = "glossator"
    shards: int = 1
    replicas: int = 1
    quantized: bool = False


class QdrantServer:
    """Sends requests; any thread may use it. `client` replaces the client over HTTP."""

    def __init__(
        self, options: QdrantOptions, client: QdrantClient | None = None, times: ServerTimes | None = None
    ) -> None:
        self.options, self.times = options, times or ServerTimes()
        if client is None and not _is_address(options.url):
            raise SettingsError("QDRANT_URL is not the address of a server.", "Set it to https://host:6333.")
        address = urlsplit(options.url)
        self.place = f"Qdrant at {address.hostname}" if address.hostname else "Qdrant"
        self.breaker = CircuitBreaker(cooldown_seconds=_COOLDOWN_SECONDS)
        self._client = client or _connect(options, _REQUEST_SECONDS)
        self._writer = client or _connect(options, _WRITE_SECONDS)

    def read(self, call: Call[T]) -> T:
        """A request that can be repeated, within a time limit."""
        if not self.breaker.allow_call():
            raise self._unavailable("it did not respond")
        seconds = self.times.read_seconds
        deadline = time.monotonic() + seconds
        try:
            result = call_within(seconds, lambda: _with_retries(call, self._client, _READ_BACKOFF, deadline))
        except TimeoutError:
            self.breaker.record_failure()
            raise self._unavailable("it did not respond in time") from None
        except _FAILURES as error:
            failure = self._translated(error)
            self.breaker.record_failure() if type(failure) is IndexUnavailable else self.breaker.record_cancelled()
            raise failure from error
        self.breaker.record_success()
        return result

    def write(self, call: Call[T]) -> T:
        """A request that can be repeated, and that the server may take its time for."""
        try:
            return _with_retries(call, self._writer, self.times.write_backoff, None)
        except _FAILURES as error:
            raise self._translated(error) from error

    def close(self) -> None:
        """Connections close themselves after a while; the client can still be used."""

    def _translated(self, error: Exception) -> GlossatorError:
        if isinstance(error, UnexpectedResponse):
            status = error.status_code or 0
            if status == 404:
                return IndexCorrupted(f"The index in {self.place} is incomplete.", "Run `glossator ingest` again.")
            if status in (401, 403):
                return IndexUnavailable(f"{self.place} rejects the API key.", "Correct QDRANT_API_KEY.")
            if not is_transient_status(status):
                return StorageError(f"{self.place} rejects a request (status {status}).", "See the server's log.")
            return self._unavailable(f"status {status}")
        if isinstance(error, ValueError) and "not found" in str(error):  # the client's own engine
            return IndexCorrupted(f"The index in {self.place} is incomplete.", "Run `glossator ingest` again.")
        if isinstance(error, ResourceExhaustedResponse):
            return self._unavailable("its rate limit was exceeded")
        cause = error.source if isinstance(error, ResponseHandlingException) else error
        return self._unavailable(type(cause).__name__)

    def _unavailable(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(f"The index in {self.place} is unavailable ({reason}).", "Check QDRANT_URL.")


def _is_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # of its port
        return False


def _connect(options: QdrantOptions, timeout: int) -> QdrantClient:
    with warnings.catch_warnings():  # a key over plain HTTP is the operator's choice
        warnings.simplefilter("ignore")
        return QdrantClient(
            url=options.url, api_key=options.api_key or None, timeout=timeout, check_compatibility=False
        )


def _with_retries(call: Call[T], client: QdrantClient, backoff: Backoff, deadline: float | None) -> T:
    attempt = 1
    while True:
        try:
            return call(client)
        except _FAILURES as error:
            delay = max(backoff.delay(attempt), _asked_to_wait(error))
            late = deadline is not None and time.monotonic() + delay > deadline
            if attempt >= backoff.attempts or late or not _is_transient(error):
                raise
        time.sleep(delay)
        attempt += 1


def _asked_to_wait(error: Exception) -> float:
    """The seconds that a server which limits requests asks for."""
    return float(error.retry_after_s) if isinstance(error, ResourceExhaustedResponse) else 0.0


def _is_transient(error: Exception) -> bool:
    """Whether a retry may succeed."""
    if isinstance(error, UnexpectedResponse):
        return is_transient_status(error.status_code or 0)
    return not (isinstance(error, ValueError) and "not found" in str(error))


def found_by_id(records: list[Any]) -> dict[Any, Any]:
    """Records by their ids."""
    return {record.id: record for record in records}
