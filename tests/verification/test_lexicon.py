"""Every entry of the word lists is read back as itself, in every language."""

from __future__ import annotations

import math
import tomllib
from importlib import resources
from typing import Any

import pytest

import glossator
from glossator.verification.reading.lexicon import LANGUAGES, NUMBER_KINDS
from glossator.verification.reading.tokenizer import tokenize
from glossator.verification.reading.tokens import Token


def load(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("glossator.verification.reading.lexicon").joinpath(name).read_text("utf-8"))


def quantities(text: str, language: str) -> list[Token]:
    return [token for token in tokenize(text, language).tokens if token.quantity]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_unit_is_read_as_itself(language: str) -> None:
    units = load("units.toml")["unit"]
    assert units
    assert [name for unit in units for name in unit["names"] if not is_unit(f"2 {name}", language, unit)] == []


def is_unit(text: str, language: str, unit: dict[str, Any]) -> bool:
    """Whether a text begins with a quantity in this unit."""
    found = quantities(text, language)[0].quantity
    return (
        found is not None
        and found.unit is not None
        and (found.unit.dimension, found.unit.factor) == (unit["dimension"], unit["factor"])
    )


NUMBERS = [
    (kind, language, float(value), spelling)
    for kind in NUMBER_KINDS
    for language, table in load("numbers.toml")[kind].items()
    for value, spellings in table.items()
    for spelling in spellings.split(", ")
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", NUMBER_KINDS)
def test_every_number_word_is_read_as_itself(kind: str, language: str) -> None:
    words = [(value, spelling) for own, of, value, spelling in NUMBERS if (own, of) == (kind, language)]
    assert words
    assert [(value, spelling) for value, spelling in words if not reads_as(spelling, language, value)] == []


def reads_as(spelling: str, language: str, value: float) -> bool:
    """Whether a text is one token with this value."""
    tokens = tokenize(spelling, language).tokens
    quantity = tokens[0].quantity if len(tokens) == 1 else None
    return quantity is not None and any(math.isclose(value, own) for own in quantity.values)


COMPOSED = {
    "en": {
        21: "twenty-one",
        99: "ninety nine",
        205: "two hundred and five",
        1234: "one thousand two hundred thirty-four",
        0.75: "three-quarters",
        42: "forty-second",
    },
    "de": {
        21: "einundzwanzig",
        99: "neunundneunzig",
        250: "zweihundertfünfzig",
        1234: "tausendzweihundertvierunddreißig",
        33: "dreiunddreißigste",
        57: "siebenundfünfzigsten",
        12: "zwölffache",
    },
    "es": {31: "treinta y uno", 205: "doscientos cinco", 2000: "dos mil"},
    "ar": {15: "خمسة عشر", 25: "خمسة وعشرون", 31: "إحدى وثلاثين", 98: "ثمانية وتسعون"},
    "ur": {25: "پچیس", 3.5: "ساڑھے تین"},
}


@pytest.mark.parametrize(
    ("language", "value", "spelling"), [(k, v, s) for k, composed in COMPOSED.items() for v, s in composed.items()]
)
def test_composed_number_is_read(language: str, value: float, spelling: str) -> None:
    assert reads_as(spelling, language, value)


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The house uses 2 kilowatt-hours.", "The house uses 2 kilowatts."),
        ("The star is 4 light-years away.", "The star is 4 years away."),
        ("The wrench applies 5 newton-metres.", "The wrench applies 5 newtons."),
        ("The backup takes 1,500 megabytes.", "The backup takes 1,500 kilobytes."),
        ("It was the twenty-first attempt.", "It was the twenty-second attempt."),
        ("Two thirds of the water is salt.", "Two fifths of the water is salt."),
    ],
)
def test_other_unit_or_number_is_not_supported(source: str, claim: str) -> None:
    assert not glossator.verify(claim, source).supported
