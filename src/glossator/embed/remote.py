"""The remote embedder: a model behind an OpenAI-compatible API or Cohere's, with its own rescaled calibration."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property
from itertools import accumulate
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import EmbeddingModelUnavailable, EmbeddingRequestRejected
from glossator.core.ports import Calibration, Progress
from glossator.core.resilience.breaker import COOLDOWN_SECONDS, CircuitBreaker
from glossator.core.resilience.deadline import call_within, start_in_thread
from glossator.core.types import Chunk, Embedding, QueryEmbedding
from glossator.embed import calibration
from glossator.embed.client import EmbeddingClient, InputType, RequestPolicy
from glossator.embed.endpoints import Endpoint
from glossator.embed.local import built_in_model, open_tokenizer
from glossator.embed.token_counts import TokenCounter

T = TypeVar("T")
INPUT_VERSION = 1
"""Part of the fingerprint; increased when the texts sent for a chunk change, so that no index mixes both."""

BYTES_PER_TOKEN = 4
"""An estimate, used if no tokenizer is installed; docs/decisions/0010-remote-embedders.md gives its error."""


class RemoteEmbedder:
    """Embeds through an HTTP API; the first request is sent when a result is needed.

    `indexed` is the fingerprint of an index: if this model made it, its dimension is known without a request, and the
    index can be opened while the model is down. A question waits at most `calibration_seconds` for the calibration; it
    continues, and later questions use it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        policy: RequestPolicy | None = None,
        indexed: str = "",
        calibration_seconds: float = 10.0,
        cooldown_seconds: float = COOLDOWN_SECONDS,
    ) -> None:
        self._endpoint, self.calibration_seconds = endpoint, calibration_seconds
        self._client = EmbeddingClient(endpoint, policy)
        self.breaker = CircuitBreaker(cooldown_seconds=cooldown_seconds)
        known = re.fullmatch(rf"{re.escape(self._identity)}:([0-9]+):{INPUT_VERSION}", indexed)
        self._dimension = int(known[1]) if known else 0
        self._assumed = bool(known)
        self._calibration: Future[Calibration] | None = None
        self._lock = Lock()

    @property
    def dimension(self) -> int:
        """Length of a vector; requires one request if no text has been embedded yet."""
        if not self._dimension:
            with self._lock:
                if not self._dimension:
                    self._embed(["glossator"], InputType.DOCUMENT)
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Host and name of the model, and the length of its vectors."""
        return f"{self._identity}:{self.dimension}:{INPUT_VERSION}"

    @property
    def _identity(self) -> str:
        return f"{self._endpoint.provider}:{self._endpoint.host}#{self._endpoint.model}"

    @property
    def languages(self) -> tuple[str, ...]:
        """None are known: servers do not say."""
        return ()

    @property
    def calibration(self) -> Calibration:
        """The built-in calibration, rescaled for this model; measured once per process."""
        with self._lock:
            if self._calibration is None or (self._calibration.done() and self._calibration.exception()):
                self._calibration = start_in_thread(self._calibrate)
            measured = self._calibration
        try:
            return measured.result(self.calibration_seconds)
        except TimeoutError:
            raise self._client.unreachable("its calibration timed out") from None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of the built-in model, as servers report none; an estimate if its tokenizer is not installed."""
        if self._counter is None:
            return [math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) for text in texts]
        return self._counter.count(texts)

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """Sends each chunk with its headings, followed by each of its sentences."""
        return self._guarded(lambda: self._embed_chunks(chunks, progress))

    def _embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        texts = [text for chunk in chunks for text in _texts(chunk)]
        ends = list(accumulate(1 + len(chunk.sentences) for chunk in chunks))
        rows: list[NDArray[np.float32]] = []
        for batch in self._batches(texts, InputType.DOCUMENT):
            rows.extend(batch)
            progress("embed", sum(end <= len(rows) for end in ends), len(chunks))
        starts = [0, *ends[:-1]] if ends else []
        return [_embedding(np.stack(rows[start:end])) for start, end in zip(starts, ends, strict=True)]

    def embed_query(self, question: str, timeout_seconds: float | None = None) -> QueryEmbedding:
        """The same vector for passages and for sentences."""
        vector = self._embed([question], InputType.QUERY, timeout_seconds)[0]
        return QueryEmbedding(vector, vector)

    @cached_property
    def _counter(self) -> TokenCounter | None:
        try:
            return TokenCounter(open_tokenizer(built_in_model()))
        except EmbeddingModelUnavailable:
            return None

    def _calibrate(self) -> Calibration:
        questions = calibration.reference_questions()
        vectors = dict(zip(questions, self._embed(questions, InputType.QUERY), strict=True))
        return calibration.measure_calibration(
            lambda question: QueryEmbedding(vectors[question], vectors[question]),
            self.embed_chunks,
            f"The model {self._endpoint.model!r}",
        )

    def _embed(
        self, texts: Sequence[str], input_type: InputType, timeout_seconds: float | None = None
    ) -> NDArray[np.float32]:
        def embed() -> NDArray[np.float32]:
            return np.concatenate(list(self._batches(texts, input_type)))

        if timeout_seconds is None:
            return self._guarded(embed)
        return self._guarded(lambda: call_within(timeout_seconds, embed))

    def _guarded(self, work: Callable[[], T]) -> T:
        """Work through the circuit breaker: a model that is down must not block every request."""
        if not self.breaker.allow_call():
            raise self._client.unreachable("its circuit breaker is open")
        try:
            result = work()
        except TimeoutError:
            self.breaker.record_failure()
            raise self._client.unreachable("it timed out") from None
        except EmbeddingRequestRejected:
            self.breaker.record_cancelled()
            raise
        except EmbeddingModelUnavailable:
            self.breaker.record_failure()
            raise
        except BaseException:
            self.breaker.record_cancelled()
            raise
        self.breaker.record_success()
        return result

    def _batches(self, texts: Sequence[str], input_type: InputType) -> Iterator[NDArray[np.float32]]:
        """Vectors batch by batch, all of the same length."""
        for vectors in self._client.embed(texts, input_type):
            if not self._dimension or (self._assumed and input_type is InputType.DOCUMENT):
                self._dimension, self._assumed = vectors.shape[1], False
            if vectors.shape[1] != self._dimension:
                raise EmbeddingModelUnavailable(
                    f"The model {self._endpoint.model!r} returned vectors of {vectors.shape[1]} dimensions,"
                    f" but earlier ones had {self._dimension}.",
                    "Set GLOSSATOR_EMBEDDER to a model with a fixed dimension, then run `glossator ingest` again.",
                )
            yield vectors


def _texts(chunk: Chunk) -> Iterator[str]:
    yield f"{chunk.context}\n{chunk.text}"
    for span in chunk.sentences:
        yield chunk.text[span.start : span.end]


def _embedding(rows: NDArray[np.float32]) -> Embedding:
    return Embedding(rows[0], rows[1:].astype(np.float16))
