"""German writes a number as one word: "zweihundertfünfzig", "einundzwanzigste", "dreifach"."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MAX_LENGTH = 60
"""A longer word is not parsed."""

_ONES = {"ein": 1.0, "eins": 1.0}
_ORDINAL = re.compile(r"(?P<number>.+?)(?:st|t)(?:e|en|er|es|em|ens)")
_MULTIPLE = re.compile(r"(?P<number>.+)f(?:a|ä)ch(?:e|en|er|es|em)?")


def german_number(form: str, words: Mapping[str, float]) -> float | None:
    """The value of a compound of number words, or of a multiple of one."""
    if not 5 < len(form) <= _MAX_LENGTH:
        return None
    multiple = _MULTIPLE.fullmatch(form)
    return _parse(multiple["number"], words) if multiple else _parse_compound(form, words)


def german_ordinal(form: str, words: Mapping[str, float]) -> float | None:
    """The value of an ordinal, in any inflection."""
    found = _ORDINAL.fullmatch(form) if 4 < len(form) <= _MAX_LENGTH else None
    return _parse(found["number"], words) if found else None


def _parse(form: str, words: Mapping[str, float]) -> float | None:
    return words.get(form, _ONES.get(form, _parse_compound(form, words)))


def _parse_compound(form: str, words: Mapping[str, float]) -> float | None:
    for name, scale in (("tausend", 1000.0), ("hundert", 100.0)):
        before, found, after = form.partition(name)
        if found:
            left = _parse(before, words) if before else 1.0
            right = _parse(after.removeprefix("und"), words) if after else 0.0
            return None if left is None or right is None else left * scale + right
    ones, found, tens = form.partition("und")
    left, right = words.get(ones, _ONES.get(ones)), words.get(tens)
    known = found and left is not None and right is not None and left < 10 <= right < 100
    return left + right if known and left is not None and right is not None else None
