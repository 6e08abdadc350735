"""Fits how the reader's opinion counts in the verdict on a claim.

The reader must not have been trained on what this is fitted to: claims and mutated sentences of the development books,
compound claims made of them, and for short claims also the seen half of the plain pairs and a file of short claims.
WiCE, BEGIN, the unseen half of the plain pairs, the claims by hand and the test books are only measured.
Writes the models "reader" and "short" of src/glossator/verification/weights.json; with the argument "reader" or
"short", only that one.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator.core.thresholds import SHOWN
from glossator.embed.colbert import ColbertEncoder
from glossator.read.reader import OnnxReader
from glossator.verification.judge import Verifier
from glossator.verification.model import (
    SHORT_INPUTS,
    derive_inputs,
    is_decided_by_words,
    is_short,
    limit,
    score,
    short_inputs,
)
from lib import claims as sets
from lib import compound, written
from lib.common import ROOT, logistic

TARGET = ROOT / "src" / "glossator" / "verification" / "weights.json"
RIDGE = 5.0
FALSE_SHOWN = 0.022
"""Share of the false claims of the development books that the gate may show; of other books, about twice that."""
SHORT_FALSE_SHOWN = 0.024
"""The same for short claims: of the seen half of the plain pairs, it is then 1 %."""
SHORT_RIDGE = 2.0
POSITIVE = frozenset(
    """
    coverage coverage_anywhere aligned full read_support read_certain read_support_close read_support_near
    together_support together_support_close
    """.split()
)
EITHER = frozenset("close near".split())
UNUSED = frozenset(
    """
    absent absent_names longest_gap inserted_run share_missing thin reused longer
    few few_full full first_person one_missing
    """.split()
)
"""Inputs of the other models that add nothing to what the reader model predicts."""
Features = dict[str, float]


@dataclass(frozen=True)
class LabelledSet:
    """Claims to fit to, the total weight of the set, and the share of that for its false claims."""

    name: str
    claims: Sequence[sets.LabelledClaim]
    weight: float
    false_share: float


def decisive(rows: sets.Rows) -> Features | None:
    """The window of a claim that decides: of its worst sentence the best; None if it has the words of the source."""
    read = [[w for w in windows if "read_support" in w and not is_short(w)] for windows in rows]
    best = [max(windows, key=lambda w: w["coverage"] + 0.3 * w["read_support"]) for windows in read if windows]
    return min(best, key=lambda w: w["read_support"], default=None)


def fit(found: Sequence[LabelledSet], verifier: Verifier) -> tuple[tuple[str, ...], float, NDArray[np.float64]]:
    """Weighted logistic regression without weights of the wrong sign: no difference counts for a claim."""
    inputs: list[Features] = []
    truth: list[float] = []
    weights: list[float] = []
    for each in found:
        rows = sets.features(each.name, each.claims, verifier)
        pairs = [(c, w) for c, r in zip(each.claims, rows, strict=True) if (w := decisive(r)) is not None]
        true = sum(c.supported for c, _ in pairs)
        share = {True: (1 - each.false_share) / true, False: each.false_share / (len(pairs) - true)}
        inputs += [derive_inputs(window) for _, window in pairs]
        truth += [float(c.supported) for c, _ in pairs]
        weights += [each.weight * share[c.supported] for c, _ in pairs]
    names = tuple(sorted(inputs[0].keys() - UNUSED))
    x = np.array([[values[name] for name in names] for values in inputs])
    used = np.ones(len(names), bool)
    while True:
        bias, slopes = logistic(x[:, used], np.array(truth), np.array(weights), RIDGE)
        slope = np.zeros(len(names))
        slope[used] = slopes
        wrong = np.array([_sign(name) * value < 0 for name, value in zip(names, slope, strict=True)])
        if not wrong.any():
            return names, bias, slope
        used &= ~wrong


def _sign(name: str) -> int:
    """The sign that a weight must have: 1 for a claim, -1 against it, 0 for either."""
    return 0 if name in EITHER else 1 if name in POSITIVE else -1


def scale(logits: Sequence[float]) -> float:
    """What makes positive logits of false claims reach `SHOWN` only as often as they may."""
    threshold = float(np.quantile(logits, 1 - FALSE_SHOWN))
    return math.log(SHOWN / (1 - SHOWN)) / max(threshold, 0.05)


def fit_verdict(verifier: Verifier) -> None:
    books = written.claims(written.DEVELOPMENT)
    found = [
        LabelledSet("written", books, 2500, 0.5),
        LabelledSet("written-mutated", written.mutated_claims(written.DEVELOPMENT, 40), 2000, 0.9),
        LabelledSet("compound", compound.claims(written.DEVELOPMENT), 500, 0.5),
    ]
    names, bias, slope = fit(found, verifier)
    logits = []
    for claim, rows in zip(books, sets.features("written", books, verifier), strict=True):
        window = decisive(rows)
        if window is not None and not claim.supported:
            values = derive_inputs(window)
            vetoed = limit(window) < SHOWN
            logits.append(-9.0 if vetoed else bias + float(slope @ [values[name] for name in names]))
    weights = json.loads(TARGET.read_text("utf-8"))
    model = {"bias": round(bias, 4), "scale": round(scale(logits), 4)}
    weights["reader"] = model | {
        name: value for name, value in zip(names, slope.round(4).tolist(), strict=True) if value
    }
    TARGET.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    print(f"verdict: bias {model['bias']}, scale {model['scale']}")


def fit_short(verifier: Verifier) -> None:
    """The model for short claims: the words and the readings, weighed against each other."""
    found = [
        LabelledSet("plain-seen", sets.plain_pairs("plain_pairs_seen"), 1000, 0.5),
        LabelledSet("short", sets.short_claims(), 250, 0.5),
        LabelledSet("written", written.claims(written.DEVELOPMENT), 250, 0.5),
        LabelledSet("written-mutated", written.mutated_claims(written.DEVELOPMENT, 40), 300, 0.7),
    ]
    inputs: list[list[float]] = []
    truth, weights, decided = [], [], []
    for each in found:
        rows = sets.features(each.name, each.claims, verifier)
        pairs = [(c.supported, w) for c, r in zip(each.claims, rows, strict=True) if (w := decisive_short(r))]
        true = sum(supported for supported, _ in pairs)
        share = {True: (1 - each.false_share) / true, False: each.false_share / (len(pairs) - true)}
        inputs += [[short_inputs(window)[name] for name in SHORT_INPUTS] for _, window in pairs]
        truth += [supported for supported, _ in pairs]
        weights += [each.weight * share[supported] for supported, _ in pairs]
        decided += [_decided(window) for _, window in pairs]
    bias, slopes = logistic(np.array(inputs), np.array(truth, float), np.array(weights), SHORT_RIDGE)
    logits = np.where(decided, decided, bias + np.array(inputs) @ slopes)
    false = ~np.array(truth)
    threshold = _weighted_quantile(logits[false], np.array(weights)[false], 1 - SHORT_FALSE_SHOWN)
    model = {"bias": bias, "scale": math.log(SHOWN / (1 - SHOWN)) / max(threshold, 0.05)}
    model |= dict(zip(SHORT_INPUTS, slopes.tolist(), strict=True))
    stored = json.loads(TARGET.read_text("utf-8"))
    stored["short"] = {name: round(value, 4) for name, value in model.items()}
    TARGET.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    print("short claims:", stored["short"])


def _decided(window: Features) -> float:
    """What stands for the logit of a claim that is shown or withheld without the model; 0 if the model decides."""
    if is_decided_by_words(window):
        return 9.0 if score(window) >= SHOWN else -9.0
    return -9.0 if limit(window) < SHOWN else 0.0


def decisive_short(rows: sets.Rows) -> Features | None:
    """The window of a short claim that decides, if all its sentences are short and were read."""
    best = [max(windows, key=lambda w: w["coverage"] + 0.3 * w.get("read_support", 0.0)) for windows in rows]
    if not best or not all("read_support" in window and is_short(window) for window in best):
        return None
    return min(best, key=lambda w: w["read_support"])


def _weighted_quantile(values: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]) / weights.sum(), share)])


def main() -> None:
    verifier = Verifier(ColbertEncoder(), OnnxReader())
    for name in sys.argv[1:] or ("reader", "short"):
        {"reader": fit_verdict, "short": fit_short}[name](verifier)


if __name__ == "__main__":
    main()
