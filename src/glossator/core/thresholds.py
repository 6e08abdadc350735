"""All thresholds that decide what a user sees, each with its reason."""

from __future__ import annotations

from typing import Literal

ANSWERABLE = 0.3
"""Relevance below which a question counts as not answered by the book; embedders are calibrated to this value."""

ANSWERABLE_POINTED_AT = 0.1
"""The same for a selection that the question refers to ("what does this mean?"): the user chose the text."""

DRAFTABLE = 0.1
"""Relevance below which a question does not reach a language model either: the book clearly does not cover it."""

LOW_CONFIDENCE = 0.5
"""Between `ANSWERABLE` and this, the best passage is a weak match and the answer is marked `low_confidence`."""

SUPPORTED = 0.5
"""Minimum verdict score of a supported claim; the verifier's weights are fitted to this value."""

SHOWN = 0.75
"""Minimum verdict score for the strict gate to show a sentence: it passes half as many false ones as `SUPPORTED`."""

QUOTED = 0.2
"""Minimum verdict score of a claim that is not shown, but in whose place its source is quoted."""

HIGH, MEDIUM = 0.8, 0.5
"""Above `HIGH`, confidence is High; from `MEDIUM`, Medium; below, Low. The agent contract defines these levels."""

Level = Literal["High", "Medium", "Low"]


def is_answerable(relevance: float, threshold: float = ANSWERABLE, *, pointed_at: bool = False) -> bool:
    """Whether a text is relevant enough to answer the question from; operators may set another threshold."""
    return relevance >= (min(threshold, ANSWERABLE_POINTED_AT) if pointed_at else threshold)


def is_draftable(relevance: float, threshold: float, *, was_read: bool) -> bool:
    """Whether a language model is asked. If the reader model has read the passages, the threshold is lower."""
    lenient = was_read and threshold == ANSWERABLE
    return relevance >= (DRAFTABLE if lenient else threshold)


def is_low_confidence(best_score: float) -> bool:
    """Whether the best passage is only a weak match, as the chat contract defines it."""
    return ANSWERABLE <= best_score < LOW_CONFIDENCE


def confidence_level(confidence: float) -> Level:
    """The name that the contracts give to a confidence."""
    return "High" if confidence > HIGH else "Medium" if confidence >= MEDIUM else "Low"
