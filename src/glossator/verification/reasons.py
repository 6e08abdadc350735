"""Differences between a claim and its source, in words that a reader understands."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.verification.compare.alignment import Finding

_AGAINST = frozenset({"number", "unit", "negation", "modality", "quantifier", "opposite", "exchange"})
_ORDER = ("number", "unit", "negation", "opposite", "exchange", "modality", "quantifier", "replaced", "absent")
MOST = 4


def contradicts(findings: Sequence[Finding]) -> bool:
    """Whether the source says something else, rather than nothing: both sides are there to be compared."""
    return any(f.kind in _AGAINST and (f.source or f.kind == "negation") for f in findings)


def reasons(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The differences that matter most, first."""
    ranked = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    return tuple(dict.fromkeys(_reason(finding) for finding in ranked))[:MOST]


def _reason(f: Finding) -> str:
    if f.kind == "exchange":
        return f"puts “{f.claim}” and “{f.source}” the other way round than the source"
    if f.kind == "absent":
        return f"not in the source: {f.claim}"
    if not f.source:
        return f"says “{f.claim}”; the source does not"
    if not f.claim:
        return f"leaves out “{f.source}”, which the source says"
    if f.kind in ("number", "unit"):
        return f"says {f.claim}; the source says {f.source}"
    return f"says “{f.claim}” where the source says “{f.source}”"
