"""Comparisons of an English text: "as wide as", "twice as wide as", "wider than", "more than"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glossator.verification.reading.tokens import Token

_NO_COMPARISON = frozenset("well soon far such if though to".split())
"""What "as … as" says of no degree: "as well as"."""
_AMOUNTS = frozenset("much many little few".split())
_ALMOST = frozenset("almost nearly".split())
AMOUNT, EQUAL, UNEQUAL = "amount", "equal", "unequal"


@dataclass(frozen=True, slots=True)
class DegreeComparison:
    """A comparison: the place of its "as" or "than", the forms that its adjective may have, and how it compares.

    `degree` is "equal", or the factor in "twice as wide as", or "unequal".
    """

    at: int
    qualities: frozenset[str]
    degree: str

    def excludes(self, other: DegreeComparison) -> bool:
        """Whether another degree cannot be the same: what is half as wide as something is narrower than it."""
        degrees = {self.degree, other.degree}
        return len(degrees) > 1 and (UNEQUAL not in degrees or EQUAL in degrees)


def comparisons(tokens: Sequence[Token]) -> Iterator[DegreeComparison]:
    """The comparisons of a text, in order."""
    for at, token in enumerate(tokens):
        forms = [other.form for other in tokens[at : at + 3]]
        if len(forms) == 3 and (forms[0], forms[2]) == ("as", "as") and forms[1] not in _NO_COMPARISON:
            quality = AMOUNT if forms[1] in _AMOUNTS else forms[1]
            yield DegreeComparison(at, frozenset((quality,)), _factor(tokens, at))
        elif token.form == "than" and at:
            yield DegreeComparison(at, _qualities(tokens, at), UNEQUAL)


def _factor(tokens: Sequence[Token], at: int) -> str:
    """What "as wide as" is multiplied by: "twice", "almost"; "equal" if by nothing."""
    before = tokens[max(0, at - 2) : at]
    if before and before[-1].form in _ALMOST:
        return "almost"
    number = next((t.quantity for t in before[::-1] if t.quantity), None)
    is_factor = number is not None and (before[-1].quantity is not None or before[-1].form == "times")
    return str(number.values) if is_factor and number else EQUAL


def _qualities(tokens: Sequence[Token], at: int) -> frozenset[str]:
    """The forms of the adjective before "than", or the amount that is compared."""
    last = tokens[at - 1].form
    if last in ("more", "less", "fewer") or tokens[at - 1].kind in ("more_than", "less_than"):
        return frozenset((AMOUNT,))
    if at > 1 and tokens[at - 2].form in ("more", "less"):
        return frozenset((last,))
    return frozenset((last[:-2], last[:-1], f"{last[:-3]}y", last[:-3])) if last.endswith("er") else frozenset((last,))
