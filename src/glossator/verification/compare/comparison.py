"""What differs between a claim and the evidence it is laid beside: features for the model, findings for the reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from glossator.verification.compare.alignment import Beside, Finding, Part, stands
from glossator.verification.compare.changes import is_replaced, marks, numbers, opposites, replaced
from glossator.verification.compare.order import exchange, spliced
from glossator.verification.compare.windows import Source, Window
from glossator.verification.reading.tokenizer import Reading

_SPEAKER = frozenset("i my me i'm i've we our you your ich mein yo mi أنا میں".split())
CHANGES = tuple(
    """
    missing spliced number unit number_absent number_swapped opposite opposite_loose exchange voice moved replaced
    replaced_near replaced_known negation_changed negation_added negation_dropped modality_changed modality_added
    modality_dropped quantifier_changed quantifier_added quantifier_dropped
    """.split()
)
"""Features of which none may be set when a claim is the source's own words."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim beside one window: the numbers that judge it and the differences that explain it."""

    window: Window
    features: dict[str, float]
    findings: tuple[Finding, ...]
    replaced: tuple[tuple[int, int], ...]
    """Places of the claim's words that stand where the source has others, and the places of those."""

    @property
    def clean(self) -> bool:
        """Whether every word of the claim stands in the window, in order, with nothing changed."""
        return self.features["aligned"] == 1 and not any(self.features[name] for name in CHANGES)


def compare(claim: Reading, window: Window, sources: Sequence[Source]) -> Comparison:
    """Lay a claim beside a window."""
    beside = Beside(claim, window, sources)
    features: dict[str, float] = {}
    findings: list[Finding] = []
    for part in (_coverage, numbers, marks, opposites, exchange, replaced):
        values, found = part(beside)
        features |= values
        findings += found
    features["first_person"] = float(sum(token.form in _SPEAKER for token in claim.tokens))
    places = tuple((p.claim or 0, p.source or 0) for p in beside.pairs if is_replaced(beside, p))
    return Comparison(window, features, tuple(findings), places)


def _coverage(b: Beside) -> Part:
    content = [i for i, token in enumerate(b.claim) if token.weight and not (token.quantity and token.weight < 1)]
    total = sum(b.claim[i].weight for i in content) or 1.0
    missing = [i for i in content if not b.matched(i) and b.here.get(i) is None]
    absent = [i for i in missing if not stands(b.claim[i], b.sources)]

    def weigh(places: Sequence[int]) -> float:
        return sum(b.claim[i].weight for i in places) / total

    words = [i for i in absent if not b.claim[i].quantity]
    inserted = {i for i in missing if i not in b.partner or b.partner[i].source is None}
    features = {
        "coverage": 1 - weigh(missing),
        "coverage_anywhere": 1 - weigh(absent),
        "aligned": weigh([i for i in content if b.matched(i)]),
        "missing": float(len(missing)),
        "absent": float(len(absent)),
        "absent_names": float(sum(b.claim[i].name for i in absent)),
        "longest_gap": float(_longest_run(content, set(missing))),
        "inserted": float(len(inserted)),
        "inserted_run": float(_longest_run(content, inserted)),
        "reused": float(sum(_is_reused(b, i) for i in content)),
        "longer": max(0.0, len(content) / max(1, sum(token.weight > 0 for token in b.window.tokens)) - 1),
        "spliced": float(spliced(b, content)),
        "words": float(len(content)),
    }
    found = [Finding("absent", ", ".join(b.said(b.claim[i]) for i in words[:6]))] if words else []
    return features, found


def _is_reused(b: Beside, place: int) -> bool:
    """Whether a word stands in the source only where another word of the claim has been matched already."""
    there = b.here.get(place)
    return there is not None and not b.source_free(there)


def _longest_run(places: Sequence[int], wanted: set[int]) -> int:
    return max((len(list(run)) for inside, run in groupby(places, key=wanted.__contains__) if inside), default=0)
