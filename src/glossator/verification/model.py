"""A logistic model that turns the features of a comparison into a score."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources

from glossator.core.thresholds import SHOWN

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
_STATEMENTS = ("polarity", "roles", "causes", "letters", "relation")
READING_FEATURES = (
    *("read_support", "read_contradiction", "read_doubt", "read_doubts"),
    *("together_support", "together_contradiction", "together_doubt"),
)
SHORT_INPUTS = ("by_words", "suspected", "restated", "read_support", "together_support")
_CONTRADICTING = (
    "polarity",
    "roles",
    "causes",
    "letters",
    "values",
    "unasserted",
    "changed_relation",
    "number",
    "unit",
    "number_absent",
)
_DOUBTFUL = ("spliced", "relation", "codes", *_HARD_DIFFERENCES)
_ORDER = frozenset(("exchange", "spliced", "relation"))
"""Differences that say little about a short claim once it was read: they are as frequent in true as in false ones."""
_LIMITS = ((0.4, _CONTRADICTING), (0.7, _DOUBTFUL))
"""The highest scores of claims with a difference, however close they are otherwise.

Below `SUPPORTED` if the claim contradicts its source; below `SHOWN` if it may be true, but no sentence says it.
"""

_VETOES = ("causes", "letters", "values", "unasserted", "changed_relation", "codes", "number", "unit", "number_absent")
"""Differences that limit the score to 0.4 even if the reader model finds a claim supported."""

_VETOES_IF_CLOSE = (
    *("negation_added", "negation_dropped", "modality_changed", "quantifier_changed", "opposite", "exchange"),
)
"""Differences that limit it to 0.7 if the claim follows its source closely, and to 0.4 if it nearly repeats it: there,
one word changes what it says."""

_VETOES_IF_SHORT = frozenset(("opposite", "quantifier_changed", "negation_dropped"))
"""The same for short claims. The model weighs other differences between words against the readings: they are as
frequent in true claims that say something from another side, such as in the passive voice."""

_MIN_CLOSE_SHORT, _MIN_CLOSE, _MIN_NEAR = 0.5, 0.75, 0.85
"""Shares of a claim's words that are aligned with its source: what is close to it, and what nearly repeats it."""

_MIN_COVERAGE = 0.2
"""Share of the words of a short claim that the source must have for the reader model to judge it: it was trained on
claims about its source, not on others."""

_MIN_READ_WORDS = 3
"""Content words of a claim: of a shorter one, a word that the source does not contain is half, so that both readings
must support it."""

MIN_LONG_WORDS = 7
"""Content words of a claim that is not short."""
MAX_LOGIT, MIN_SHARE = 30.0, 0.01

_MAX_SYNONYM_DISTANCE = 0.3
"""Two words further apart than this are not synonyms."""


def score(features: dict[str, float]) -> float:
    """A score between 0 and 1; see `core.thresholds` for what counts as supported."""
    if is_short(features) and "read_support" in features:
        return _score_short(features)
    return min(_logistic(derive_inputs(features), load_weights()[_model_for(features)]), limit(features))


def is_short(features: dict[str, float]) -> bool:
    """Whether a claim is so short that single words decide: the model "short" judges it."""
    return features["words"] < MIN_LONG_WORDS


def _score_short(features: dict[str, float]) -> float:
    if is_decided_by_words(features):
        return _score_by_words(features)
    return min(_logistic(short_inputs(features), load_weights()["short"]), limit(features))


def is_decided_by_words(features: dict[str, float]) -> bool:
    """Whether the word comparison decides alone on a short claim.

    It does if it shows the claim, if a claim that follows its source has a difference or a word that the source does
    not contain, if that word is half of the claim and a reading does not support it, if the claim only exchanges words
    of its source and a reading does not support it, or if hardly any of the words are in the source.
    """
    is_changed = features["aligned"] >= _MIN_CLOSE and bool(features["absent"] or _short_differences(features))
    readings = (features["read_support"], features["together_support"])
    is_unknown = bool(features["absent"]) and features["words"] < _MIN_READ_WORDS and min(readings) < 0
    is_elsewhere = features["coverage"] < _MIN_COVERAGE
    is_restated = features["inverted"] or features["converted"] or features["revoiced"]
    is_reordered = features["exchange"] and features["coverage"] >= 0.999 and not is_restated and min(readings) < 0
    return is_changed or is_unknown or is_elsewhere or bool(is_reordered) or _score_by_words(features) >= SHOWN


def short_inputs(features: dict[str, float]) -> dict[str, float]:
    """The inputs of the model for short claims: the score of the word comparison, and both readings."""
    by_words = min(1 - MIN_SHARE, max(MIN_SHARE, _score_by_words(features)))
    suspected = bool(_short_differences(features) - _ORDER) or features["reversed"] > 0
    restated = features["inverted"] or features["converted"] or features["revoiced"]
    return {
        "by_words": math.log(by_words / (1 - by_words)),
        "suspected": float(suspected),
        "restated": float(restated and not suspected and features["absent"] <= 1),
        "read_support": features["read_support"],
        "together_support": features["together_support"],
    }


def _short_differences(features: dict[str, float]) -> set[str]:
    """The differences of a short claim; opposites that both texts have are none."""
    found = {name for _, names in _LIMITS for name in names if features[name]}
    return found - {"opposite"} if features["opposite"] == features["opposite_mutual"] else found


def _score_by_words(features: dict[str, float]) -> float:
    return score({name: value for name, value in features.items() if name not in READING_FEATURES})


def _logistic(inputs: dict[str, float], weights: dict[str, float]) -> float:
    logit = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in inputs.items())
    logit *= weights.get("scale", 1.0) if logit > 0 else 1.0
    return round(1 / (1 + math.exp(-max(-MAX_LOGIT, min(MAX_LOGIT, logit)))), 4)


def limit(features: dict[str, float]) -> float:
    """The highest score that the differences of a claim allow."""
    return min((value for value, names in _limits(features) if any(features[name] for name in names)), default=1.0)


def _limits(features: dict[str, float]) -> tuple[tuple[float, tuple[str, ...]], ...]:
    """The limits that apply to a claim; without the reader model, all of them."""
    if "read_support" not in features:
        return _LIMITS
    if is_short(features):
        others = _VETOES_IF_SHORT & _short_differences(features) if features["aligned"] >= _MIN_CLOSE_SHORT else ()
        return ((0.4, (*_VETOES, *others)),)
    close, near = features["aligned"] >= _MIN_CLOSE, features["aligned"] >= _MIN_NEAR
    return ((0.4, (*_VETOES, *(_VETOES_IF_CLOSE if near else ()))), (0.7, _VETOES_IF_CLOSE if close else ()))


def has_veto(features: dict[str, float]) -> bool:
    """Whether a difference rules out the claim, whatever its other features are."""
    return any(features[name] for name in _limits(features)[0][1])


def _model_for(features: dict[str, float]) -> str:
    """The model for the available features: the word comparison only, or with the token model or the reader model."""
    return "reader" if "read_support" in features else "tokens" if "likeness" in features else "words"


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
    values |= _vector_inputs(features, close, near) if "likeness" in features else {}
    return values | (_reading_inputs(features, close, near) if "read_support" in features else {})


def _reading_inputs(features: dict[str, float], close: float, near: float) -> dict[str, float]:
    support, doubt = features["read_support"], features["read_doubt"]
    values = {name: features[name] for name in READING_FEATURES} | {
        "read_support_close": support * close,
        "read_doubt_close": doubt * close,
        "read_certain": max(0.0, support - 2.0),
        "read_share": features["read_doubts"] / max(1.0, features["words"]),
        "near": near,
        "together_support_close": features["together_support"] * close,
        "together_doubt_close": features["together_doubt"] * close,
        "read_support_near": support * near,
        "read_doubt_near": doubt * near,
    }
    for name in _STATEMENTS:
        count = min(features[name], 2.0)
        values |= {f"{name}_close": count * close, f"{name}_far": count * (1 - close)}
    return values


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
