"""A logistic model that turns the features of a comparison into a score."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources

_COUNTS = tuple(
    """
    spliced number unit number_absent number_swapped opposite opposite_loose exchange negation_added negation_dropped
    modality_added modality_dropped modality_changed quantifier_added quantifier_dropped quantifier_changed moved
    replaced replaced_near replaced_known missing inserted
    """.split()
)
_HARD_DIFFERENCES = tuple(
    """
    number unit number_absent negation_added negation_dropped modality_changed quantifier_changed opposite exchange
    """.split()
)
VECTOR_FEATURES = tuple(
    """
    likeness likeness_low likeness_least likeness_anywhere likeness_anywhere_low replaced_unlike replaced_most_unlike
    """.split()
)
_LIMITS = (
    (0.4, ("polarity", "roles", "causes", "letters", "number", "unit", "number_absent")),
    (0.7, ("spliced", "relation", *_HARD_DIFFERENCES)),
)
"""The highest scores of claims with a difference, however close they are otherwise.

Below `SUPPORTED` if the claim contradicts its source; below `SHOWN` if it may be true, but no sentence says it.
"""

_MAX_SYNONYM_DISTANCE = 0.3
"""Two words further apart than this are not synonyms."""


def score(features: dict[str, float]) -> float:
    """A score between 0 and 1; see `core.thresholds` for what counts as supported."""
    weights = load_weights()["tokens" if "likeness" in features else "words"]
    logit = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in derive_inputs(features).items())
    value = round(1 / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)
    return min(value, *(limit for limit, names in _LIMITS if any(features[name] for name in names)), 1.0)


def derive_inputs(features: dict[str, float]) -> dict[str, float]:
    """The inputs of the model. A difference weighs more, the closer a claim follows its source.

    In a sentence that otherwise repeats the source, one changed word changes the claim; in a free paraphrase it is one
    of many. So every count is an input twice: `_close` for the first case, `_far` for the second.
    """
    exchanged = features["exchange"] and features["coverage"] >= 0.999
    aligned = 1.0 if exchanged else features["aligned"]  # the words of the source, two of them exchanged
    close = _clamp((aligned - 0.5) / 0.4)
    near = _clamp((aligned - 0.7) / 0.2)
    follows = float(aligned >= 0.75)
    few = max(0.0, 4 - features["words"]) / 4
    values = {name: features[name] for name in ("coverage", "coverage_anywhere", "aligned", "first_person")}
    values |= {
        "absent": min(features["absent"], 4.0),
        "absent_names": min(features["absent_names"], 3.0),
        "longest_gap": min(features["longest_gap"], 4.0),
        "inserted_run": min(features["inserted_run"], 5.0),
        "share_missing": features["missing"] / max(1.0, features["words"]),
        "thin": max(0.0, 0.6 - features["coverage"]),
        "reused": min(features["reused"], 4.0),
        "longer": min(features["longer"], 1.0),
        "full": float(features["coverage"] >= 0.999),
        "few": few,
        "few_full": few * features["coverage"],
        "close": close,
        "one_missing": float(features["missing"] >= 1),
        "elsewhere_near": near * min(2.0, features["missing"] - features["absent"]),
        "replaced_any_near": near
        * min(2.0, features["replaced"] + features["replaced_near"] + features["replaced_known"]),
        "swapped": follows * min(1.0, features["replaced_near"]),
        "renamed": follows * min(1.0, features["replaced_names"]),
        "spliced_near": near * min(2.0, features["spliced"]),
        "hard_close": close * float(any(features[name] for name in _HARD_DIFFERENCES)),
    }
    for name in _COUNTS:
        count = min(features[name], 2.0)
        values |= {f"{name}_close": count * close, f"{name}_far": count * (1 - close)}
    return values | (_vector_inputs(features, close, near) if "likeness" in features else {})


def _vector_inputs(features: dict[str, float], close: float, near: float) -> dict[str, float]:
    unlike = features["replaced_most_unlike"]
    return {name: features[name] for name in VECTOR_FEATURES} | {
        "unlike_close": unlike * close,
        "low_close": features["likeness_low"] * close,
        "least_close": features["likeness_least"] * close,
        "unlike_beyond": near * max(0.0, unlike - 0.27),
        "no_synonym": near * float(unlike > _MAX_SYNONYM_DISTANCE),
    }


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))


@lru_cache
def load_weights() -> dict[str, dict[str, float]]:
    """The weights by feature name, written by bench/fit/fit_verifier.py."""
    text = resources.files("glossator.verification").joinpath("weights.json").read_text("utf-8")
    weights: dict[str, dict[str, float]] = json.loads(text)
    return weights
