"""Fits the model of the verifier and writes src/glossator/verification/weights.json.

Training data: mutations of two books (never of the sample book, which is for measuring), half of the multilingual set,
and claims labelled by people (WiCE, BEGIN). Of several sentences of a claim the worst counts, of several windows the
best; which ones these are is settled by fitting again a few times.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from glossator.embed.colbert import ColbertEncoder
from glossator.verification.judge import Verifier
from glossator.verification.model import VECTOR_FEATURES, derive_inputs
from lib import claims as sets
from lib.common import ROOT, logistic

TARGET = ROOT / "src" / "glossator" / "verification" / "weights.json"
Features = dict[str, float]
RIDGE, ROUNDS, FOLDS = 5.0, 3, 4
SET_WEIGHTS = {"rust": 2500, "docusaurus": 700, "languages": 1200, "wice": 1000, "begin": 3000}
"""The total weight of each set, whatever its size."""

EXCLUDED_KIND = "recombined"
"""Measured but not fitted: it would count against claims that draw on several sentences, as those of WiCE do."""

KIND_WEIGHTS = {"entity_in_passage": 3.0, "fabricated_clause": 4.0}
"""Unsupported kinds that weigh more: they were caught least often with equal weights."""

FALSE_SHARE = 0.8
"""Share of unsupported claims in the weight of a generated set: a false accept costs more than a false reject."""


@dataclass(frozen=True)
class WeightedClaim:
    """A claim with its features and weight."""

    name: str
    claim: sets.LabelledClaim
    rows: sets.Rows
    weight: float


@dataclass(frozen=True)
class FittedModel:
    """A fitted logistic model."""

    names: tuple[str, ...]
    slope: NDArray[np.float64]
    bias: float

    def logit(self, window: Features) -> float:
        return float(self.bias + self.slope @ vector(window, self.names))


@dataclass(frozen=True)
class FittedModels:
    """The two models: by words alone, and by words and token vectors."""

    words: FittedModel
    tokens: FittedModel

    def logit(self, rows: sets.Rows) -> float:
        """The logit of the worst sentence, at its best window."""
        return min(max((self.tokens if "likeness" in p else self.words).logit(p) for p in windows) for windows in rows)


def vector(window: Features, names: Sequence[str]) -> NDArray[np.float64]:
    values = derive_inputs(window)
    return np.array([values.get(name, 0.0) for name in names])


def without_vectors(rows: sets.Rows) -> sets.Rows:
    """The rows without the features from token vectors."""
    return [[{k: v for k, v in window.items() if k not in VECTOR_FEATURES} for window in windows] for windows in rows]


def with_vectors(rows: sets.Rows) -> sets.Rows:
    """Only the windows that have features from token vectors."""
    asked = [[window for window in windows if "likeness" in window] for windows in rows]
    return [windows for windows in asked if windows]


def examples(verifier: Verifier) -> list[WeightedClaim]:
    found = []
    claims_of_set = {
        "rust": sets.mutations("rust", 80),
        "docusaurus": sets.mutations("docusaurus", 40),
        "languages": sets.by_hand("claims_languages", "dev"),
        "wice": sets.wice(),
        "begin": sets.begin(),
    }
    for name, claims in claims_of_set.items():
        rows = sets.features(name, claims, verifier)
        kinds = [(c.supported, c.kind if name not in ("wice", "begin") else "") for c in claims]
        counts, of_label = Counter(kinds), Counter(label for label, _ in set(kinds))
        false = 0.5 if name in ("wice", "begin") else FALSE_SHARE
        for claim, row, kind in zip(claims, rows, kinds, strict=True):
            share = (1 - false if claim.supported else false) / of_label[kind[0]] / counts[kind]
            share *= KIND_WEIGHTS.get(claim.kind, 1.0)
            found += (
                [WeightedClaim(name, claim, row, SET_WEIGHTS[name] * share)]
                if row and claim.kind != EXCLUDED_KIND
                else []
            )
    return found


def fit(found: Sequence[WeightedClaim]) -> FittedModels:
    tokens = [replace(e, rows=rows) for e in found if (rows := with_vectors(e.rows))]
    return FittedModels(fit_one([replace(e, rows=without_vectors(e.rows)) for e in found]), fit_one(tokens))


def fit_one(found: Sequence[WeightedClaim]) -> FittedModel:
    """Weighted logistic regression; each round chooses again which sentence and window count."""
    names = tuple(sorted({name for e in found[:1] for window in e.rows[0][:1] for name in derive_inputs(window)}))
    values = [[[vector(window, names) for window in windows] for windows in e.rows] for e in found]
    truth = np.array([e.claim.supported for e in found], float)
    weight = np.array([e.weight for e in found])
    slope, bias = np.array([10.0 * (name == "coverage") for name in names]), 0.0
    for _ in range(ROUNDS):
        picked = []
        for sentences in values:
            best = [max(windows, key=lambda value: float(slope @ value)) for windows in sentences]
            picked.append(min(best, key=lambda value: float(slope @ value)))
        bias, slope = fit_with_signs(np.array(picked), truth, weight, names)
    return FittedModel(names, slope, bias)


def fit_with_signs(
    x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64], names: Sequence[str]
) -> tuple[float, NDArray[np.float64]]:
    """A fit without weights of the wrong sign: no difference counts for a claim, and no similarity against it."""
    used = np.ones(len(names), bool)
    while True:
        bias, found = logistic(x[:, used], y, weight, RIDGE)
        slope = np.zeros(len(names))
        slope[used] = found
        wrong = np.array([expected_sign(name) * value < 0 for name, value in zip(names, slope, strict=True)])
        if not wrong.any():
            return bias, slope
        used &= ~wrong


def expected_sign(name: str) -> int:
    """The sign that a weight must have: 1 for a claim, -1 against it, 0 for either."""
    if name in ("coverage", "coverage_anywhere", "aligned", "full") or name.startswith("likeness"):
        return 1
    return 0 if name in ("close", "few", "few_full", "low_close", "least_close") else -1


def cross_validate(found: Sequence[WeightedClaim]) -> dict[str, float]:
    """Balanced accuracy on each set, by models that were not fitted to the same documents."""
    groups = sorted({e.claim.group for e in found})
    random.Random(0).shuffle(groups)
    right: dict[tuple[str, bool], list[bool]] = {}
    for fold in range(FOLDS):
        held = set(groups[fold::FOLDS])
        models = fit([e for e in found if e.claim.group not in held])
        for e in found:
            if e.claim.group in held:
                verdict = models.logit(e.rows) > 0
                right.setdefault((e.name, e.claim.supported), []).append(verdict == e.claim.supported)
    names = sorted({name for name, _ in right})
    return {name: float(np.mean([np.mean(right[name, label]) for label in (True, False)])) for name in names}


def main() -> None:
    found = examples(Verifier(ColbertEncoder()))
    alone = {name: cross_validate([e for e in found if e.name == name])[name] for name in ("wice", "begin")}
    for title, shares in {"one model for all": cross_validate(found), "each set by itself": alone}.items():
        print(f"{title}, balanced accuracy, cross-validated by document:", _percent(shares), flush=True)
    models = fit(found)
    weights = {
        name: {"bias": round(model.bias, 4)} | dict(zip(model.names, model.slope.round(4).tolist(), strict=True))
        for name, model in (("words", models.words), ("tokens", models.tokens))
    }
    TARGET.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")


def _percent(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1%}" for name, value in shares.items())


if __name__ == "__main__":
    main()
