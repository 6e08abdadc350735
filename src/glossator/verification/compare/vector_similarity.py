"""How near each word of a claim comes to some word of the source, in context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glossator.core.types import TokenVectors
from glossator.verification.compare.comparison import Comparison
from glossator.verification.compare.windows import Window
from glossator.verification.reading.tokenizer import Reading, Token

LOWEST = 3
"""How many of the least alike words are looked at: one altered word must not drown in a long sentence."""


def likeness(
    claim: TokenVectors, reading: Reading, window: Window, sources: Sequence[TokenVectors], found: Comparison
) -> dict[str, float]:
    """Mean and lowest likeness of the words that carry meaning, to the window and to all passages."""
    words = [token for token in reading.tokens if token.weight]
    inside = _inside(sources[window.source], window)
    here = _words(claim, words, _best(claim.vectors, inside))
    anywhere = _words(claim, words, np.max([_best(claim.vectors, source.vectors) for source in sources], axis=0))
    return {
        "likeness": float(here.mean()),
        "likeness_low": float(np.sort(here)[:LOWEST].mean()),
        "likeness_least": float(here.min()),
        "likeness_anywhere": float(anywhere.mean()),
        "likeness_anywhere_low": float(np.sort(anywhere)[:LOWEST].mean()),
        **_replaced(claim, reading, window, sources[window.source], found),
    }


def _replaced(
    claim: TokenVectors, reading: Reading, window: Window, source: TokenVectors, found: Comparison
) -> dict[str, float]:
    """How unlike the words are that stand in the place of others: little for a synonym, much for another name."""
    unlike = [
        1.0 - float(_vector(claim, reading.tokens[i]) @ _vector(source, window.tokens[n])) for i, n in found.replaced
    ]
    return {"replaced_unlike": float(sum(unlike)), "replaced_most_unlike": max(unlike, default=0.0)}


def _vector(text: TokenVectors, token: Token) -> NDArray[np.float32]:
    own = (text.offsets[:, 0] < token.end) & (text.offsets[:, 1] > token.start)
    mean = text.vectors[own].mean(axis=0) if own.any() else np.zeros(text.vectors.shape[1], np.float32)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)


def _inside(source: TokenVectors, window: Window) -> NDArray[np.float32]:
    own = (source.offsets[:, 0] >= window.span.start) & (source.offsets[:, 1] <= window.span.end)
    return source.vectors[own]


def _best(claim: NDArray[np.float32], source: NDArray[np.float32]) -> NDArray[np.float32]:
    if not len(source) or not len(claim):
        return np.zeros(len(claim), np.float32)
    return np.asarray((claim @ source.T).max(axis=1))


def _words(claim: TokenVectors, words: Sequence[Token], best: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each word's likeness is its tokens' mean."""
    begin = np.array([word.start for word in words])[:, None]
    end = np.array([word.end for word in words])[:, None]
    own = (claim.offsets[None, :, 0] < end) & (claim.offsets[None, :, 1] > begin)
    counts = own.sum(axis=1)
    return np.asarray((own @ best) / np.maximum(counts, 1), np.float32) if len(words) else np.ones(1, np.float32)
