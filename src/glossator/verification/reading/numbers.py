"""Numbers and units: one value however it is written."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from glossator.verification.reading.lexicon import Unit, Words, fold, units

NUMBER = (
    r"(?<![\d_.,A-Za-z\u00c0-\u024f\u0370-\u04ff])[-−–+]?\d+(?:[.,٫٬'’_]\d+)*"
    r"(?:[ \u00a0\u202f]\d{3}(?!\d))*(?:[eE][-+]?\d+(?![\w.]))?"
)
_GROUPS = re.compile(r"[1-9]\d{0,2}(?:([.,'’_ ])\d{3})(?:\1\d{3})*")
_UNIT = re.compile(
    r"[\s\u00a0\u202f\u2011-]?((?:[%°Ωµμ$€£¥₹‰٪]|[^\W\d_])[^\W\d_]*[²³]?"
    r"(?:(?:\s?[/·⋅*]\s?| )[^\W\d_°]+[²³]?(?:\^\d)?){0,2})"
)
_SMALLER = re.compile(r"(?:\s?[/·⋅*]\s?| )[^/·⋅* ]+$")
_CURRENCY = re.compile(r"([$€£¥₹])\s?$")
_TOLERANCE = 1e-6
_LONGEST = 60
"""Letters of a German number word."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The values that a number may stand for (1.000 is one or a thousand) and its unit, if it has one."""

    values: tuple[float, ...]
    unit: Unit | None = None
    version: str = ""

    def same_number(self, other: Quantity) -> bool:
        """Whether both may stand for one value, whatever they measure."""
        if self.version or other.version:
            return self.version == other.version
        return any(math.isclose(a, b, rel_tol=_TOLERANCE) for a in self.values for b in other.values)

    def equals(self, other: Quantity) -> bool:
        """Whether both say the same; a number without a unit agrees with any unit."""
        if self.unit is None or other.unit is None:
            return self.same_number(other)
        if self.unit.dimension != other.unit.dimension:
            return False
        mine, theirs = (
            [value * unit.factor for value in values]
            for values, unit in ((self.values, self.unit), (other.values, other.unit))
        )
        return any(math.isclose(a, b, rel_tol=_TOLERANCE) for a in mine for b in theirs)


def read_number(raw: str) -> Quantity:
    """A number in digits of any script, with any separators."""
    text = "".join(_plain(character) for character in raw)
    sign = -1.0 if text[0] in "-−–" else 1.0
    text = text.lstrip("-−–+")
    if "e" in text.lower():
        plain = re.fullmatch(r"\d+(?:[.,]\d+)?[eE][-+]?\d+", text)
        return Quantity(_finite(sign * float(text.replace(",", ".")))) if plain else Quantity((), version=text)
    values: list[float] = []
    if grouped := _GROUPS.fullmatch(text):
        values.append(float(text.replace(grouped[1], "")))
    marks = [character for character in text if character in ".,"]
    if len(marks) <= 1 and not set(text) & set("'’_ "):
        values.append(float(text.replace(",", ".")))
    elif len(set(marks)) == 2 and text.count(marks[-1]) == 1:
        values.append(float(re.sub(rf"[^\d{marks[-1]}]", "", text).replace(",", ".")))
    if not values:
        return Quantity((), version=text)
    return Quantity(_finite(*(sign * value for value in values)))


def unit_after(text: str, end: int) -> tuple[Unit | None, int]:
    """The unit that follows a number, and where it ends."""
    found = _UNIT.match(text, end)
    if not found:
        return None, end
    name = found[1]
    while name:
        if unit := _unit(name):
            return unit, found.start(1) + len(name)
        shorter = _SMALLER.sub("", name)
        name = shorter if shorter != name else ""
    return None, end


def unit_before(text: str, start: int) -> Unit | None:
    """The currency that stands before a number."""
    found = _CURRENCY.search(text, max(0, start - 3), start)
    return _unit(found[1]) if found else None


def read_words(forms: Sequence[str], at: int, words: Words) -> tuple[float | None, int]:
    """The number that words at a place say ("two hundred and five"), and how many words that takes."""
    total = current = 0.0
    last = math.inf
    place = at
    while place < len(forms):
        form, joined = _joined(forms[place], words, place > at)
        value = _word_value(form, words)
        if value is not None and (_fits(value, last, joined) or _is_teen(form, last)):
            current, last = current + value, _size(value)
        elif value is None and form in words.scales:
            scale = words.scales[form]
            current, last = (current or 1.0) * scale, scale
            if scale >= 1000:
                total, current = total + current, 0.0
        elif not (form in words.joiners and place > at and _goes_on(forms, place, last, words)):
            break
        place += 1
    return (total + current, place - at) if place > at else (None, 0)


def read_ordinal(forms: Sequence[str], at: int, words: Words) -> tuple[float | None, int]:
    """A third, or the third; Arabic says the fifth and the twentieth for the twenty-fifth."""
    value = words.ordinals.get(forms[at])
    if value is None:
        return words.fractions.get(forms[at]), 1
    following = forms[at + 1] if at + 1 < len(forms) else ""
    tens = words.ordinals.get(following[1:], 0.0) if following[:1] in words.joiners else 0.0
    return (value + tens, 2) if value < 10 and tens >= 20 else (value, 1)


def _joined(form: str, words: Words, inside: bool) -> tuple[str, bool]:
    """Arabic writes "and" as part of the word: five and-twenty."""
    rest = form[1:]
    if inside and form[:1] in words.joiners and (rest in words.numbers or rest in words.scales):
        return rest, True
    return form, False


def _fits(value: float, last: float, joined: bool) -> bool:
    """Whether a number can follow within the same number: a smaller one, or (in Arabic) tens after ones."""
    return value < last or (joined and last == 1 and 20 <= value < 100)


def _is_teen(form: str, last: float) -> bool:
    """Arabic says five-ten for fifteen."""
    return last == 1 and form in ("عشر", "عشرة")


def _size(value: float) -> float:
    return 1.0 if value < 10 else 10.0 if value < 100 else 100.0


def _goes_on(forms: Sequence[str], place: int, last: float, words: Words) -> bool:
    """Whether a joining word stands inside a number ("and" in "two hundred and five", "und", "y")."""
    following = forms[place + 1] if place + 1 < len(forms) else ""
    value = _word_value(following, words)
    return value is not None and value < last and 1 < last < math.inf


def _word_value(form: str, words: Words) -> float | None:
    if form in words.numbers:
        return words.numbers[form]
    if 8 < len(form) <= _LONGEST and any(scale in form for scale in ("hundert", "tausend")):
        return _german(form, words)
    return None


def _german(form: str, words: Words) -> float | None:
    """zweihundertfünfzig: German writes a number as one word."""
    for name, scale in (("tausend", 1000.0), ("hundert", 100.0)):
        before, found, after = form.partition(name)
        if found:
            left = _german(before, words) if before else 1.0
            right = _german(after.removeprefix("und"), words) if after else 0.0
            return None if left is None or right is None else left * scale + right
    return words.numbers.get(form, 1.0 if form == "ein" else None)


def _unit(name: str) -> Unit | None:
    known = units()
    return known.get(name) or known.get(re.sub(r"\s*([/·⋅*])\s*", r"\1", name)) or known.get(fold(name))


def _plain(character: str) -> str:
    if character in "٫٬\u00a0\u202f":
        return {"٫": ".", "٬": ","}.get(character, " ")
    digit = unicodedata.digit(character, None)
    return character if digit is None else str(digit)


def _finite(*values: float) -> tuple[float, ...]:
    return tuple(value for value in values if math.isfinite(value))
