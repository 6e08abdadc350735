"""Every threshold between 0 and 1 that decides what a reader sees, in one place, with its reason."""

from __future__ import annotations

from typing import Literal

ANSWERABLE = 0.3
"""Relevance below which the book is taken not to answer a question: embedders are calibrated to this point."""

ANSWERABLE_POINTED_AT = 0.1
"""The same for a selection that the question points at ("what does this mean?"): the reader chose the text."""

LOW_CONFIDENCE = 0.5
"""Between `ANSWERABLE` and this, the best passage is a weak match and the answer is marked `low_confidence`."""

SUPPORTED = 0.5
"""Verdict score from which a claim counts as supported: the verifier's weights are fitted to this point."""

SHOWN = 0.75
"""Verdict score from which the strict gate shows a sentence: half as many false ones pass as at `SUPPORTED`."""

HIGH, MEDIUM = 0.8, 0.5
"""Confidence above `HIGH` is High, from `MEDIUM` on Medium, below it Low: the agent contract's levels."""

Level = Literal["High", "Medium", "Low"]


def is_answerable(relevance: float, *, pointed_at: bool = False) -> bool:
    """Whether a text is relevant enough to a question to be answered from."""
    return relevance >= (ANSWERABLE_POINTED_AT if pointed_at else ANSWERABLE)


def is_low_confidence(best_score: float) -> bool:
    """Whether the best passage is only a weak match."""
    return ANSWERABLE <= best_score < LOW_CONFIDENCE


def confidence_level(confidence: float) -> Level:
    """Confidence as the contracts name it."""
    return "High" if confidence > HIGH else "Medium" if confidence >= MEDIUM else "Low"
