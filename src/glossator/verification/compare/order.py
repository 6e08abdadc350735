"""Order: words that changed sides, and neighbours that the source keeps apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from glossator.verification.compare.alignment import Beside, Finding, Part
from glossator.verification.reading.tokenizer import Token

_COORDINATORS = frozenset("and or und oder y o e u و یا اور".split())
_PASSIVE = frozenset("by durch von por بواسطة ذریعے".split())
_IDLE = frozenset("a an the is are was were be been it its this that these those of der die das el la los las".split())
_ORDERED = frozenset({"en", "es"})
"""Languages in which the order of words tells who does what; in the others endings do, and order is free."""

_REACH = 8
"""Words on either side that an exchange is looked for in."""


def exchange(b: Beside) -> Part:
    """Two things that change sides around a word they share ("A drives B", "B drives A")."""
    moved = [i for i, at in b.here.items() if at is not None and b.claim[i].weight]
    features = {"exchange": 0.0, "voice": 0.0, "moved": float(len(moved))}
    crossing = _crossing(b) if moved and b.language in _ORDERED else None
    if crossing is None:
        return features, []
    before, after = crossing
    count = [sum(t.form in _PASSIVE for t in tokens) for tokens in (b.claim, b.window.tokens)]
    features["voice" if count[0] != count[1] else "exchange"] = 1.0
    return features, [Finding("exchange", b.said(b.claim[before]), b.said(b.claim[after]))] if count[0] == count[
        1
    ] else []


def _crossing(b: Beside) -> tuple[int, int] | None:
    """Words before and after a third one in the claim that stand after and before it in the source."""
    placed = [(i, at) for i in range(len(b.claim)) if (at := b.place(i)) is not None]
    things = [(i, at) for i, at in placed if b.claim[i].weight and not _carried(b, i, at)]
    for i, at in placed:
        token = b.claim[i]
        if token.form in _COORDINATORS or token.form in _IDLE:
            continue
        left = [k for k, there in things if i - _REACH <= k < i and at < there <= at + 2 * _REACH]
        right = [k for k, there in things if i < k <= i + _REACH and at - 2 * _REACH <= there < at]
        if left and right and not (set(left) | set(right)).isdisjoint(b.here):
            return left[-1], right[0]
    return None


def _carried(b: Beside, place: int, there: int) -> bool:
    """Whether a word moves together with the preposition before it, which keeps its part in the sentence."""
    one, other = _before(b.claim, place), _before(b.window.tokens, there)
    return place in b.here and one is not None and one == other


def _before(tokens: Sequence[Token], place: int) -> str | None:
    """The preposition that a word stands under, if any."""
    for token in reversed(tokens[max(0, place - 4) : place]):
        if token.form in _IDLE or (token.weight and token.clause == tokens[place].clause and not token.quantity):
            continue
        return token.form if not token.weight and not token.family and token.form not in _COORDINATORS else None
    return None


def spliced(b: Beside, content: Sequence[int]) -> int:
    """Neighbours in one clause of the claim that the source keeps apart, each with another neighbour of its own."""
    count = 0
    for one, other in pairwise(content):
        first, second = b.place(one), b.place(other)
        if first is None or second is None or b.claim[one].clause != b.claim[other].clause:
            continue
        tokens = b.window.tokens
        if tokens[first].clause != tokens[second].clause:
            count += _other(b, first, 1, tokens[second].stem) or _other(b, second, -1, tokens[first].stem)
    return count


def _other(b: Beside, place: int, step: int, wanted: str) -> bool:
    """Whether the next word that carries meaning in a clause is left out, and is not the one wanted."""
    tokens = b.window.tokens
    at = place + step
    while 0 <= at < len(tokens) and tokens[at].clause == tokens[place].clause:
        if tokens[at].weight:
            return b.source_free(at) and tokens[at].stem != wanted
        at += step
    return False
