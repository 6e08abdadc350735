"""The reader model: two ONNX models that judge claims and questions against a source.

One encodes a source once, for any number of texts. The other has twice as many layers, and reads one text together with
a short source: slower for each text, and more exact. Their weights are in packages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from glossator.core.errors import ReaderUnavailable
from glossator.core.inference.cores import available_cores
from glossator.core.inference.reading import MAX_EXTENDED_CHARACTERS, Reading, ReadSource, SourceText
from glossator.core.inference.sessions import InvalidModelFile, load_session, load_tokenizer, sha256
from glossator.core.resilience.pool import started_pool
from glossator.core.types import Span
from glossator.read import packed
from glossator.read.cache import ReadCache

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_SOURCE_TOKENS, MAX_HEADING_TOKENS, MAX_TEXT_TOKENS = 288, 24, 96
"""Longer sources are cut off, as in training; longer claims and questions are not judged."""
FOLDER = Path(__file__).parent / "weights"
MODEL, PAIRS, TOKENIZER, HASHES = "model.onnx", "pairs.onnx", "tokenizer.json", "hashes.json"
PACKAGES = {MODEL: "model.npz", PAIRS: "pairs.npz"}
FILES = (HASHES, *PACKAGES, *PACKAGES.values(), TOKENIZER)
"""The files of the model; the first has the SHA-256 of the others, written when they are exported."""
Item = TypeVar("Item")
Found = TypeVar("Found")
_START, _END = 101, 102
"""The tokens [CLS] and [SEP]."""
_OUTPUTS = ("supported", "contradicted", "answered", "unsupported_tokens", "point_from", "point_to", "keys_values")
_PAIR_OUTPUTS = ("supported", "contradicted", "answered", "unsupported_tokens")
_REINSTALL = "Install Glossator again, or set GLOSSATOR_READER=off."


class OnnxReader:
    """Reads with the model in a folder; the model is loaded on first use."""

    def __init__(self, folder: Path = FOLDER, threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads or available_cores()
        self._slots = BoundedSemaphore(self._threads)
        self._loading = Lock()
        self._cache = ReadCache()
        self._loaded: dict[str, onnxruntime.InferenceSession] = {}

    def check(self) -> None:
        """Refuse a model file that is missing or altered."""
        for name in FILES:
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

    def _session(self, name: str) -> onnxruntime.InferenceSession:
        with self._loading:
            if name not in self._loaded:
                self.check()
                try:
                    weights = packed.load(self._folder / PACKAGES[name])
                    self._loaded[name] = load_session(self._folder / name, 1, weights)
                except (InvalidModelFile, OSError) as error:
                    raise ReaderUnavailable(str(error), _REINSTALL) from error
            return self._loaded[name]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return started_pool(self._threads, "reader")

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        self.check()
        try:
            return load_tokenizer(self._folder / TOKENIZER)
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
        for source, found in zip(missing, self._map(self._read, missing), strict=True):
            known[source] = found
            if keep:
                self._cache.put(source, found)
        return [known[source] for source in sources]

    def _read(self, source: SourceText) -> ReadSource:
        ids, ranges = self._lay_out(source)
        outputs = self._run(ids)
        states = outputs["point_to"]
        sentences = np.array([states[a:b].mean(0) for a, b in ranges], np.float32).reshape(len(ranges), states.shape[1])
        return ReadSource(len(ids), outputs["keys_values"], sentences)

    def judge(self, text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        """The predictions for a claim or a question against each source; none if the text is too long."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        if len(encoding.ids) > MAX_TEXT_TOKENS:
            return []
        ids, spans = [_START, *encoding.ids, _END], [Span(a, b) for a, b in encoding.offsets]
        return self._map(lambda source: self._judge(ids, spans, source), sources)

    def _judge(self, ids: Sequence[int], spans: Sequence[Span], source: ReadSource) -> Reading:
        outputs = self._run(ids, source)
        query = outputs["point_from"]
        shares = _softmax(source.sentences @ query / len(query) ** 0.5)
        return _reading(outputs, outputs["unsupported_tokens"][1 : 1 + len(spans)], spans, shares)

    def judge_together(self, text: str, sources: Sequence[SourceText]) -> list[Reading]:
        """The predictions for a claim or a question, read together with each source; none if the text is too long."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        if len(encoding.ids) > MAX_TEXT_TOKENS:
            return []
        spans = [Span(a, b) for a, b in encoding.offsets]
        return self._map(lambda source: self._judge_pair(encoding.ids, spans, source), sources)

    def _judge_pair(self, text: Sequence[int], spans: Sequence[Span], source: SourceText) -> Reading:
        ids, _ = self._lay_out(source)
        inputs = {
            "ids": np.array([*ids, *text, _END], np.int64),
            "types": np.repeat(np.array([0, 1]), (len(ids), len(text) + 1)),
        }
        outputs = self._infer(PAIRS, _PAIR_OUTPUTS, inputs)
        return _reading(outputs, outputs["unsupported_tokens"][: len(spans)], spans, ())

    def _lay_out(self, source: SourceText) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens of a source with its headings, and the range of each sentence that is not cut off."""
        headings = " › ".join(source.headings[-2:])
        head = self._tokenizer.encode(headings, add_special_tokens=False).ids[:MAX_HEADING_TOKENS]
        body = self._tokenizer.encode(source.text[:MAX_EXTENDED_CHARACTERS], add_special_tokens=False)
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

    def _run(self, ids: Sequence[int], after: ReadSource | None = None) -> dict[str, NDArray[Any]]:
        """One run of the model: a source, or a text after a source that was read."""
        first = after.tokens if after else 0
        inputs = {
            "ids": np.array(ids, np.int64),
            "types": np.full(len(ids), int(after is not None)),
            "positions": np.arange(first, first + len(ids)),
            "past": after.keys_values if after else self._no_past,
        }
        return self._infer(MODEL, _OUTPUTS, inputs)

    def _infer(self, model: str, outputs: Sequence[str], inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        session = self._session(model)
        with self._slots:  # one run on each core at a time: more would only slow each other down
            try:
                return dict(zip(outputs, session.run(list(outputs), inputs), strict=True))
            except Exception as error:  # onnxruntime raises many exception types, such as for lack of memory
                raise ReaderUnavailable("The reader model failed.", "Set GLOSSATOR_READER=off.") from error

    @cached_property
    def _no_past(self) -> NDArray[np.float16]:
        past = next(each for each in self._session(MODEL).get_inputs() if each.name == "past")
        return np.zeros([size if isinstance(size, int) else 0 for size in past.shape], np.float16)

    def _map(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """The results for all items, several at once."""
        return list(self._pool.map(function, items) if len(items) > 1 else map(function, items))


def _reading(
    outputs: dict[str, NDArray[Any]], doubts: NDArray[np.float32], spans: Sequence[Span], sentences: Sequence[float]
) -> Reading:
    return Reading(
        supported=float(outputs["supported"]),
        contradicted=float(outputs["contradicted"]),
        answered=float(outputs["answered"]),
        unsupported=tuple(zip(spans, _sigmoid(doubts).tolist(), strict=True)),
        sentences=tuple(sentences),
    )


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float32)


def _softmax(logits: NDArray[np.float32]) -> list[float]:
    if not logits.size:
        return []
    exponentials = np.exp(logits - logits.max())
    return [float(value) for value in exponentials / exponentials.sum()]
