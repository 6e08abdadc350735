"""Describes the differences between a claim and its source for the user."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.verification.compare.difference import Difference

_CONTRADICTING = frozenset({"number", "unit", "negation", "modality", "quantifier", "opposite", "exchange"})
_ORDER = ("number", "unit", "negation", "opposite", "exchange", "modality", "quantifier", "replaced", "absent")
MAX_REASONS = 4


def contradicts(differences: Sequence[Difference]) -> bool:
    """Whether the source says something else, rather than nothing."""
    return any(
        difference.kind in _CONTRADICTING and (difference.source or difference.kind == "negation")
        for difference in differences
    )


def reasons(differences: Sequence[Difference]) -> tuple[str, ...]:
    """The reasons for the most important differences, most important first."""
    ranked = sorted(differences, key=lambda difference: _ORDER.index(difference.kind))
    return tuple(dict.fromkeys(_reason(difference) for difference in ranked))[:MAX_REASONS]


def _reason(difference: Difference) -> str:
    if difference.kind == "exchange":
        return f"swaps “{difference.claim}” and “{difference.source}” compared with the source"
    if difference.kind == "absent":
        return f"not in the source: {difference.claim}"
    if not difference.source:
        return f"says “{difference.claim}”; the source does not"
    if not difference.claim:
        return f"omits “{difference.source}”, which is in the source"
    if difference.kind in ("number", "unit"):
        return f"says {difference.claim}; the source says {difference.source}"
    return f"says “{difference.claim}” where the source says “{difference.source}”"
