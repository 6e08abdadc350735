"""Finds changes of order: words that were exchanged, and neighbours from different clauses of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.reading.lexicon import lexicon_for
from glossator.verification.reading.tokens import COORDINATORS, Token

_BY = frozenset("by durch von por بواسطة ذریعے".split())
_SKIPPED = frozenset(
    "a an the is are was were be been it its this that these those of der die das el la los las".split()
)
_FIXED_ORDER = frozenset({"en", "es"})
"""Languages in which word order tells subject from object; in the others, inflection does."""

_MAX_DISTANCE = 8
"""In words, on either side of the word around which others were exchanged."""


def check_exchange(alignment: Alignment) -> CheckResult:
    """Find two words exchanged around a third ("A drives B", "B drives A")."""
    moved = [i for i, at in alignment.elsewhere.items() if at is not None and alignment.claim[i].weight]
    features = {"exchange": 0.0, "voice": 0.0, "moved": float(len(moved)), "reversed": float(_is_reversed(alignment))}
    is_ordered = alignment.language in _FIXED_ORDER and not alignment.inverted
    crossing = _crossing(alignment) if moved and is_ordered else None
    if crossing is None:
        return features, []
    count = [sum(t.form in _BY for t in tokens) for tokens in (alignment.claim, alignment.window.tokens)]
    features["voice" if count[0] != count[1] else "exchange"] = 1.0
    if count[0] != count[1]:
        return features, []
    exchanged = (alignment.claim_text(alignment.claim[index]) for index in crossing)
    return features, [Difference("exchange", *exchanged)]


def _is_reversed(alignment: Alignment) -> bool:
    """Whether three words in a row are in the source the other way round, without a passive between them."""
    if alignment.language not in _FIXED_ORDER:
        return False
    rows = set(_triples(alignment.window.tokens, alignment.language))
    return any(
        one != other and (other, at, one) in rows for one, at, other in _triples(alignment.claim, alignment.language)
    )


def _triples(tokens: Sequence[Token], language: str) -> Iterator[tuple[str, str, str]]:
    """Content words in a row, by stem and the one between them by form and whether a form of "be" is before it."""
    auxiliaries = lexicon_for(language).cues["auxiliary"]
    places = [n for n, token in enumerate(tokens) if token.weight and not token.quantity]
    for one, at, other in zip(places, places[1:], places[2:], strict=False):
        passive = not auxiliaries.isdisjoint(token.form for token in tokens[one:at])
        yield tokens[one].stem, f"{tokens[at].form} {passive}", tokens[other].stem


def _crossing(alignment: Alignment) -> tuple[int, int] | None:
    """Two words, before and after a third in the claim, that are after and before it in the source."""
    placed = [(i, at) for i in range(len(alignment.claim)) if (at := alignment.source_index(i)) is not None]
    content = [
        (i, at) for i, at in placed if alignment.claim[i].weight and not _moved_with_preposition(alignment, i, at)
    ]
    for i, at in placed:
        token = alignment.claim[i]
        if token.form in COORDINATORS or token.form in _SKIPPED:
            continue
        left = [k for k, there in content if i - _MAX_DISTANCE <= k < i and at < there <= at + 2 * _MAX_DISTANCE]
        right = [k for k, there in content if i < k <= i + _MAX_DISTANCE and at - 2 * _MAX_DISTANCE <= there < at]
        if left and right and not (set(left) | set(right)).isdisjoint(alignment.elsewhere):
            return left[-1], right[0]
    return None


def _moved_with_preposition(alignment: Alignment, index: int, there: int) -> bool:
    """Whether a word moved with the preposition before it and so kept its role in the sentence."""
    one, other = _preposition_before(alignment.claim, index), _preposition_before(alignment.window.tokens, there)
    return index in alignment.elsewhere and one is not None and one == other


def _preposition_before(tokens: Sequence[Token], index: int) -> str | None:
    """The preposition before a word, if any."""
    for token in reversed(tokens[max(0, index - 4) : index]):
        if token.form in _SKIPPED or (token.weight and token.clause == tokens[index].clause and not token.quantity):
            continue
        return token.form if not token.weight and not token.family and token.form not in COORDINATORS else None
    return None


def count_spliced(alignment: Alignment, content: Sequence[int]) -> int:
    """How many neighbours in a clause of the claim come from different clauses of the source, with others skipped."""
    count = 0
    for one, other in pairwise(content):
        first, second = alignment.source_index(one), alignment.source_index(other)
        if first is None or second is None or alignment.claim[one].clause != alignment.claim[other].clause:
            continue
        tokens = alignment.window.tokens
        if tokens[first].clause != tokens[second].clause:
            count += _skips_neighbour(alignment, first, 1, tokens[second].stem) or _skips_neighbour(
                alignment, second, -1, tokens[first].stem
            )
    return count


def _skips_neighbour(alignment: Alignment, index: int, step: int, wanted: str) -> bool:
    """Whether the next content word of the clause is not in the claim, and is not the one wanted."""
    tokens = alignment.window.tokens
    at = index + step
    while 0 <= at < len(tokens) and tokens[at].clause == tokens[index].clause:
        if tokens[at].weight:
            return alignment.is_source_unmatched(at) and tokens[at].stem != wanted
        at += step
    return False
