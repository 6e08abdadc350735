"""Merges numbers that come in several pieces: "two and a half days", "half an hour", "an hour and a half", "1½"."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from glossator.verification.reading.lexicon import Lexicon, MeasurementUnit, units
from glossator.verification.reading.numbers import Quantity, unit_after
from glossator.verification.reading.tokens import Token, as_unit, number_token

ARTICLES = frozenset("a an ein eine einen einer eines un una".split())
_OF = frozenset("of von de".split())
_WHOLE_FOLLOWS = _OF | frozenset("the its their his her der die das el la los las".split())
_DENOMINATORS = frozenset((2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 16.0))
_MAX_PIECES = 4
"""Tokens of a unit between a number and its fraction."""

_MIN_MULTIPLIED = 10.0
"""Numbers from here on can be halved ("half a dozen", "half a million")."""


def vulgar_fraction(raw: str) -> Quantity | None:
    """The value of a single character such as ½."""
    value = unicodedata.numeric(raw, 0.0) if len(raw) == 1 else 0.0
    return Quantity((value,)) if 0 < value < 1 else None


def merge_fractions(tokens: Sequence[Token], lexicon: Lexicon, text: str) -> list[Token]:
    """Every number that is followed by a fraction, or that is a fraction of another or of a unit, as one quantity."""
    merged = list(_merge_slashes(tokens, text))
    at = 0
    while at < len(merged):
        if _is_fraction(merged[at]):
            start, stop, quantity = _extent(merged, at, lexicon, text)
            merged[start:stop] = _as_one(merged[start:stop], quantity, text)
        at += 1
    return merged


def _is_fraction(token: Token) -> bool:
    """Whether a token is a fraction in words or a character such as ½; digits such as 0.5 are complete."""
    quantity = token.quantity
    return quantity is not None and not quantity.written and len(quantity.values) == 1 and 0 < quantity.values[0] < 1


def _extent(tokens: Sequence[Token], at: int, lexicon: Lexicon, text: str) -> tuple[int, int, Quantity]:
    """The first token of the number that a fraction belongs to, the one after its last, and its quantity."""
    quantity = tokens[at].quantity
    share, unit = _value(tokens[at]), quantity.unit if quantity else None
    stop, factor, multiplied = _multiplied(tokens, at, text)
    whole = _whole_before(tokens, at, lexicon, text) if stop == at + 1 else None
    if whole is None:
        return at, stop, Quantity((share * factor,), multiplied or unit)
    first, count, between = whole
    return first, stop, Quantity((count + share,), between or unit)


def _whole_before(
    tokens: Sequence[Token], at: int, lexicon: Lexicon, text: str
) -> tuple[int, float, MeasurementUnit | None] | None:
    """The number before a fraction that adds to it, if any: its first token, its value, and the unit between them."""
    before = at - 1 - (at > 0 and tokens[at - 1].form in ARTICLES)
    joined = tokens[at].form[:1] in lexicon.joiners  # "y media", and in Arabic
    if not joined and before >= 0 and tokens[before].form in lexicon.joiners:
        joined, before = True, before - 1
    if before < 0 or _follows(tokens, at, _WHOLE_FOLLOWS):
        return None
    if _is_count(tokens[before], lexicon) and (joined or _touch(tokens[before], tokens[at], text)):
        return before, _value(tokens[before]), None
    return _unit_before(tokens, before) if joined else None


def _unit_before(tokens: Sequence[Token], last: int) -> tuple[int, float, MeasurementUnit] | None:
    """A unit with its number, or without one ("an hour"), that ends at this token."""
    nearest = range(last, max(0, last - _MAX_PIECES) - 1, -1)
    first = next((n for n in nearest if tokens[n].family != "unit"), last)
    lead = tokens[first]
    if lead.quantity and lead.quantity.unit and first < last and len(lead.quantity.values) == 1:
        return first, _value(lead), lead.quantity.unit
    unit = units().get(tokens[last].form)
    if unit is None or len(tokens[last].form) < 3:
        return None
    return last - (last > 0 and tokens[last - 1].form in ARTICLES), 1.0, unit


def _multiplied(tokens: Sequence[Token], at: int, text: str) -> tuple[int, float, MeasurementUnit | None]:
    """Where a fraction ends, and what it is a fraction of: a number ("half a dozen") or a unit ("half an hour")."""
    article = at + 1 + (at + 1 < len(tokens) and tokens[at + 1].form in _OF)
    if article + 1 >= len(tokens) or not (tokens[article].form in ARTICLES or tokens[article].form == "one"):
        return at + 1, 1.0, None
    following = tokens[article + 1]
    if following.quantity and _value(following) >= _MIN_MULTIPLIED:
        return article + 2, _value(following), following.quantity.unit
    unit, end = unit_after(text, tokens[article].end)
    stop = next((n for n in range(article + 1, len(tokens)) if tokens[n].start >= end), len(tokens))
    return (stop, 1.0, unit) if unit else (at + 1, 1.0, None)


def _as_one(tokens: Sequence[Token], quantity: Quantity, text: str) -> Iterator[Token]:
    """A number in several pieces: the first token has the quantity, the others belong to it like a unit."""
    form = text[tokens[0].start : tokens[-1].end].lower() if len(tokens) > 1 else tokens[0].form
    yield number_token(tokens[0], tokens[0].end, form, quantity)
    yield from map(as_unit, tokens[1:])


def _merge_slashes(tokens: Sequence[Token], text: str) -> Iterator[Token]:
    """Fractions in digits ("1/2 cup", "3/4 of"): only before a unit or "of", as others may be dates or pairs."""
    skip = False
    for at, token in enumerate(tokens):
        if skip:
            skip = False
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if following is None or text[token.end : following.start] != "/" or not _are_fraction(tokens, at):
            yield token
            continue
        unit = following.quantity.unit if following.quantity else None
        form = text[token.start : following.end]
        yield number_token(token, following.end, form, Quantity((_value(token) / _value(following),), unit))
        skip = True


def _are_fraction(tokens: Sequence[Token], at: int) -> bool:
    """Whether two numbers around a slash are a numerator and a denominator."""
    above, below = tokens[at].quantity, tokens[at + 1].quantity
    if above is None or below is None or above.unit or not (above.written.isdigit() and below.written.isdigit()):
        return False
    is_share = 0 < above.values[0] < below.values[0] and below.values[0] in _DENOMINATORS
    return is_share and (below.unit is not None or _follows(tokens, at + 1, _OF))


def _follows(tokens: Sequence[Token], at: int, forms: frozenset[str]) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].form in forms


def _is_count(token: Token, lexicon: Lexicon) -> bool:
    """Whether a token is a whole number without a unit, and not an ordinal."""
    quantity = token.quantity
    if quantity is None or quantity.unit or quantity.version or len(quantity.values) != 1:
        return False
    return quantity.values[0] >= 1 and quantity.values[0].is_integer() and token.form not in lexicon.ordinals


def _touch(one: Token, other: Token, text: str) -> bool:
    """Whether a digit and a fraction in digits are one number ("1½", "1 1/2")."""
    return text[one.end : other.start] in ("", " ", "\u00a0", "\u202f") and not text[other.start].isalpha()


def _value(token: Token) -> float:
    return token.quantity.values[0] if token.quantity and token.quantity.values else 0.0
