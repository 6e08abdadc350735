"""Word lists: negation, modality, quantifiers, numbers, units, antonyms and synonyms."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from glossator.core.text.characters import ARABIC_DIACRITICS, INVISIBLE
from glossator.verification.reading.stems import stem

LANGUAGES = ("en", "de", "es", "ar", "ur")
_IGNORED = re.compile(f"[{ARABIC_DIACRITICS}{INVISIBLE}]")
_WORD = re.compile(r"[^\W_]+")
NUMBER_KINDS = ("words", "scales", "fractions", "ordinals", "multiples")
_LETTER_VARIANTS = str.maketrans("أإآٱيىكۀۂۃ’ʼ", "اااایی" + "کہہہ''")


@dataclass(frozen=True, slots=True)
class MeasurementUnit:
    """The dimension a unit measures, and its size in base units."""

    dimension: str
    factor: float


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of one language; phrases are tuples of folded words."""

    function_words: frozenset[str]
    markers: dict[tuple[str, ...], tuple[str, str]]
    """Phrase to (family, kind): ("negation", "negation"), ("modality", "necessity"), ("quantifier", "all")."""
    max_phrase_length: int
    numbers: dict[str, float]
    scales: dict[str, float]
    fractions: dict[str, float]
    ordinals: dict[str, float]
    number_phrases: dict[tuple[str, ...], float]
    """Numbers of any kind that take several words."""
    max_number_length: int
    joiners: frozenset[str]
    cues: dict[str, frozenset[str]]
    """Words that open an exclusion, contrast or condition, and those that mark the passive voice."""


def fold(word: str) -> str:
    """Normalize a word: fold case and letter variants, drop Arabic diacritics and invisible characters."""
    if word.isascii():
        return word.lower()
    return _IGNORED.sub("", unicodedata.normalize("NFKC", word).casefold()).translate(_LETTER_VARIANTS)


@lru_cache
def lexicon_for(language: str) -> Lexicon:
    """The word lists of a language; empty for a language without lists."""
    markers: dict[tuple[str, ...], tuple[str, str]] = {}
    for family, file in (("quantifier", "quantifiers"), ("modality", "modality"), ("negation", "polarity")):
        for name, table in _load_toml(f"{file}.toml").items():
            for phrase in table.get(language, ()):
                own = "idiom" if name == "idiom" else family
                markers[tuple(fold(word) for word in phrase.split())] = (own, name)
    numbers = _load_toml("numbers.toml")
    tables = {kind: _number_words(numbers[kind].get(language, {})) for kind in NUMBER_KINDS}
    single = {kind: {words[0]: v for words, v in table.items() if len(words) == 1} for kind, table in tables.items()}
    joiners, known = _fold_words(numbers["joiners"].get(language, "")), single["words"] | single["multiples"]
    phrases = {
        phrase_key(words, joiners, known): value
        for table in tables.values()
        for words, value in table.items()
        if len(words) > 1
    }
    return Lexicon(
        function_words=_fold_words(_load_toml("function_words.toml").get(language, "")),
        markers=markers,
        max_phrase_length=max(map(len, markers), default=1),
        numbers=known,
        scales=single["scales"],
        fractions=single["fractions"],
        ordinals=single["ordinals"],
        number_phrases=phrases,
        max_number_length=max(map(len, phrases), default=1),
        joiners=joiners,
        cues={name: _fold_words(words.get(language, "")) for name, words in _load_toml("cues.toml").items()},
    )


@lru_cache
def units() -> dict[str, MeasurementUnit]:
    """Units by name and symbol; names are also found folded, symbols keep their case."""
    found: dict[str, MeasurementUnit] = {}
    for entry in _load_toml("units.toml")["unit"]:
        for name in entry["names"]:
            unit = MeasurementUnit(entry["dimension"], float(entry["factor"]))
            found[name] = unit
            if len(name) > 3:
                found.setdefault(fold(name), unit)
    return found


@lru_cache
def max_unit_length() -> int:
    """The length of the longest unit name, with spaces around its operators."""
    return max(map(len, units())) + 4


@lru_cache
def antonyms() -> dict[str, frozenset[str]]:
    """The antonyms of each stem."""
    return _load_pairs("antonyms.txt")


@lru_cache
def converses() -> dict[str, frozenset[str]]:
    """The stems that name the relation of each stem from its other side."""
    return _load_pairs("converses.txt")


def _load_pairs(name: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _load_lines(name):
        left, right = ({_stem(word) for word in side.split()} for side in line.split("|"))
        for one, other in ((left, right), (right, left)):
            for word in one:
                found.setdefault(word, set()).update(other - one)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache
def synonym_groups() -> dict[str, frozenset[int]]:
    """The numbers of the synonym groups that each stem belongs to."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_load_lines("synonyms.txt")):
        for word in line.split():
            found.setdefault(_stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _stem(word: str) -> str:
    """Antonyms and synonyms are listed in English and Arabic; the script tells which."""
    return stem(fold(word), "ar" if word[0] > "\u0600" else "en")


def phrase_key(words: tuple[str, ...], joiners: frozenset[str], numbers: dict[str, float]) -> tuple[str, ...]:
    """The words of a number without an "and" that is written onto them, as the tokenizer reads them."""
    return words[:1] + tuple(w[1:] if w[:1] in joiners and w[1:] in numbers else w for w in words[1:])


def _number_words(table: dict[str, str]) -> dict[tuple[str, ...], float]:
    """The words of each number as they are tokenized, from a table of numbers with their spellings."""
    return {
        tuple(_WORD.findall(fold(spelling))): float(value)
        for value, spellings in table.items()
        for spelling in spellings.split(", ")
    }


def _fold_words(words: str) -> frozenset[str]:
    return frozenset(map(fold, words.split()))


def _load_lines(name: str) -> list[str]:
    text = resources.files(__name__).joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@lru_cache
def _load_toml(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(name).read_text("utf-8"))
