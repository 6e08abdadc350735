"""The confidence of an answer."""

from __future__ import annotations

from collections.abc import Sequence


def confidence(relevance: float, scores: Sequence[float], withheld: int) -> float:
    """Relevance of the passages, times the mean score of the shown sentences, times the share that is shown.

    It rises with the relevance and with every score, and falls with every withheld sentence.
    """
    if not scores:
        return 0.0
    shown_share = len(scores) / (len(scores) + withheld)
    return round(max(0.0, min(1.0, relevance)) * (sum(scores) / len(scores)) * shown_share, 4)
