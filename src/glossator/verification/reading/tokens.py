"""Tokens: words and numbers of a text with their labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glossator.verification.reading.numbers import Quantity

COORDINATORS = frozenset("and or und oder y o e u و یا اور".split())
CONJUNCTIONS = frozenset("and or but while whereas und oder aber während y o pero mientras و او اور یا".split())
"""Words that join parts of a sentence, and those that can also join sentences."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or number.

    `form` is the folded word, `weight` is 0 for function words, `clause` counts the clauses of the text. `family` is
    "negation", "modality" or "quantifier" for a marker, "unit" for a unit, "part" for the rest of a phrase; `kind` is
    the kind of marker. A code is an acronym or a name with digits, which one other character makes another name.
    """

    start: int
    end: int
    form: str
    stem: str
    weight: float
    clause: int
    is_name: bool = False
    quantity: Quantity | None = None
    family: str = ""
    kind: str = ""
    is_code: bool = False


Tokens = tuple[Token, ...]


def number_token(token: Token, end: int, form: str, quantity: Quantity) -> Token:
    """The token of a spelled-out number; "one" weighs less, because it is often a pronoun."""
    weight = 0.5 if quantity.values == (1.0,) else 1.5
    return Token(token.start, end, form, form, weight, token.clause, quantity=quantity)


def as_unit(token: Token) -> Token:
    """A word that belongs to the number before it."""
    return replace(token, weight=0.0, family="unit", quantity=None)
