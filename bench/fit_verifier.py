"""Fits the model that turns differences into a verdict and writes src/glossator/verification/weights.json.

Examples: mutations of two books (never of the sample book, which is kept for measuring), half of the set in other
languages, and claims that people labelled (WiCE, BEGIN). Where a claim has several sentences the worst one counts, and
of several places in the passages the best: which ones these are is settled by fitting again a few times.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import claims as sets
from common import ROOT, logistic
from glossator.embed.colbert import ColbertEncoder
from glossator.verification.judge import Verifier
from glossator.verification.model import LIKENESS, derive

TARGET = ROOT / "src" / "glossator" / "verification" / "weights.json"
Place = dict[str, float]
RIDGE, ROUNDS, FOLDS = 5.0, 3, 4
SHARES = {"rust": 2500, "docusaurus": 700, "languages": 1200, "wice": 1000, "begin": 3000}
"""How much each set counts, whatever its size."""

LEFT_OUT = "recombined"
"""A kind that is measured but not fitted to: it teaches against claims that draw on several sentences, as WiCE's do."""

HARD_KINDS = {"entity_in_passage": 3.0, "fabricated_clause": 4.0}
"""Kinds that count more among the false ones: they were caught least when all counted the same."""

MADE_FALSE = 0.8
"""How much of a made set's weight its false claims have: letting one through costs more than withholding a true one."""


@dataclass(frozen=True)
class Example:
    """A claim with what it is judged by."""

    name: str
    claim: sets.Claim
    rows: sets.Rows
    weight: float


@dataclass(frozen=True)
class Model:
    """Names, slopes and bias of a fit."""

    names: tuple[str, ...]
    slope: NDArray[np.float64]
    bias: float

    def logit(self, place: Place) -> float:
        return float(self.bias + self.slope @ vector(place, self.names))


@dataclass(frozen=True)
class Models:
    """The two that judge: by words where that is all there is, by words and tokens elsewhere."""

    words: Model
    tokens: Model

    def logit(self, rows: sets.Rows) -> float:
        """The worst sentence at its best place."""
        return min(max((self.tokens if "likeness" in p else self.words).logit(p) for p in places) for places in rows)


def vector(place: Place, names: Sequence[str]) -> NDArray[np.float64]:
    values = derive(place)
    return np.array([values.get(name, 0.0) for name in names])


def by_words(rows: sets.Rows) -> sets.Rows:
    """The rows without what the token model adds."""
    return [[{k: v for k, v in place.items() if k not in LIKENESS} for place in places] for places in rows]


def by_tokens(rows: sets.Rows) -> sets.Rows:
    """The rows that the token model was asked about."""
    asked = [[place for place in places if "likeness" in place] for places in rows]
    return [places for places in asked if places]


def examples(verifier: Verifier) -> list[Example]:
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
        false = 0.5 if name in ("wice", "begin") else MADE_FALSE
        for claim, row, kind in zip(claims, rows, kinds, strict=True):
            share = (1 - false if claim.supported else false) / of_label[kind[0]] / counts[kind]
            share *= HARD_KINDS.get(claim.kind, 1.0)
            found += [Example(name, claim, row, SHARES[name] * share)] if row and claim.kind != LEFT_OUT else []
    return found


def fit(found: Sequence[Example]) -> Models:
    tokens = [replace(e, rows=rows) for e in found if (rows := by_tokens(e.rows))]
    return Models(fit_one([replace(e, rows=by_words(e.rows)) for e in found]), fit_one(tokens))


def fit_one(found: Sequence[Example]) -> Model:
    """Weighted logistic regression; the sentence and the place that count are chosen anew each round."""
    names = tuple(sorted({name for e in found[:1] for place in e.rows[0][:1] for name in derive(place)}))
    values = [[[vector(place, names) for place in places] for places in e.rows] for e in found]
    truth = np.array([e.claim.supported for e in found], float)
    weight = np.array([e.weight for e in found])
    slope, bias = np.array([10.0 * (name == "coverage") for name in names]), 0.0
    for _ in range(ROUNDS):
        picked = []
        for sentences in values:
            best = [max(places, key=lambda value: float(slope @ value)) for places in sentences]
            picked.append(min(best, key=lambda value: float(slope @ value)))
        bias, slope = by_sense(np.array(picked), truth, weight, names)
    return Model(names, slope, bias)


def by_sense(
    x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64], names: Sequence[str]
) -> tuple[float, NDArray[np.float64]]:
    """A fit in which no difference speaks for a claim and no likeness against it: such weights are left out."""
    used = np.ones(len(names), bool)
    while True:
        bias, found = logistic(x[:, used], y, weight, RIDGE)
        slope = np.zeros(len(names))
        slope[used] = found
        wrong = np.array([sense(name) * value < 0 for name, value in zip(names, slope, strict=True)])
        if not wrong.any():
            return bias, slope
        used &= ~wrong


def sense(name: str) -> int:
    """Which way an input may count: for a claim, against it, or either."""
    if name in ("coverage", "coverage_anywhere", "aligned", "full") or name.startswith("likeness"):
        return 1
    return 0 if name in ("close", "few", "few_full", "low_close", "least_close") else -1


def cross_validate(found: Sequence[Example]) -> dict[str, float]:
    """Balanced accuracy of each set, judged by models that saw none of its documents."""
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
