"""Token vectors in context, from the built-in ColBERT model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glossator.core.inference.cores import available_cores
from glossator.core.inference.sessions import sha256
from glossator.core.types import TokenVectors
from glossator.embed.local import built_in_model, open_session, open_tokenizer, run_model

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MAX_WINDOW_TOKENS = 500
"""Tokens per run of the model; a longer text is encoded window by window."""

_BEGIN, _DOCUMENT, _END = 101, 2, 102
"""Special tokens. Claims and passages are both encoded as documents: they are compared token by token, not searched."""


class ColbertEncoder:
    """Encodes one text at a time; the model is loaded on first use."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or available_cores()

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the model by its weights."""
        return f"colbert:{sha256(built_in_model('colbert') / 'model.onnx')[:16]}"

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return open_session(built_in_model("colbert"), self._threads)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return open_tokenizer(built_in_model("colbert"))

    def encode(self, text: str) -> TokenVectors:
        """Unit vectors of the tokens of a text, with their offsets."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts = range(0, len(encoding.ids), MAX_WINDOW_TOKENS)
        windows = [encoding.ids[start : start + MAX_WINDOW_TOKENS] for start in starts]
        states = [run_model(self._session, [[_BEGIN, _DOCUMENT, *window, _END]])[0][2:-1] for window in windows]
        vectors = np.concatenate(states) if states else np.zeros((0, 384), np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        offsets = np.array(encoding.offsets, np.int32).reshape(-1, 2)
        return TokenVectors((vectors / np.maximum(norms, 1e-12)).astype(np.float32), offsets)
