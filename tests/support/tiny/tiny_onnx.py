"""Tiny embedding models in ONNX, written byte by byte: a table of word vectors, and a tokenizer for its words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from glossator.embed.calibration import REFERENCE_PAIRS

FLOAT, INT32, INT64 = 1, 6, 7
_STOP_WORDS = frozenset(
    "a an and are as at by does for from has how in is it its of on or that the to was what why".split()
)


def write_model(folder: Path, *, dimension: int = 96, kind: int = INT64, files: dict[str, Any] | None = None) -> Path:
    """A folder with a model whose tokens have the vectors of their words; the vectors of common words are short."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = " ".join(" ".join(pair) for pair in REFERENCE_PAIRS).lower()
    words = ["[UNK]", "[CLS]", "[SEP]", *sorted(set(re.findall(r"\w+|[^\w\s]", texts)))]
    table = np.random.default_rng(7).normal(size=(len(words), dimension)).astype(np.float32)
    common = [i for i, word in enumerate(words) if word in _STOP_WORDS or not word.isalnum()]
    table[common] *= 0.05
    (folder / "model.onnx").write_bytes(_lookup_model(table, kind))
    _tokenizer(words).save(str(folder / "tokenizer.json"))
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return folder


def classifier(folder: Path) -> Path:
    """A folder with a model that returns one number for each text."""
    write_model(folder)
    node = _node("Cast", "input_ids", "logits", _field(5, _field(1, b"to") + _int(3, FLOAT) + _int(20, 2)))
    (folder / "model.onnx").write_bytes(_model(node, b"", INT64, _value("logits", FLOAT, ["texts", "tokens"])))
    return folder


def _tokenizer(words: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))  # type: ignore[assignment]
    return tokenizer


def _lookup_model(table: NDArray[np.float32], kind: int) -> bytes:
    """`last_hidden_state = Gather(table, input_ids)`."""
    rows, dimension = table.shape
    tensor = _int(1, rows) + _int(1, dimension) + _int(2, FLOAT) + _field(8, b"table") + _field(9, table.tobytes())
    gather = _node("Gather", "table", "last_hidden_state", b"", second="input_ids")
    output = _value("last_hidden_state", FLOAT, ["texts", "tokens", dimension])
    return _model(gather, _field(5, tensor), kind, output)


def _model(node: bytes, initializer: bytes, kind: int, output: bytes) -> bytes:
    given = _field(11, _value("input_ids", kind, ["texts", "tokens"]))
    graph = _field(1, node) + _field(2, b"tiny") + initializer + given + _field(12, output)
    return _int(1, 8) + _field(7, graph) + _field(8, _int(2, 13))


def _node(kind: str, first: str, output: str, attribute: bytes, second: str = "") -> bytes:
    inputs = b"".join(_field(1, name.encode()) for name in (first, second) if name)
    return inputs + _field(2, output.encode()) + _field(4, kind.encode()) + attribute


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    dimensions = b"".join(
        _field(1, _int(1, size) if isinstance(size, int) else _field(2, size.encode())) for size in shape
    )
    return _field(1, name.encode()) + _field(2, _field(1, _int(1, kind) + _field(2, dimensions)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])
