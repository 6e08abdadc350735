"""Figures of a reader on held-out books."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reader.data.examples import Example
from reader.losses import Batch, sentence_logits
from reader.model import Reader, half_precision

FALSE_SHOWN, ANSWERABLE_REFUSED = 0.05, 0.10
"""The error rates at which the share of true claims shown and of unanswerable questions refused are measured."""
EXAMPLES_AT_ONCE = 4


@torch.no_grad()
def evaluate(model: Reader, examples: Sequence[Example]) -> dict[str, float]:
    """Areas under the curve, and what is shown or refused at a fixed rate of errors."""
    was_training = model.training
    model.eval()
    supported: list[tuple[bool, float]] = []
    answered: list[tuple[bool, float]] = []
    found: list[bool] = []
    for first in range(0, len(examples), EXAMPLES_AT_ONCE):
        batch = Batch.of(examples[first : first + EXAMPLES_AT_ONCE])
        with half_precision():
            reading = model(batch.tokens)
        for n, text in enumerate(batch.texts):
            if text.supported is not None:
                supported.append((text.supported, float(reading.supported[n])))
            if text.answered is not None:
                answered.append((text.answered, float(reading.answered[n])))
            if text.evidence:
                best = int(sentence_logits(reading, n, batch.examples[batch.owner[n]]).argmax())
                found.append(best in text.evidence)
    model.train(was_training)
    return support_figures(supported) | answer_figures(answered) | _evidence_figures(found)


def support_figures(rows: Sequence[tuple[bool, float]]) -> dict[str, float]:
    """Of claims, with their labels and logits."""
    if not rows:
        return {}
    true, false = _split(rows)
    threshold = np.quantile(false, 1 - FALSE_SHOWN)
    return {"support_auc": area(true, false), "true_shown": round(float((true > threshold).mean()), 4)}


def answer_figures(rows: Sequence[tuple[bool, float]]) -> dict[str, float]:
    """Of questions, with their labels and logits."""
    if not rows:
        return {}
    true, false = _split(rows)
    threshold = np.quantile(true, ANSWERABLE_REFUSED)
    return {"answer_auc": area(true, false), "refused": round(float((false < threshold).mean()), 4)}


def _evidence_figures(found: Sequence[bool]) -> dict[str, float]:
    return {"evidence_first": round(float(np.mean(found)), 4)} if found else {}


def _split(rows: Sequence[tuple[bool, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array([s for label, s in rows if label]), np.array([s for label, s in rows if not label])


def area(true: NDArray[np.float64], false: NDArray[np.float64]) -> float:
    """The area under the ROC curve: how often a true item scores above a false one."""
    order = np.sort(false)
    below, not_above = np.searchsorted(order, true, "left"), np.searchsorted(order, true, "right")
    return round(float((below + not_above).mean() / 2 / len(false)), 4)
