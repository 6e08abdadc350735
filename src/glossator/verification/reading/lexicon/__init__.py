"""The word lists of the verifier: what negates, obliges, counts, measures, opposes or means the same."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from glossator.verification.reading.stems import stem

LANGUAGES = ("en", "de", "es", "ar", "ur")
_MARKS = re.compile("[\u064b-\u065f\u0670\u0640\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
_LETTERS = str.maketrans("أإآٱيىكۀۂۃ’ʼ", "اااایی" + "کہہہ''")


@dataclass(frozen=True, slots=True)
class Unit:
    """What a unit measures, and how many base units it is."""

    dimension: str
    factor: float


@dataclass(frozen=True, slots=True)
class Words:
    """One language's lists: phrases are tuples of folded words."""

    function: frozenset[str]
    marks: dict[tuple[str, ...], tuple[str, str]]
    """Phrase to (family, class): ("negation", ""), ("modality", "necessity"), ("quantifier", "all")."""
    longest: int
    numbers: dict[str, float]
    scales: dict[str, float]
    fractions: dict[str, float]
    ordinals: dict[str, float]
    joiners: frozenset[str]


def fold(word: str) -> str:
    """Case, diacritics of Arabic, invisible characters and variant letters do not distinguish words."""
    if word.isascii():
        return word.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKC", word).casefold()).translate(_LETTERS)


@lru_cache
def words_of(language: str) -> Words:
    """The lists of one language; another language has none but numbers in digits."""
    marks: dict[tuple[str, ...], tuple[str, str]] = {}
    for family, file in (("quantifier", "quantifiers"), ("modality", "modality"), ("negation", "polarity")):
        for name, table in _read(f"{file}.toml").items():
            for phrase in table.get(language, ()):
                kind = "idiom" if name == "idiom" else family
                marks[tuple(fold(word) for word in phrase.split())] = (kind, name)
    numbers = _read("numbers.toml")
    table = {kind: _folded(numbers.get(kind, {}).get(language, {})) for kind in ("words", "scales", "fractions")}
    multiples = _folded(numbers.get("multiples", {}).get(language, {}))
    return Words(
        function=frozenset(fold(word) for word in _read("function_words.toml").get(language, "").split()),
        marks=marks,
        longest=max(map(len, marks), default=1),
        numbers=table["words"] | multiples,
        scales=table["scales"],
        fractions=table["fractions"],
        ordinals=_folded(numbers.get("ordinals", {}).get(language, {})),
        joiners=frozenset(fold(word) for word in numbers.get("joiners", {}).get(language, ())),
    )


@lru_cache
def units() -> dict[str, Unit]:
    """Units by name as it is written; words are folded, symbols keep their case."""
    found: dict[str, Unit] = {}
    for entry in _read("units.toml")["unit"]:
        for name in entry["names"]:
            unit = Unit(entry["dimension"], float(entry["factor"]))
            found[name] = unit
            if len(name) > 3:
                found.setdefault(fold(name), unit)
    return found


@lru_cache
def opposites() -> dict[str, frozenset[str]]:
    """Each stem with the stems that mean its opposite."""
    found: dict[str, set[str]] = {}
    for line in _lines("antonyms.txt"):
        left, right = ({_stem(word) for word in side.split()} for side in line.split("|"))
        for one, other in ((left, right), (right, left)):
            for word in one:
                found.setdefault(word, set()).update(other - one)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache
def groups() -> dict[str, frozenset[int]]:
    """Each stem with the numbers of the groups of synonyms it stands in."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_lines("synonyms.txt")):
        for word in line.split():
            found.setdefault(_stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _stem(word: str) -> str:
    """The lists of words are English but for Arabic, which its letters tell."""
    return stem(fold(word), "ar" if word[0] > "\u0600" else "en")


def _folded(table: dict[str, float]) -> dict[str, float]:
    return {fold(word): float(value) for word, value in table.items()}


def _lines(name: str) -> list[str]:
    text = resources.files(__name__).joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@lru_cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(name).read_text("utf-8"))
