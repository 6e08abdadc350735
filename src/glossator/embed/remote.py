"""The remote embedder: a model behind OpenAI's, Gemini's or Cohere's interface, with the built-in model's scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ModelProblem
from glossator.core.ports import Calibration, Progress, silent
from glossator.core.types import Chunk, Embedding, QueryEmbedding
from glossator.embed import calibration
from glossator.embed.client import Calls, Kind
from glossator.embed.endpoints import Endpoint
from glossator.embed.local import built_in_model, open_tokenizer

if TYPE_CHECKING:
    import tokenizers

TEXTS = 1
"""Raised when other texts are sent for the same chunk, so that no index holds vectors of both kinds."""

BYTES_A_TOKEN = 4
"""An estimate, for when no tokenizer is installed: docs/decisions/0010-remote-embedders.md says how far it is off."""


class RemoteEmbedder:
    """Embeds by asking a server; nothing is asked before it is needed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._calls = Calls(endpoint)
        self._dimension = 0
        self._calibration: Calibration | None = None
        self._learning = Lock()

    @property
    def dimension(self) -> int:
        """Length of a vector; asked for once, if no text was embedded before."""
        if not self._dimension:
            with self._learning:
                if not self._dimension:
                    self._embed(["glossator"], Kind.DOCUMENT)
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Who serves the model, its name, and the length of its vectors."""
        end = self._endpoint
        return f"{end.provider}:{end.host}#{end.model}:{self.dimension}:{TEXTS}"

    @property
    def calibration(self) -> Calibration:
        """The built-in calibration, moved to this model's scale; measured once in a process."""
        if self._calibration is None:
            with self._learning:
                self._calibration = self._calibration or self._calibrate()
        return self._calibration

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of the built-in model, for a server tells none; without its tokenizer, an estimate."""
        if self._tokenizer is None:
            return [math.ceil(len(text.encode("utf-8", "replace")) / BYTES_A_TOKEN) for text in texts]
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """A chunk is sent below its headings, and then each of its sentences alone."""
        texts = [text for chunk in chunks for text in _texts(chunk)]
        ends = list(accumulate(1 + len(chunk.sentences) for chunk in chunks))
        rows: list[NDArray[np.float32]] = []
        for batch in self._batches(texts, Kind.DOCUMENT):
            rows.extend(batch)
            progress("embed", sum(end <= len(rows) for end in ends), len(chunks))
        starts = [0, *ends[:-1]] if ends else []
        return [_embedding(np.stack(rows[start:end])) for start, end in zip(starts, ends, strict=True)]

    def embed_query(self, question: str) -> QueryEmbedding:
        """One vector, for passages and for sentences."""
        vector = self._embed([question], Kind.QUERY)[0]
        return QueryEmbedding(vector, vector)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer | None:
        try:
            return open_tokenizer(built_in_model())
        except ModelProblem:
            return None

    def _calibrate(self) -> Calibration:
        asked = [QueryEmbedding(v, v) for v in self._embed(calibration.questions(), Kind.QUERY)]
        found = calibration.measure(asked, self.embed_chunks(calibration.passages(), silent))
        if not found.tell_apart:
            raise ModelProblem(
                f"The model {self._endpoint.model!r} does not tell answers from other passages.",
                "Set GLOSSATOR_EMBEDDER to an embedding model.",
            )
        return calibration.calibrate(found)

    def _embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        return np.concatenate(list(self._batches(texts, kind)))

    def _batches(self, texts: Sequence[str], kind: Kind) -> Iterator[NDArray[np.float32]]:
        """Vectors as they come, all of one length."""
        for vectors in self._calls.vectors(texts, kind):
            self._dimension = self._dimension or vectors.shape[1]
            if vectors.shape[1] != self._dimension:
                raise ModelProblem(
                    f"The model {self._endpoint.model!r} gave vectors of {vectors.shape[1]} numbers,"
                    f" and before of {self._dimension}.",
                    "Set GLOSSATOR_EMBEDDER to a model that does not change, and run `glossator ingest` again.",
                )
            yield vectors


def _texts(chunk: Chunk) -> Iterator[str]:
    yield f"{chunk.context}\n{chunk.text}"
    for span in chunk.sentences:
        yield chunk.text[span.start : span.end]


def _embedding(rows: NDArray[np.float32]) -> Embedding:
    return Embedding(rows[0], rows[1:].astype(np.float16))
