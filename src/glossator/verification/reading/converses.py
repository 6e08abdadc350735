"""Finds relations that a claim states from the other side: "A is older than B", "B is younger than A"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glossator.verification.reading.lexicon import antonyms, converses
from glossator.verification.reading.tokens import Token

_AMOUNTS = frozenset("more less fewer".split())
_JOINING = frozenset("and but yet".split())
_MAX_THAN_DISTANCE = 5
"""In words, from a comparative to its "than"."""

Sides = tuple[frozenset[str], frozenset[str]]


def inverted_relations(claim: Sequence[Token], source: Sequence[Token]) -> dict[int, int]:
    """The words of a claim that relate the same things as a converse word of the source, in exchanged places."""
    mine, theirs = (list(_relational(tokens)) for tokens in (claim, source))
    return {
        i: n
        for i in mine
        for n in theirs
        if _are_converse(claim, i, source, n) and _is_exchanged(_sides(claim, i), _sides(source, n))
    }


def exchanged_comparisons(claim: Sequence[Token], source: Sequence[Token]) -> dict[int, int]:
    """The comparatives of a claim that the source has in the same direction, but with the things exchanged."""
    mine, theirs = (list(_relational(tokens)) for tokens in (claim, source))
    return {
        i: n
        for i in mine
        for n in theirs
        if _is_comparative(claim, i) and _have_one_direction(claim[i], source[n])
        if _is_exchanged(_sides(claim, i), _sides(source, n)) and not _is_straight(_sides(claim, i), _sides(source, n))
    }


def _have_one_direction(own: Token, other: Token) -> bool:
    """Whether two words relate things in the same direction: "higher", "exceeds"."""
    if own.form in _AMOUNTS or other.form in _AMOUNTS:
        return False
    return own.stem == other.stem or not _opposites(own).isdisjoint(_opposites(other))


def _opposites(token: Token) -> frozenset[str]:
    return antonyms().get(token.stem, frozenset()) | converses().get(token.stem, frozenset())


def _relational(tokens: Sequence[Token]) -> Iterator[int]:
    """The words that relate two things: comparatives, and words with a converse."""
    for at, token in enumerate(tokens):
        if token.stem in converses() or _is_comparative(tokens, at) or _continued(tokens, at) is not None:
            yield at


def _is_comparative(tokens: Sequence[Token], at: int) -> bool:
    if tokens[at].form not in _AMOUNTS and not tokens[at].form.endswith("er") and not _follows_more(tokens, at):
        return False
    following = tokens[at + 1 : at + 1 + _MAX_THAN_DISTANCE]
    return any(token.form == "than" and token.clause == tokens[at].clause for token in following)


def _follows_more(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is compared with "more": "more slowly than", as "slower than"."""
    return at > 0 and tokens[at - 1].form == "more" and tokens[at].form.endswith("ly")


def _continued(tokens: Sequence[Token], at: int) -> int | None:
    """The comparative whose things another compares, too: "heavier than the other but costs less", "but cheaper"."""
    is_joined = at > 0 and tokens[at - 1].form in _JOINING and tokens[at].form.endswith("er")
    if not (is_joined or tokens[at].form in _AMOUNTS) or _is_comparative(tokens, at):
        return None
    return next((n for n in range(at - 1, -1, -1) if _is_comparative(tokens, n)), None)


def _are_converse(claim: Sequence[Token], index: int, source: Sequence[Token], there: int) -> bool:
    own, other = claim[index], source[there]
    if other.stem in converses().get(own.stem, ()):
        return True
    is_amount = own.form in _AMOUNTS
    stems = [tokens[at].stem + "er" * _follows_more(tokens, at) for tokens, at in ((claim, index), (source, there))]
    if stems[1] not in antonyms().get(stems[0], ()) or is_amount is not (other.form in _AMOUNTS):
        return False
    return not is_amount or not _neighbours(claim, index).isdisjoint(_neighbours(source, there))


def _neighbours(tokens: Sequence[Token], at: int) -> frozenset[str]:
    """The content words beside an amount, one of which it is an amount of: "more cards", "costs more"."""
    before = next((t.stem for t in reversed(tokens[:at]) if t.weight), "")
    after = next((t.stem for t in tokens[at + 1 :] if t.weight), "")
    return frozenset((before, after)) - {""}


def _sides(tokens: Sequence[Token], at: int) -> Sides:
    """What stands before a word and, in its clause, after it; without what stands on both sides."""
    continued = _continued(tokens, at)
    at = at if continued is None else continued
    before = frozenset(token.stem for token in tokens[:at] if token.weight)
    after = frozenset(token.stem for token in tokens[at + 1 :] if token.weight and token.clause == tokens[at].clause)
    return before - after, after - before


def _is_straight(mine: Sides, theirs: Sides) -> bool:
    """Whether a thing keeps its place."""
    return not mine[0].isdisjoint(theirs[0]) or not mine[1].isdisjoint(theirs[1])


def _is_exchanged(mine: Sides, theirs: Sides) -> bool:
    """Whether the things change places."""
    return not mine[0].isdisjoint(theirs[1]) and not mine[1].isdisjoint(theirs[0])
