"""Similarity of words in context, by their token vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glossator.core.types import TokenVectors
from glossator.verification.compare.comparison import Comparison
from glossator.verification.compare.windows import Window
from glossator.verification.reading.tokenizer import TokenizedText
from glossator.verification.reading.tokens import Token

AVERAGED_WORDS = 3
"""How many of the least similar words are averaged, so that one changed word counts in a long sentence too."""


def vector_features(
    claim: TokenVectors, tokenized: TokenizedText, passages: Mapping[int, TokenVectors], comparison: Comparison
) -> dict[str, float]:
    """Mean and lowest similarity of the content words, to the window and to all passages that were compared."""
    words = [token for token in tokenized.tokens if token.weight]
    source = passages[comparison.window.passage]
    inside = _window_vectors(source, comparison.window)
    in_window = _word_means(claim, words, _best_matches(claim.vectors, inside))
    anywhere = _word_means(
        claim, words, np.max([_best_matches(claim.vectors, passage.vectors) for passage in passages.values()], axis=0)
    )
    return {
        "likeness": float(in_window.mean()),
        "likeness_low": float(np.sort(in_window)[:AVERAGED_WORDS].mean()),
        "likeness_least": float(in_window.min()),
        "likeness_anywhere": float(anywhere.mean()),
        "likeness_anywhere_low": float(np.sort(anywhere)[:AVERAGED_WORDS].mean()),
        **_replaced_features(claim, tokenized, source, comparison),
    }


def _replaced_features(
    claim: TokenVectors, tokenized: TokenizedText, source: TokenVectors, comparison: Comparison
) -> dict[str, float]:
    """How unlike replaced words are to the words they replace: little for a synonym, much for another name."""
    unlike = [
        1.0 - float(_token_vector(claim, tokenized.tokens[i]) @ _token_vector(source, comparison.window.tokens[n]))
        for i, n in comparison.replaced
    ]
    return {"replaced_unlike": float(sum(unlike)), "replaced_most_unlike": max(unlike, default=0.0)}


def _token_vector(text: TokenVectors, token: Token) -> NDArray[np.float32]:
    own = (text.offsets[:, 0] < token.end) & (text.offsets[:, 1] > token.start)
    mean = text.vectors[own].mean(axis=0) if own.any() else np.zeros(text.vectors.shape[1], np.float32)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)


def _window_vectors(source: TokenVectors, window: Window) -> NDArray[np.float32]:
    own = (source.offsets[:, 0] >= window.span.start) & (source.offsets[:, 1] <= window.span.end)
    return source.vectors[own]


def _best_matches(claim: NDArray[np.float32], source: NDArray[np.float32]) -> NDArray[np.float32]:
    if not len(source) or not len(claim):
        return np.zeros(len(claim), np.float32)
    return np.asarray((claim @ source.T).max(axis=1))


def _word_means(claim: TokenVectors, words: Sequence[Token], best: NDArray[np.float32]) -> NDArray[np.float32]:
    """The similarity of each word: the mean over its tokens."""
    begin = np.array([word.start for word in words])[:, None]
    end = np.array([word.end for word in words])[:, None]
    own = (claim.offsets[None, :, 0] < end) & (claim.offsets[None, :, 1] > begin)
    counts = own.sum(axis=1)
    return np.asarray((own @ best) / np.maximum(counts, 1), np.float32) if len(words) else np.ones(1, np.float32)
