"""The confidence of an answer."""

from __future__ import annotations

from collections.abc import Sequence


def confidence(relevance: float, scores: Sequence[float], withheld: int) -> float:
    """The score of the best passage, times the mean score of the shown sentences, times the share that is shown.

    It rises with the passage's score and with every sentence's, falls with every withheld sentence, and is 0 if no
    sentence is shown: an abstention has no confidence.
    """
    if not scores:
        return 0.0
    shown_share = len(scores) / (len(scores) + withheld)
    return round(max(0.0, min(1.0, relevance)) * (sum(scores) / len(scores)) * shown_share, 4)
