"""What differs between a claim and its source becomes one score, by weights that are a file."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources

_COUNTED = tuple(
    """
    spliced number unit number_absent number_swapped opposite opposite_loose exchange negation_added negation_dropped
    modality_added modality_dropped modality_changed quantifier_added quantifier_dropped quantifier_changed moved
    replaced replaced_near replaced_known missing inserted
    """.split()
)
_HARD = tuple(
    """
    number unit number_absent negation_added negation_dropped modality_changed quantifier_changed opposite exchange
    """.split()
)
LIKENESS = tuple(
    """
    likeness likeness_low likeness_least likeness_anywhere likeness_anywhere_low replaced_unlike replaced_most_unlike
    """.split()
)
SPLICED = 0.7
"""The most that a claim can score whose words the source keeps apart: it may be true, but no sentence says it."""

_SYNONYM = 0.3
"""How unlike two words in one place may be and still be synonyms."""


def score(found: dict[str, float]) -> float:
    """Between 0 and 1; half is where support begins."""
    weights = model()["tokens" if "likeness" in found else "words"]
    logit = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in derive(found).items())
    value = round(1 / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)
    return min(value, SPLICED) if found["spliced"] else value


def derive(found: dict[str, float]) -> dict[str, float]:
    """The model's inputs. A difference weighs more the closer a claim follows its source.

    In a sentence that otherwise repeats the source, one changed word is a changed claim; in a free paraphrase it is one
    of many. So every count comes twice: `_close` for the first, `_far` for the second.
    """
    exchanged = found["exchange"] and found["coverage"] >= 0.999
    aligned = 1.0 if exchanged else found["aligned"]  # the source's own words, two of them in each other's place
    close = _between((aligned - 0.5) / 0.4)
    near = _between((aligned - 0.7) / 0.2)
    follows = float(aligned >= 0.75)
    few = max(0.0, 4 - found["words"]) / 4
    values = {name: found[name] for name in ("coverage", "coverage_anywhere", "aligned", "first_person")}
    values |= {
        "absent": min(found["absent"], 4.0),
        "absent_names": min(found["absent_names"], 3.0),
        "longest_gap": min(found["longest_gap"], 4.0),
        "inserted_run": min(found["inserted_run"], 5.0),
        "share_missing": found["missing"] / max(1.0, found["words"]),
        "thin": max(0.0, 0.6 - found["coverage"]),
        "reused": min(found["reused"], 4.0),
        "longer": min(found["longer"], 1.0),
        "full": float(found["coverage"] >= 0.999),
        "few": few,
        "few_full": few * found["coverage"],
        "close": close,
        "one_missing": float(found["missing"] >= 1),
        "elsewhere_near": near * min(2.0, found["missing"] - found["absent"]),
        "replaced_any_near": near * min(2.0, found["replaced"] + found["replaced_near"] + found["replaced_known"]),
        "swapped": follows * min(1.0, found["replaced_near"]),
        "renamed": follows * min(1.0, found["replaced_names"]),
        "spliced_near": near * min(2.0, found["spliced"]),
        "hard_close": close * float(any(found[name] for name in _HARD)),
    }
    for name in _COUNTED:
        count = min(found[name], 2.0)
        values |= {f"{name}_close": count * close, f"{name}_far": count * (1 - close)}
    return values | (_by_tokens(found, close, near) if "likeness" in found else {})


def _by_tokens(found: dict[str, float], close: float, near: float) -> dict[str, float]:
    unlike = found["replaced_most_unlike"]
    return {name: found[name] for name in LIKENESS} | {
        "unlike_close": unlike * close,
        "low_close": found["likeness_low"] * close,
        "least_close": found["likeness_least"] * close,
        "unlike_beyond": near * max(0.0, unlike - 0.27),
        "no_synonym": near * float(unlike > _SYNONYM),
    }


def _between(value: float) -> float:
    return min(1.0, max(0.0, value))


@lru_cache
def model() -> dict[str, dict[str, float]]:
    """The weights: made by bench/fit_verifier.py, never by hand."""
    text = resources.files("glossator.verification").joinpath("weights.json").read_text("utf-8")
    weights: dict[str, dict[str, float]] = json.loads(text)
    return weights
