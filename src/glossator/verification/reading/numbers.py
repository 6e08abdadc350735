"""Parses numbers and units, in digits or words, into comparable quantities."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glossator.verification.reading.german import german_number, german_ordinal
from glossator.verification.reading.lexicon import Lexicon, MeasurementUnit, fold, max_unit_length, units

_POWER = r"(?:(?:\^|\*\*)[{(]{0,2}[-−+]?\d{1,3}(?!\d)[)}]{0,2}|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
_TIMES_TEN = r"[ \u00a0\u202f]?(?:[×·⋅*x]|\\times|\\cdot)[ \u00a0\u202f]?10"
NUMBER = (
    r"(?<![\d⁰¹²³⁴⁵⁶⁷⁸⁹_.,A-Za-z\u00c0-\u024f\u0370-\u04ff])[-−–+]?\d+(?:[.,٫٬'’_]\d+)*"
    rf"(?:[ \u00a0\u202f]\d{{3}}(?!\d))*(?:[eE][-+]?\d+(?![\w.])|(?:{_TIMES_TEN})?{_POWER})?"
)
_RAISED = re.compile(rf"(?P<number>.+?)(?P<times_ten>{_TIMES_TEN})?(?P<power>{_POWER})")
_EXPONENT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−", "0123456789+--", "^*{()}")
_DIGIT_GROUPS = re.compile(r"[1-9]\d{0,2}(?:([.,'’_ ])\d{3})(?:\1\d{3})*")
_UNIT_SEPARATOR = re.compile(r"(?:\s(?:full|whole|entire|consecutive|successive)(?=\s))?[\s\u00a0\u202f\u2011-]?")
_OPERATOR = re.compile(r"\s*([/·⋅*])\s*")
_CURRENCY = re.compile(r"([$€£¥₹])\s?$")
_ZEROS = re.compile(r"(?:\.0+)+$")
_PERCENT = "percent"
_RELATIVE_TOLERANCE = 1e-6
_MAX_NUMERATOR = 100
_ARABIC_AND = "و"


@dataclass(frozen=True, slots=True)
class Quantity:
    """The values a number may have (1.000 is one or a thousand) and its unit, if any.

    `version` has the digits of a version or section (3.10, 3.11.2), which is not a decimal number.
    """

    values: tuple[float, ...]
    unit: MeasurementUnit | None = None
    version: str = ""
    written: str = ""
    """The digits of a decimal number, as they would be compared if it were a version."""

    def same_number(self, other: Quantity) -> bool:
        """Whether both may have the same value, whatever their units."""
        if self.version or other.version:
            return (self.version or self.written) == (other.version or other.written)
        return _any_close(self.values, other.values)

    def equals(self, other: Quantity) -> bool:
        """Whether both are the same quantity; a number without a unit matches any unit, a fraction its percentage."""
        if self.unit is None or other.unit is None or self.version or other.version:
            return self.same_number(other) or self._is_percentage_of(other) or other._is_percentage_of(self)
        if self.unit.dimension != other.unit.dimension:
            return False
        if self.values == other.values:  # 1,500 kB is not 1,500 MB, though one may be read as 1.5
            return math.isclose(self.unit.factor, other.unit.factor, rel_tol=_RELATIVE_TOLERANCE)
        mine, theirs = (
            [value * unit.factor for value in values]
            for values, unit in ((self.values, self.unit), (other.values, other.unit))
        )
        return _any_close(mine, theirs)

    def as_version(self) -> Quantity:
        """The same digits, read as a version."""
        return replace(self, version=self.version or self.written)

    def _is_percentage_of(self, other: Quantity) -> bool:
        """Whether this is the percentage of a fraction ("25 %", "a quarter")."""
        if self.unit is None or self.unit.dimension != _PERCENT or other.unit or other.version:
            return False
        shares = [100 * value for value in other.values if 0 < value < 1]
        return _any_close([value * self.unit.factor for value in self.values], shares)


def _any_close(some: Sequence[float], others: Sequence[float]) -> bool:
    return any(math.isclose(a, b, rel_tol=_RELATIVE_TOLERANCE) for a in some for b in others)


def _version(text: str) -> str:
    """The digits of a version: 3.10 is not 3.1, but 3.0 is 3."""
    return _ZEROS.sub("", text)


def parse_number(raw: str) -> Quantity:
    """Parse a number in digits of any script, with any separators, or a power such as 10⁶ and 2.5 × 10^6."""
    if raised := _RAISED.fullmatch(raw):
        return _parse_power(raised)
    text = "".join(_ascii_digit(character) for character in raw)
    sign = -1.0 if text[0] in "-−–" else 1.0
    text = text.lstrip("-−–+")
    if "e" in text.lower():
        plain = re.fullmatch(r"\d+(?:[.,]\d+)?[eE][-+]?\d+", text)
        return Quantity(_finite(sign * float(text.replace(",", ".")))) if plain else Quantity((), version=text)
    values: list[float] = []
    if grouped := _DIGIT_GROUPS.fullmatch(text):
        values.append(float(text.replace(grouped[1], "")))
    marks = [character for character in text if character in ".,"]
    if len(marks) <= 1 and not set(text) & set("'’_ "):
        values.append(float(text.replace(",", ".")))
    elif len(set(marks)) == 2 and text.count(marks[-1]) == 1:
        values.append(float(re.sub(rf"[^\d{marks[-1]}]", "", text).replace(",", ".")))
    if not values:
        return Quantity((), version=_version(text))
    return Quantity(_finite(*(sign * value for value in values)), written=_version(text))


def _parse_power(raised: re.Match[str]) -> Quantity:
    """A number raised to a power, or multiplied by a power of ten."""
    exponent = int(raised["power"].translate(_EXPONENT))
    values = parse_number(raised["number"]).values
    try:
        if raised["times_ten"]:
            return Quantity(_finite(*(value * 10.0**exponent for value in values)))
        return Quantity(_finite(*(math.copysign(abs(value) ** exponent, value) for value in values)))
    except ArithmeticError:
        return Quantity((), version=raised[0])


def unit_after(text: str, end: int) -> tuple[MeasurementUnit | None, int]:
    """The unit after a number, and its end; the longest name counts ("kilowatt-hours", not "kilowatt")."""
    separator = _UNIT_SEPARATOR.match(text, end)
    start = separator.end() if separator else end
    for stop in range(min(len(text), start + max_unit_length()), start, -1):
        inside_word = text[stop - 1].isalnum() and text[stop : stop + 1].isalnum()
        if not inside_word and (unit := _find_unit(text[start:stop])):
            return unit, stop
    return None, end


def unit_before(text: str, start: int) -> MeasurementUnit | None:
    """The currency sign before a number."""
    found = _CURRENCY.search(text, max(0, start - 3), start)
    return _find_unit(found[1]) if found else None


def parse_spelled_number(forms: Sequence[str], at: int, lexicon: Lexicon) -> tuple[float | None, int]:
    """The number, ordinal or fraction spelled out at a position, and how many words it takes."""
    value, taken = _parse_cardinal(forms, at, lexicon)
    following = forms[at + taken] if at + taken < len(forms) else ""
    if value is None:
        return _parse_ordinal(forms, at, lexicon)
    part = lexicon.fractions.get(following, 1.0)
    if part < 1 and value < _MAX_NUMERATOR and value * part < 1:  # "four quarters" are periods
        return value * part, taken + 1
    ordinal = lexicon.ordinals.get(following, 0.0)
    return (value + ordinal, taken + 1) if 0 < ordinal < 10 <= value and value % 10 == 0 else (value, taken)


def _parse_cardinal(forms: Sequence[str], at: int, lexicon: Lexicon) -> tuple[float | None, int]:
    """A cardinal number ("two hundred and five"), and how many words it takes."""
    total = current = 0.0
    last = math.inf
    place = at
    while place < len(forms):
        form = _split_joiner(forms[place], lexicon, place > at)
        phrase, taken = _find_phrase(form, forms, place, lexicon)
        value = _number_word_value(form, lexicon) if phrase is None else phrase
        if value is not None and (_can_follow(value, last, lexicon) or _is_arabic_teen(form, last)):
            current, last = current + value, _magnitude(value)
        elif value is None and form in lexicon.scales:
            scale = lexicon.scales[form]
            current, last = (current or 1.0) * scale, scale
            if scale >= 1000:
                total, current = total + current, 0.0
        elif not (form in lexicon.joiners and place > at and _continues_number(forms, place, last, lexicon)):
            break
        place += taken
    return (total + current, place - at) if place > at else (None, 0)


def _find_phrase(form: str, forms: Sequence[str], at: int, lexicon: Lexicon) -> tuple[float | None, int]:
    """The value of the longest phrase at a position, and its length; none and 1 if there is no phrase."""
    for length in range(min(lexicon.max_number_length, len(forms) - at), 1, -1):
        value = lexicon.number_phrases.get((form, *forms[at + 1 : at + length]))
        if value is not None:
            return value, length
    return None, 1


def _parse_ordinal(forms: Sequence[str], at: int, lexicon: Lexicon) -> tuple[float | None, int]:
    """A fraction ("a third") or an ordinal ("the third"), and how many words it takes.

    Arabic spells "twenty-fifth" as "fifth and twentieth".
    """
    value = lexicon.ordinals.get(forms[at])
    if value is None:
        value = lexicon.fractions.get(forms[at], german_ordinal(forms[at], lexicon.numbers))
        return value, 1
    following = forms[at + 1] if at + 1 < len(forms) else ""
    tens = lexicon.ordinals.get(following[1:], 0.0) if following[:1] in lexicon.joiners else 0.0
    return (value + tens, 2) if value < 10 and tens >= 20 else (value, 1)


def _split_joiner(form: str, lexicon: Lexicon, inside: bool) -> str:
    """A number word without "and", which Arabic writes as a prefix ("five and-twenty")."""
    rest = form[1:]
    joined = inside and form[:1] in lexicon.joiners and (rest in lexicon.numbers or rest in lexicon.scales)
    return rest if joined else form


def _can_follow(value: float, last: float, lexicon: Lexicon) -> bool:
    """Whether a value can continue a number: it is smaller, or (in Arabic) it is tens after ones."""
    return value < last or (_ARABIC_AND in lexicon.joiners and last == 1 and 20 <= value < 100)


def _is_arabic_teen(form: str, last: float) -> bool:
    """Whether "ten" completes a teen: Arabic says "five-ten" for fifteen."""
    return last == 1 and form in ("عشر", "عشرة")


def _magnitude(value: float) -> float:
    return 1.0 if value < 10 else 10.0 if value < 100 else 100.0


def _continues_number(forms: Sequence[str], place: int, last: float, lexicon: Lexicon) -> bool:
    """Whether a conjunction is part of a number ("and" in "two hundred and five", "und", "y")."""
    following = forms[place + 1] if place + 1 < len(forms) else ""
    value = _number_word_value(following, lexicon)
    return value is not None and value < last and 1 < last < math.inf


def _number_word_value(form: str, lexicon: Lexicon) -> float | None:
    if form in lexicon.numbers:
        return lexicon.numbers[form]
    return german_number(form, lexicon.numbers)


def _find_unit(name: str) -> MeasurementUnit | None:
    known = units()
    return known.get(name) or known.get(_OPERATOR.sub(r"\1", name)) or known.get(fold(name))


def _ascii_digit(character: str) -> str:
    if character in "٫٬\u00a0\u202f":
        return {"٫": ".", "٬": ","}.get(character, " ")
    digit = unicodedata.digit(character, None)
    return character if digit is None else str(digit)


def _finite(*values: float) -> tuple[float, ...]:
    return tuple(value for value in values if math.isfinite(value))
