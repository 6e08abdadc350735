"""Compares a claim with a window: features for the model, differences for the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from glossator.verification.compare.alignment import Alignment, occurs_in
from glossator.verification.compare.changes import (
    check_antonyms,
    check_markers,
    check_numbers,
    check_replaced,
    is_replaced,
)
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.names import check_codes, check_letters
from glossator.verification.compare.order import check_exchange, count_spliced
from glossator.verification.compare.roles import check_causes, check_changed_relations, check_relations, check_roles
from glossator.verification.compare.statements import check_assertions, check_polarity
from glossator.verification.compare.values import check_values
from glossator.verification.compare.windows import TokenizedPassage, Window
from glossator.verification.reading.tokenizer import TokenizedText

_FIRST_PERSON = frozenset("i my me i'm i've we our you your ich mein yo mi أنا میں".split())
CHANGES = tuple(
    """
    missing spliced number unit number_absent number_swapped opposite opposite_loose exchange voice moved replaced
    replaced_near replaced_known negation_changed negation_added negation_dropped modality_changed modality_added
    modality_dropped quantifier_changed quantifier_added quantifier_dropped polarity roles causes letters codes values
    relation unasserted changed_relation
    """.split()
)
"""Features that are all 0 if the claim has the words of the source."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim compared with one window: features for the model and the differences that explain them."""

    window: Window
    features: dict[str, float]
    differences: tuple[Difference, ...]
    replaced: tuple[tuple[int, int], ...]
    """Indexes of replaced words: of the claim token, and of the source token in its place."""

    @property
    def is_identical(self) -> bool:
        """Whether every word of the claim is in the window, in order and unchanged."""
        return self.features["aligned"] == 1 and not any(self.features[name] for name in CHANGES)


def compare(claim: TokenizedText, window: Window, passages: Sequence[TokenizedPassage]) -> Comparison:
    """Compare a claim with a window."""
    alignment = Alignment(claim, window, passages)
    features: dict[str, float] = {}
    differences: list[Difference] = []
    for check in _CHECKS:
        values, found = check(alignment)
        features |= values
        differences += found
    features["first_person"] = float(sum(token.form in _FIRST_PERSON for token in claim.tokens))
    indexes = tuple((p.claim or 0, p.source or 0) for p in alignment.pairs if is_replaced(alignment, p))
    return Comparison(window, features, tuple(differences), indexes)


def _check_coverage(alignment: Alignment) -> CheckResult:
    content = [
        i for i, token in enumerate(alignment.claim) if token.weight and not (token.quantity and token.weight < 1)
    ]
    total = sum(alignment.claim[i].weight for i in content) or 1.0
    missing = [i for i in content if not alignment.is_matched(i) and alignment.elsewhere.get(i) is None]
    absent = [i for i in missing if not occurs_in(alignment.claim[i], alignment.passages)]

    def weigh(indexes: Sequence[int]) -> float:
        return sum(alignment.claim[i].weight for i in indexes) / total

    words = [i for i in absent if not alignment.claim[i].quantity]
    inserted = {i for i in missing if i not in alignment.by_claim or alignment.by_claim[i].source is None}
    features = {
        "coverage": 1 - weigh(missing),
        "coverage_anywhere": 1 - weigh(absent),
        "aligned": weigh([i for i in content if alignment.is_matched(i)]),
        "missing": float(len(missing)),
        "absent": float(len(absent)),
        "absent_names": float(sum(alignment.claim[i].is_name for i in absent)),
        "longest_gap": float(_longest_run(content, set(missing))),
        "inserted": float(len(inserted)),
        "inserted_run": float(_longest_run(content, inserted)),
        "reused": float(sum(_is_reused(alignment, i) for i in content)),
        "longer": max(0.0, len(content) / max(1, sum(token.weight > 0 for token in alignment.window.tokens)) - 1),
        "spliced": float(count_spliced(alignment, content)),
        "words": float(len(content)),
    }
    found = (
        [Difference("absent", ", ".join(alignment.claim_text(alignment.claim[i]) for i in words[:6]))] if words else []
    )
    return features, found


def _is_reused(alignment: Alignment, index: int) -> bool:
    """Whether the only match of a word in the source is already taken by another word of the claim."""
    there = alignment.elsewhere.get(index)
    return there is not None and not alignment.is_source_unmatched(there)


def _longest_run(indexes: Sequence[int], wanted: set[int]) -> int:
    return max((len(list(run)) for inside, run in groupby(indexes, key=wanted.__contains__) if inside), default=0)


_CHECKS = (
    _check_coverage,
    check_numbers,
    check_markers,
    check_antonyms,
    check_exchange,
    check_replaced,
    check_polarity,
    check_roles,
    check_causes,
    check_letters,
    check_codes,
    check_values,
    check_relations,
    check_assertions,
    check_changed_relations,
)
