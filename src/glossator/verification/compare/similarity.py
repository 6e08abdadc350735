"""How similar two words are: same form, same stem, synonyms, antonyms, or unrelated."""

from __future__ import annotations

from functools import lru_cache

from glossator.verification.reading.lexicon import MeasurementUnit, antonyms, synonym_groups, units
from glossator.verification.reading.tokens import Token

_REPLACED, _UNRELATED = -0.3, -1.2
_NEGATIVE_PREFIXES = frozenset(
    ("un", "in", "im", "ir", "il", "non", "dis", "de", "mis", "anti", "counter", "under", "a")
)
_LONG_VOWELS = str.maketrans("", "", "اویءئؤةه")
_ARTICLE, _FIRST_ARABIC = "ال", "\u0600"
MIN_SIMILARITY = 0.5
"""From this similarity on, two words match."""


def similarity(one: Token, other: Token) -> float:
    """1 for the same word, at least MIN_SIMILARITY for the same meaning, below 0 for unrelated words."""
    if one.quantity or other.quantity:
        if one.quantity and other.quantity:
            return 1.0 if one.quantity.equals(other.quantity) else -0.1
        if are_antonyms(one.stem, other.stem):  # the first, the last
            return 0.2
        return 0.9 if one.form == other.form and "unit" not in (one.family, other.family) else _UNRELATED
    if one.family or other.family:
        return _marker_similarity(one, other)
    if one.form == other.form:
        return 1.0 if one.weight or other.weight else 0.5
    if are_other_codes(one, other):
        return _REPLACED
    return _word_similarity(one.stem, one.form, bool(one.weight), other.stem, other.form, bool(other.weight))


@lru_cache(1 << 18)
def _word_similarity(
    stem: str, form: str, content: bool, other_stem: str, other_form: str, other_content: bool
) -> float:
    """The similarity of two different words that are not markers. Cached, because the same pairs recur."""
    if are_antonyms(stem, other_stem) or _differ_in_unit(form, other_form):
        return 0.2
    if not content or not other_content:
        return _REPLACED if not content and not other_content else _UNRELATED
    return _stem_similarity(stem, other_stem)


def _marker_similarity(one: Token, other: Token) -> float:
    """Markers of one family are aligned with each other, whether they agree or not."""
    if one.family == other.family:
        return 0.6 + 0.2 * (one.form == other.form) if one.kind == other.kind else 0.05
    if one.form == other.form:
        return 0.7 if "unit" in (one.family, other.family) else 0.3
    return _UNRELATED if one.weight or other.weight else -0.4


def are_incompatible(one: Token, other: Token) -> bool:
    """Whether two words exclude each other: antonyms, or different units of one dimension.

    Units of numbers do not: the quantities are compared.
    """
    if one.family == other.family == "unit":
        return False
    return are_antonyms(one.stem, other.stem) or _differ_in_unit(one.form, other.form)


def are_other_codes(one: Token, other: Token) -> bool:
    """Whether two acronyms or names with digits are not the same: one character makes another name."""
    return one.is_code and other.is_code and one.stem != other.stem and not are_synonyms(one.stem, other.stem)


def _differ_in_unit(one: str, other: str) -> bool:
    if (first := _unit_named(one)) is None or (second := _unit_named(other)) is None:
        return False
    return first.dimension == second.dimension and first.factor != second.factor


@lru_cache(1 << 16)
def _unit_named(form: str) -> MeasurementUnit | None:
    """The unit that a word names; a symbol of one or two letters is ambiguous."""
    name = form.removeprefix(_ARTICLE)
    return units().get(name) if len(name) > 2 else None


def _stem_similarity(one: str, other: str) -> float:
    if one == other:
        return 0.95
    if are_synonyms(one, other):
        return 0.85
    return 0.7 if _share_lemma(one, other) else _REPLACED


def are_synonyms(one: str, other: str) -> bool:
    """Whether two stems are in the same synonym group."""
    known = synonym_groups()
    return one in known and other in known and not known[one].isdisjoint(known[other])


def are_antonyms(one: str, other: str) -> bool:
    """Whether two stems are antonyms, by the list or by a prefix (stable, unstable)."""
    if other in antonyms().get(one, ()):
        return True
    if one[-1:] != other[-1:]:
        return False
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) > 3 and long.endswith(short) and long[: len(long) - len(short)] in _NEGATIVE_PREFIXES


def _share_lemma(one: str, other: str) -> bool:
    """Whether two stems look like forms of one word: they differ only in a short ending, or (Arabic) in vowels."""
    if one[0] > _FIRST_ARABIC:
        root = arabic_root(one)
        return len(root) >= 3 and root == arabic_root(other)
    if one[:4] != other[:4] or _digits(one) != _digits(other):
        return False
    if f"{one}s" == other or f"{other}s" == one:  # no plural, or the stemmer would have removed it: http, https
        return False
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    shared = next(differ, min(len(one), len(other)))
    longest = max(len(one), len(other))
    return shared >= 4 and longest - shared <= 3 and shared >= 0.7 * longest


def _digits(word: str) -> str:
    return "" if word.isalpha() else "".join(filter(str.isdigit, word))


@lru_cache(1 << 16)
def arabic_root(stem: str) -> str:
    """The consonants of an Arabic stem, without long vowels and without the affixes of verbs and derived nouns."""
    root = stem.translate(_LONG_VOWELS)
    while len(root) > 3 and root[0] in "تنمس":
        root = root[1:]
    while len(root) > 3 and root[-1] in "تن":
        root = root[:-1]
    return root
