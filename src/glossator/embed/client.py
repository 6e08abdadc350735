"""Calls to a remote embedding model: batches, attempts, and an answer that is checked before it is believed."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ModelProblem
from glossator.embed.endpoints import Endpoint

if TYPE_CHECKING:
    import httpx2
    from tenacity import RetryCallState

BATCH_TEXTS = 96
"""Cohere takes no more; the others do."""
BATCH_CHARACTERS = 100_000
"""OpenAI takes 300,000 tokens a request; a character is at most about one."""
LONGEST_TEXT = 8_000
"""Characters that are sent of a text: within the 8,192 tokens of most models, whatever the script."""
SIDE_BY_SIDE = 4

ATTEMPTS = 3
FIRST_WAIT = 1.0
LONGEST_WAIT = 20.0
"""Seconds between attempts; a server that asks for more is not waited for."""
CONNECT_SECONDS, READ_SECONDS, WHOLE_SECONDS = 10.0, 30.0, 120.0
MOST_BYTES = 64_000_000
"""A full batch of the longest vectors in use is about half of this."""


class Kind(StrEnum):
    """What a text is; the names are Cohere's."""

    DOCUMENT = "search_document"
    QUERY = "search_query"


class _Passing(Exception):
    """A failure that another attempt may not meet: what to say if it does, and how long the server asks to wait."""

    def __init__(self, problem: ModelProblem, wait: float | None = None) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.wait = wait


class Calls:
    """A connection to one endpoint; nothing is opened before the first call."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        end = self._endpoint
        client = httpx2.Client(
            headers={"Authorization": f"Bearer {end.key}"} if end.key else {},
            timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            trust_env=not end.is_loopback,
        )
        weakref.finalize(self, client.close)
        return client

    def vectors(self, texts: Sequence[str], kind: Kind) -> Iterator[NDArray[np.float32]]:
        """Unit vectors of the texts, in order, one array a batch."""
        batches = [[_sendable(text) for text in batch] for batch in _batches(texts)]
        if len(batches) == 1:
            yield self._batch(batches[0], kind)
            return
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            yield from pool.map(lambda batch: self._batch(batch, kind), batches)

    def _batch(self, texts: list[str], kind: Kind) -> NDArray[np.float32]:
        """The vectors of one request."""
        end = self._endpoint
        if end.provider == "cohere":
            body = {"model": end.model, "texts": texts, "input_type": kind.value, "embedding_types": ["float"]}
            rows = _dig(self._post("/v2/embed", body), "embeddings", "float")
        else:
            rows = _in_order(_dig(self._post("/embeddings", {"model": end.model, "input": texts}), "data"))
        return self._checked(rows, len(texts))

    def _checked(self, rows: Any, expected: int) -> NDArray[np.float32]:
        if not isinstance(rows, list):
            raise self._not_embeddings("its answer holds no vectors")
        if len(rows) != expected:
            raise self._not_embeddings(f"it gave {len(rows)} vectors for {expected} texts")
        try:
            values = np.asarray(rows)
        except ValueError:
            raise self._not_embeddings("its vectors differ in length") from None
        if values.ndim != 2 or values.dtype.kind not in "fiu" or not values.shape[1]:
            raise self._not_embeddings("its vectors are no lists of numbers of one length")
        lengths = np.linalg.norm(values.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise self._not_embeddings("a vector is zero or not finite")
        return np.asarray(values / lengths, np.float32)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer as JSON, after at most so many attempts."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        attempts = Retrying(
            stop=stop_after_attempt(ATTEMPTS), wait=_wait, retry=retry_if_exception_type(_Passing), reraise=True
        )
        try:
            content = attempts(self._attempt, self._endpoint.base + path, body)
        except _Passing as failure:
            raise failure.problem from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._not_embeddings("its answer is not JSON") from None

    def _attempt(self, url: str, body: dict[str, Any]) -> bytes:
        import httpx2

        try:
            with self._client.stream("POST", url, json=body) as response:
                content = self._read(response)
        except httpx2.TimeoutException:
            raise _Passing(self._unreachable("it did not answer in time")) from None
        except httpx2.TransportError as error:
            raise _Passing(self._unreachable(str(error) or type(error).__name__)) from None
        except httpx2.InvalidURL:
            raise self._unreachable("it is no address") from None
        except httpx2.HTTPError:
            raise self._not_embeddings("its answer cannot be decoded") from None
        if not response.is_success:
            raise self._refusal(response.status_code, content, _asked_to_wait(response.headers.get("retry-after")))
        return content

    def _read(self, response: httpx2.Response) -> bytes:
        """The body, within bounds of size and time that a broken server cannot stretch."""
        until, content = time.monotonic() + WHOLE_SECONDS, bytearray()
        for block in response.iter_bytes():
            content += block
            if len(content) > MOST_BYTES:
                raise self._not_embeddings("its answer does not end")
            if time.monotonic() > until:
                raise _Passing(self._unreachable("it did not answer in time"))
        return bytes(content)

    def _refusal(self, status: int, content: bytes, wait: float | None) -> Exception:
        """What a status means, and whether to try again."""
        end = self._endpoint
        said = _said(content, end.key)
        if b"insufficient_quota" in content:  # OpenAI's word for an empty account, with the status of a busy server
            return ModelProblem(f"The account behind {end.variable} at {end.host} is used up.", "Check its billing.")
        if status in (408, 429) or status >= 500:
            return self._busy(status, said, wait)
        if status == 401 or (status == 400 and "api key" in said.lower()):
            return self._wrong_key()
        key = f"{end.variable} and " if end.variable else ""
        if status == 403:
            return ModelProblem(
                f"{end.host} does not let this key use the model {end.model!r}.",
                f"Check {key}the model in GLOSSATOR_EMBEDDER.",
            )
        if status in (400, 404, 422) and said:
            return ModelProblem(
                f"{end.host} refuses the model {end.model!r} or what is sent to it ({said}).",
                "Set GLOSSATOR_EMBEDDER to one of its embedding models.",
            )
        return self._not_embeddings(f"it answers with status {status}")

    def _busy(self, status: int, said: str, wait: float | None) -> Exception:
        end = self._endpoint
        problem = ModelProblem(
            f"{end.host} is too busy or failing (status {status}{f': {said}' if said else ''}).",
            f"Try again {f'in {wait:.0f} seconds' if wait else 'later'}, or set GLOSSATOR_EMBEDDER to another model.",
        )
        return problem if wait is not None and wait > LONGEST_WAIT else _Passing(problem, wait)

    def _wrong_key(self) -> ModelProblem:
        end = self._endpoint
        if not end.key:
            return ModelProblem(f"{end.host} wants a key, but {end.variable} is not set.", f"Set {end.variable}.")
        return ModelProblem(f"{end.host} does not accept the key in {end.variable}.", f"Correct {end.variable}.")

    def _unreachable(self, reason: str) -> ModelProblem:
        end = self._endpoint
        return ModelProblem(
            f"The embedding model at {end.host} cannot be reached ({reason}).",
            f"Check the network and the address in {end.setting}, or set GLOSSATOR_EMBEDDER to `local`.",
        )

    def _not_embeddings(self, reason: str) -> ModelProblem:
        end = self._endpoint
        return ModelProblem(
            f"{end.host} does not answer as an embedding endpoint should: {reason}.",
            f"Check the model in GLOSSATOR_EMBEDDER and the address in {end.setting}.",
        )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, so many at a time that no request is too large."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = min(len(text), LONGEST_TEXT)
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _sendable(text: str) -> str:
    """A text that is not too long, not empty, and has only characters that UTF-8 can carry."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode() or " "


def _dig(answer: Any, *names: str) -> Any:
    for name in names:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer


def _in_order(data: Any) -> Any:
    """The vectors by their index; Gemini leaves out an index of 0, and some servers leave out all."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    places = [item.get("index", place) for place, item in enumerate(data)]
    if sorted(places, key=str) == sorted(range(len(data)), key=str):
        data = [item for _, item in sorted(zip(places, data, strict=True), key=lambda pair: pair[0])]
    return [item.get("embedding") for item in data]


def _said(content: bytes, key: str) -> str:
    """The server's own words on one line; none if they hold a piece of the key."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    answer = answer[0] if isinstance(answer, list) and answer else answer
    found = (_dig(answer, "error", "message"), _dig(answer, "message"), _dig(answer, "detail"), _dig(answer, "error"))
    said = next((text for text in found if isinstance(text, str)), "")
    if key and any(key[start : start + 6] in said for start in range(max(1, len(key) - 5))):
        return ""
    return "".join(c for c in " ".join(said.split()) if c.isprintable())[:200]


def _asked_to_wait(value: str | None) -> float | None:
    """Retry-After in seconds, from either of its forms."""
    if not value or value.strip().isdecimal():
        return float(value) if value else None
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _wait(state: RetryCallState) -> float:
    """What the server asks for; else a random time that may be twice as long with each attempt."""
    from tenacity import wait_random_exponential

    failure = state.outcome.exception() if state.outcome else None
    if isinstance(failure, _Passing) and failure.wait is not None:
        return failure.wait
    return float(wait_random_exponential(FIRST_WAIT, LONGEST_WAIT)(state))
