"""Summaries made of quotes: the sentences that are nearest to a text as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glossator.answer.extractive import MAX_SENTENCES, MIN_SENTENCES, Candidate, Quote, ScoredChunk, has_content
from glossator.core.text.words import is_statement


def choose_summary(chunks: Sequence[ScoredChunk]) -> list[Quote]:
    """The most central sentences, or fragments if there is no sentence, in reading order."""
    return _most_central(chunks, is_statement) or _most_central(chunks, has_content)


def _most_central(chunks: Sequence[ScoredChunk], is_quotable: Callable[[str], bool]) -> list[Quote]:
    vectors = [vector for item in chunks for vector in item.vectors]
    if not vectors:
        return []
    centre = np.mean(vectors, axis=0)
    candidates = [
        Candidate(c, s, (), Quote(item.chunk, span, float(vector @ centre) - 0.01 * s - 0.02 * c))
        for c, item in enumerate(chunks)
        for s, (span, vector) in enumerate(zip(item.chunk.sentences, item.vectors, strict=True))
        if is_quotable(item.chunk.text[span.start : span.end])
    ]
    count = max(MIN_SENTENCES, min(MAX_SENTENCES, len(candidates) // 3))
    best = sorted(candidates, key=lambda c: -c.quote.score)[:count]
    return [c.quote for c in sorted(best, key=lambda c: (c.chunk, c.sentence))]
