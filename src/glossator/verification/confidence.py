"""How sure an answer is, from what retrieval and the checks found."""

from __future__ import annotations

from collections.abc import Sequence


def confidence(relevance: float, scores: Sequence[float], withheld: int) -> float:
    """Relevance of the passages, times the mean score of what is shown, times the share of the draft that is shown.

    It grows with the relevance and with every score, and falls with every sentence that had to be withheld.
    """
    if not scores:
        return 0.0
    kept = len(scores) / (len(scores) + withheld)
    return round(max(0.0, min(1.0, relevance)) * (sum(scores) / len(scores)) * kept, 4)
