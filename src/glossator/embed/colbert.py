"""A vector for each word in its context, from the ColBERT model that comes with the project."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glossator.core.types import TokenVectors
from glossator.embed.local import built_in_model, open_session, open_tokenizer, run_model, sha256

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

PIECE = 500
"""Tokens that the model reads at once; a longer text is read in pieces."""

_BEGIN, _DOCUMENT, _END = 101, 2, 102
"""Claims and passages are both read as documents: they are compared word by word, not searched."""


class ColbertEncoder:
    """Runs the model once for each text; nothing is loaded before the first."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))

    @cached_property
    def fingerprint(self) -> str:
        """Names the model's weights."""
        return f"colbert:{sha256(built_in_model('colbert') / 'model.onnx')[:16]}"

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return open_session(built_in_model("colbert"), self._threads)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return open_tokenizer(built_in_model("colbert"))

    def encode(self, text: str) -> TokenVectors:
        """Unit vectors of a text's tokens, with their places."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        states = [
            run_model(self._session, [[_BEGIN, _DOCUMENT, *encoding.ids[start : start + PIECE], _END]])[0][2:-1]
            for start in range(0, len(encoding.ids), PIECE)
        ]
        vectors = np.concatenate(states) if states else np.zeros((0, 384), np.float32)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        places = np.array(encoding.offsets, np.int32).reshape(-1, 2)
        return TokenVectors((vectors / np.maximum(length, 1e-12)).astype(np.float32), places)
