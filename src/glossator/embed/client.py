"""HTTP client for embedding endpoints: batches, retries, and validation of every response."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import EmbeddingModelUnavailable, EmbeddingRequestRejected
from glossator.core.resilience.retry import Backoff, is_transient_status, parse_retry_after
from glossator.embed.endpoints import Endpoint

if TYPE_CHECKING:
    import httpx2
    from tenacity import RetryCallState

MAX_BATCH_TEXTS = 96
"""Cohere's limit; the other providers allow more."""
MAX_BATCH_CHARACTERS = 100_000
"""OpenAI's limit is 300,000 tokens per request; a character is at most about one token."""
MAX_TEXT_CHARACTERS = 8_000
"""Longer texts are cut: this fits the 8,192 tokens of most models, whatever the script."""
MAX_CONCURRENT_REQUESTS = 4
_REQUEST_ERRORS = frozenset((400, 404, 422))
"""Statuses that reject one request: they do not count against the provider."""


class InputType(StrEnum):
    """What a text is used for; the values are Cohere's."""

    DOCUMENT = "search_document"
    QUERY = "search_query"


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """Retries, timeouts and size limit of requests to an embedding endpoint."""

    backoff: Backoff = field(default_factory=lambda: Backoff(first_seconds=1.0, max_seconds=20.0, attempts=3))
    """If the server asks for a delay longer than `max_seconds`, the request fails at once."""
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 30.0
    total_timeout_seconds: float = 120.0
    max_response_bytes: int = 64_000_000
    """About twice a full batch of the longest vectors in use."""


class _TransientFailure(Exception):
    """A failure that a retry may resolve: the error to raise if none does, and the delay the server asked for."""

    def __init__(self, error: EmbeddingModelUnavailable, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.retry_after = retry_after


class EmbeddingClient:
    """Client of one endpoint; connects on the first request."""

    def __init__(self, endpoint: Endpoint, policy: RequestPolicy | None = None) -> None:
        self._endpoint = endpoint
        self._policy = policy or RequestPolicy()

    @cached_property
    def _http(self) -> httpx2.Client:
        import httpx2

        endpoint, policy = self._endpoint, self._policy
        client = httpx2.Client(
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            timeout=httpx2.Timeout(policy.read_timeout_seconds, connect=policy.connect_timeout_seconds),
            trust_env=not endpoint.is_loopback,
        )
        weakref.finalize(self, client.close)
        return client

    def embed(self, texts: Sequence[str], input_type: InputType) -> Iterator[NDArray[np.float32]]:
        """Unit vectors of the texts, in order, one array per batch."""
        batches = [[_sanitize(text) for text in batch] for batch in _batches(texts)]
        if len(batches) == 1:
            yield self._embed_batch(batches[0], input_type)
            return
        with ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS) as pool:
            yield from pool.map(lambda batch: self._embed_batch(batch, input_type), batches)

    def _embed_batch(self, texts: list[str], input_type: InputType) -> NDArray[np.float32]:
        model = self._endpoint.model
        if self._endpoint.provider == "cohere":
            body = {"model": model, "texts": texts, "input_type": input_type.value, "embedding_types": ["float"]}
            rows = _get_path(self._post("/v2/embed", body), "embeddings", "float")
        else:
            rows = _sorted_by_index(_get_path(self._post("/embeddings", {"model": model, "input": texts}), "data"))
        return self._unit_vectors(rows, len(texts))

    def _unit_vectors(self, rows: Any, expected: int) -> NDArray[np.float32]:
        """The vectors of a response, validated and normalized."""
        if not isinstance(rows, list):
            raise self._invalid_response("it contains no vectors")
        if len(rows) != expected:
            raise self._invalid_response(f"it contains {len(rows)} vectors for {expected} texts")
        try:
            values = np.asarray(rows)
        except ValueError:
            raise self._invalid_response("its vectors differ in length") from None
        if values.ndim != 2 or values.dtype.kind not in "fiu" or not values.shape[1]:
            raise self._invalid_response("its vectors are not lists of numbers of equal length")
        lengths = np.linalg.norm(values.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise self._invalid_response("a vector is zero or not finite")
        return np.asarray(values / lengths, np.float32)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON of the response, with retries."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        with_retries = Retrying(
            stop=stop_after_attempt(self._policy.backoff.attempts),
            wait=self._retry_delay,
            retry=retry_if_exception_type(_TransientFailure),
            reraise=True,
        )
        try:
            content = with_retries(self._attempt, self._endpoint.base_url + path, body)
        except _TransientFailure as failure:
            raise failure.error from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._invalid_response("it is not JSON") from None

    def _retry_delay(self, state: RetryCallState) -> float:
        """The delay the server asked for, else exponential backoff."""
        failure = state.outcome.exception() if state.outcome else None
        if isinstance(failure, _TransientFailure) and failure.retry_after is not None:
            return failure.retry_after
        return self._policy.backoff.delay(state.attempt_number)

    def _attempt(self, url: str, body: dict[str, Any]) -> bytes:
        import httpx2

        try:
            with self._http.stream("POST", url, json=body) as response:
                content = self._read(response)
        except httpx2.TimeoutException:
            raise _TransientFailure(self.unreachable("it timed out")) from None
        except httpx2.TransportError as error:
            raise _TransientFailure(self.unreachable(str(error) or type(error).__name__)) from None
        except httpx2.InvalidURL:
            raise self.unreachable("invalid URL") from None
        except httpx2.HTTPError:
            raise self._invalid_response("it cannot be decoded") from None
        if not response.is_success:
            retry_after = parse_retry_after(response.headers.get("retry-after"))
            raise self._error_for_status(response.status_code, content, retry_after)
        return content

    def _read(self, response: httpx2.Response) -> bytes:
        """The body, limited in size and time so that a broken server cannot block the caller."""
        deadline, content = time.monotonic() + self._policy.total_timeout_seconds, bytearray()
        for block in response.iter_bytes():
            content += block
            if len(content) > self._policy.max_response_bytes:
                raise self._invalid_response("it is too large")
            if time.monotonic() > deadline:
                raise _TransientFailure(self.unreachable("it timed out"))
        return bytes(content)

    def _error_for_status(self, status: int, content: bytes, retry_after: float | None) -> Exception:
        """The error for a status; a transient one is retried."""
        endpoint = self._endpoint
        message = _server_message(content, endpoint.api_key)
        if b"insufficient_quota" in content:  # OpenAI's code for an exhausted account, sent with status 429
            return EmbeddingModelUnavailable(
                f"The account of {endpoint.key_variable} at {endpoint.host} has no quota left.", "Check its billing."
            )
        if is_transient_status(status, also=range(500, 1000)):
            return self._overloaded(status, message, retry_after)
        if status == 401 or (status == 400 and "api key" in message.lower()):
            return self._key_rejected()
        key = f"{endpoint.key_variable} and " if endpoint.key_variable else ""
        if status == 403:
            return EmbeddingModelUnavailable(
                f"{endpoint.host} does not allow this API key to use the model {endpoint.model!r}.",
                f"Check {key}the model in GLOSSATOR_EMBEDDER.",
            )
        if status in _REQUEST_ERRORS and message:
            return EmbeddingRequestRejected(
                f"{endpoint.host} rejected the request for the model {endpoint.model!r} ({message}).",
                "Set GLOSSATOR_EMBEDDER to one of its embedding models.",
            )
        return self._invalid_response(f"it has status {status}")

    def _overloaded(self, status: int, message: str, retry_after: float | None) -> Exception:
        error = EmbeddingModelUnavailable(
            f"{self._endpoint.host} is overloaded or failing (status {status}{f': {message}' if message else ''}).",
            f"Try again {f'in {retry_after:.0f} seconds' if retry_after else 'later'},"
            " or set GLOSSATOR_EMBEDDER to another model.",
        )
        too_long = retry_after is not None and retry_after > self._policy.backoff.max_seconds
        return error if too_long else _TransientFailure(error, retry_after)

    def _key_rejected(self) -> EmbeddingModelUnavailable:
        host, variable = self._endpoint.host, self._endpoint.key_variable
        if not self._endpoint.api_key:
            return EmbeddingModelUnavailable(
                f"{host} requires an API key, but {variable} is not set.", f"Set {variable}."
            )
        return EmbeddingModelUnavailable(f"{host} rejected the API key in {variable}.", f"Correct {variable}.")

    def unreachable(self, reason: str) -> EmbeddingModelUnavailable:
        """The error of an endpoint that does not respond."""
        return EmbeddingModelUnavailable(
            f"The embedding model at {self._endpoint.host} cannot be reached ({reason}).",
            f"Check the network and the URL in {self._endpoint.url_setting}, or set GLOSSATOR_EMBEDDER to `local`.",
        )

    def _invalid_response(self, reason: str) -> EmbeddingModelUnavailable:
        return EmbeddingModelUnavailable(
            f"{self._endpoint.host} did not return a valid embedding response: {reason}.",
            f"Check the model in GLOSSATOR_EMBEDDER and the URL in {self._endpoint.url_setting}.",
        )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in batches within the limits of a request."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = min(len(text), MAX_TEXT_CHARACTERS)
        if batch and (len(batch) == MAX_BATCH_TEXTS or size + length > MAX_BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _sanitize(text: str) -> str:
    """The text cut to the limit, without lone surrogates, and never empty: servers reject all three."""
    return text[:MAX_TEXT_CHARACTERS].encode("utf-8", "replace").decode() or " "


def _get_path(value: Any, *names: str) -> Any:
    """A nested value of a JSON object; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _sorted_by_index(data: Any) -> Any:
    """The vectors sorted by their index; Gemini omits an index of 0, and some servers omit all."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    indexes = [item.get("index", position) for position, item in enumerate(data)]
    if sorted(indexes, key=str) == sorted(range(len(data)), key=str):
        data = [item for _, item in sorted(zip(indexes, data, strict=True), key=lambda pair: pair[0])]
    return [item.get("embedding") for item in data]


def _server_message(content: bytes, api_key: str) -> str:
    """The server's error message on one line; empty if it contains a part of the API key."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    body = body[0] if isinstance(body, list) and body else body
    paths = (("error", "message"), ("message",), ("detail",), ("error",))
    message = next((text for path in paths if isinstance(text := _get_path(body, *path), str)), "")
    if api_key and any(api_key[start : start + 6] in message for start in range(max(1, len(api_key) - 5))):
        return ""
    return "".join(c for c in " ".join(message.split()) if c.isprintable())[:200]
