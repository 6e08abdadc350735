"""The reader: an ONNX model that reads a text once, and judges claims and questions against it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ReaderUnavailable
from glossator.core.inference.cores import available_cores
from glossator.core.inference.reading import MAX_STRETCH, Reading, ReadSource, SourceText
from glossator.core.inference.sessions import InvalidModelFile, load_session, load_tokenizer, sha256
from glossator.core.resilience.pool import started_pool
from glossator.core.types import Span
from glossator.read.cache import ReadCache

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_SOURCE_TOKENS, MAX_HEADING_TOKENS, MAX_TEXT_TOKENS = 288, 24, 96
"""Longer sources are cut off, as in training; longer claims and questions are not judged."""
FOLDER = Path(__file__).parent / "weights"
HASHES = "hashes.json"
"""The SHA-256 of each file of the model, written when it is exported."""
_START, _END = 101, 102
_OUTPUTS = ("supported", "contradicted", "answered", "unsupported_tokens", "point_from", "point_to", "keys_values")
_REINSTALL = "Install Glossator again, or set GLOSSATOR_READER=off."


class _Row(NamedTuple):
    """Tokens that are read together: their ids, their position, and the range of earlier tokens they attend to."""

    ids: Sequence[int]
    kind: int
    position: int
    past: range


class OnnxReader:
    """Reads with the model in a folder; the model is loaded on first use."""

    def __init__(self, folder: Path = FOLDER, threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads or available_cores()
        self._slots = BoundedSemaphore(self._threads)
        self._loading = Lock()
        self._cache = ReadCache()
        self._loaded: onnxruntime.InferenceSession | None = None

    def check(self) -> None:
        """Refuse a model file that is missing or altered."""
        for name in (HASHES, "model.onnx", "tokenizer.json"):
            if not (self._folder / name).is_file():
                raise ReaderUnavailable(f"The reader model's {name} is missing.", _REINSTALL)
        try:
            expected = json.loads((self._folder / HASHES).read_text("utf-8"))
            damaged = [name for name, value in expected.items() if sha256(self._folder / name) != value]
        except (ValueError, AttributeError, OSError):
            damaged = [HASHES]
        if damaged:
            raise ReaderUnavailable(f"The reader model's {damaged[0]} is damaged.", _REINSTALL)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the model by the hashes of its files."""
        return f"reader:{sha256(self._folder / HASHES)[:16]}"

    @property
    def _session(self) -> onnxruntime.InferenceSession:
        with self._loading:
            if self._loaded is None:
                self.check()
                try:
                    self._loaded = load_session(self._folder / "model.onnx", 1)
                except InvalidModelFile as error:
                    raise ReaderUnavailable(str(error), _REINSTALL) from error
            return self._loaded

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return started_pool(self._threads, "reader")

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        self.check()
        try:
            return load_tokenizer(self._folder / "tokenizer.json")
        except InvalidModelFile as error:
            raise ReaderUnavailable(str(error), _REINSTALL) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encoded]

    def read(self, sources: Sequence[SourceText], *, keep: bool = False) -> list[ReadSource]:
        """Read sources, several at once, so that texts can be judged against them; `keep` those of the book."""
        known = {source: found for source in sources if (found := self._cache.get(source)) is not None}
        missing = [source for source in sources if source not in known]
        read = self._pool.map(self._read, missing) if len(missing) > 1 else map(self._read, missing)
        for source, found in zip(missing, read, strict=True):
            known[source] = found
            if keep:
                self._cache.put(source, found)
        return [known[source] for source in sources]

    def _read(self, source: SourceText) -> ReadSource:
        ids, ranges = self._lay_out(source)
        outputs = self._run([_Row(ids, 0, 0, range(0))], None)
        states = outputs["point_to"]
        sentences = np.array([states[a:b].mean(0) for a, b in ranges], np.float32).reshape(len(ranges), states.shape[1])
        return ReadSource(len(ids), outputs["keys_values"].astype(np.float16), sentences)

    def judge(self, text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        """What the model says of a claim or a question, against each source; nothing if the text is too long."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        if not sources or len(encoding.ids) > MAX_TEXT_TOKENS:
            return []
        ids, first, rows = [_START, *encoding.ids, _END], 0, []
        for source in sources:
            rows.append(_Row(ids, 1, source.tokens, range(first, first + source.tokens)))
            first += source.tokens
        past = np.concatenate([source.keys_values for source in sources], axis=1).astype(np.float32)
        outputs = self._run(rows, past)
        spans = [Span(a, b) for a, b in encoding.offsets]
        return [_reading(outputs, n, source, spans) for n, source in enumerate(sources)]

    def _lay_out(self, source: SourceText) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens of a source with its headings, and the range of each sentence that is not cut off."""
        headings = " › ".join(source.headings[-2:])
        head = self._tokenizer.encode(headings, add_special_tokens=False).ids[:MAX_HEADING_TOKENS]
        body = self._tokenizer.encode(source.text[:MAX_STRETCH], add_special_tokens=False)
        ids = [_START, *head, _END, *body.ids][: MAX_SOURCE_TOKENS - 1]
        first = len(head) + 2
        starts = np.array([start for start, _ in body.offsets][: len(ids) - first])
        ranges = []
        for span in source.sentences:
            inside = np.flatnonzero((starts >= span.start) & (starts < span.end))
            if not inside.size:
                break
            ranges.append((first + int(inside[0]), first + int(inside[-1]) + 1))
        return [*ids, _END], ranges

    def _run(self, rows: Sequence[_Row], past: NDArray[np.float32] | None) -> dict[str, NDArray[np.float32]]:
        """One run of the model."""
        layers, width = self._shape
        known = 0 if past is None else past.shape[1]
        lengths = [len(row.ids) for row in rows]
        sequences = np.full((len(rows), max(lengths)), -1, np.int64)
        readable = np.full((len(rows), max(n + len(row.past) for n, row in zip(lengths, rows, strict=True))), -1)
        first = 0
        for n, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            own = np.arange(first, first + length)
            sequences[n, :length] = own
            readable[n, : len(row.past)] = row.past
            readable[n, len(row.past) : len(row.past) + length] = known + own
            first += length
        inputs = {
            "ids": np.concatenate([np.array(row.ids, np.int64) for row in rows]),
            "types": np.repeat(np.array([row.kind for row in rows], np.int64), lengths),
            "positions": np.concatenate([np.arange(row.position, row.position + len(row.ids)) for row in rows]),
            "sequences": sequences,
            "readable": readable,
            "past": np.zeros((layers, 0, width), np.float32) if past is None else past,
        }
        session = self._session
        with self._slots:  # one run on each core at a time: more would only slow each other down
            try:
                return dict(zip(_OUTPUTS, session.run(list(_OUTPUTS), inputs), strict=True))
            except Exception as error:  # onnxruntime raises many exception types, such as for lack of memory
                raise ReaderUnavailable("The reader model failed.", "Set GLOSSATOR_READER=off.") from error

    @cached_property
    def _shape(self) -> tuple[int, int]:
        layers, _, width = next(i for i in self._session.get_inputs() if i.name == "past").shape
        return layers, width


def _reading(outputs: dict[str, NDArray[np.float32]], row: int, source: ReadSource, spans: Sequence[Span]) -> Reading:
    doubts = _sigmoid(outputs["unsupported_tokens"][row][1 : 1 + len(spans)]).tolist()
    meant = outputs["point_from"][row]
    return Reading(
        supported=float(outputs["supported"][row]),
        contradicted=float(outputs["contradicted"][row]),
        answered=float(outputs["answered"][row]),
        unsupported=tuple(zip(spans, doubts, strict=True)),
        sentences=tuple(_softmax(source.sentences @ meant / len(meant) ** 0.5)),
    )


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float32)


def _softmax(logits: NDArray[np.float32]) -> list[float]:
    if not logits.size:
        return []
    powers = np.exp(logits - logits.max())
    return [float(value) for value in powers / powers.sum()]
