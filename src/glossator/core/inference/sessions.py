"""Opens ONNX models and their tokenizers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers


class InvalidModelFile(Exception):
    """A file is not a model or a tokenizer; the caller knows what to do about it."""


def load_session(
    file: Path, threads: int, weights: Mapping[str, NDArray[Any]] | None = None
) -> onnxruntime.InferenceSession:
    """An inference session for a model file; `weights` are those that it names, but does not contain."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; otherwise it sends usage data over the network
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Otherwise products of 8-bit weights overflow on x86 processors without VNNI, and predictions differ by machine.
    options.add_session_config_entry("session.x64quantprecision", "1")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises many exception types for invalid files
        raise InvalidModelFile(f"{file} is not a valid ONNX model.") from error


def load_tokenizer(file: Path) -> tokenizers.Tokenizer:
    """A tokenizer, without padding or truncation."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises bare exceptions
        raise InvalidModelFile(f"{file} is not a valid tokenizer.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@lru_cache
def sha256(path: Path) -> str:
    """The SHA-256 of a file; cached by its path."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
