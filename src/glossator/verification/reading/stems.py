"""Light stemming for the languages that the verifier reads."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from glossator.core.text.words import stem as english_stem

_SUFFIXES = {
    "de": ("ungen", "ung", "ern", "est", "en", "er", "es", "em", "et", "te", "st", "e", "n", "s", "t"),
    "es": ("aciones", "ación", "ando", "iendo", "ados", "adas", "ado", "ada", "idos", "idas", "ido", "ida", "ará",
           "arán", "amos", "aron", "ar", "er", "ir", "an", "en", "os", "as", "es", "o", "a", "e", "s"),
    "ur": ("وں", "یں", "یاں", "ے", "ی", "ا", "و"),
    "ar": ("ات", "ون", "ین", "ان", "تها", "ها", "هم", "ه", "ة", "ی", "ا"),
}  # fmt: skip
_ARABIC_PREFIXES = ("وال", "بال", "فال", "کال", "لل", "ال", "و", "ف", "ب", "ل", "ک", "س")
_MIN_REMAINDER = {prefix: 4 if prefix in "فبلکس" else 3 for prefix in _ARABIC_PREFIXES}
"""Letters that must remain after a prefix is removed: many words begin with one of these letters themselves."""


_NOT_PLURAL = frozenset("https ftps ldaps imaps smtps mqtts amqps".split())
"""Names that end in "s" and without it name something else."""


@lru_cache(100_000)
def stem(form: str, language: str) -> str:
    """The stem of a word form."""
    if form in _NOT_PLURAL:
        return form
    if language == "en":
        return english_stem(irregular_verbs().get(form, form))
    if language == "ar":
        found = (p for p in _ARABIC_PREFIXES if form.startswith(p) and len(form) - len(p) >= _MIN_REMAINDER[p])
        form = form.removeprefix(next(found, ""))
    for suffix in _SUFFIXES.get(language, ()):
        if form.endswith(suffix) and len(form) - len(suffix) >= (3 if language in ("ar", "ur") else 4):
            return form[: -len(suffix)]
    return form


def names_protocol(form: str) -> bool:
    """Whether a word names a protocol that another one differs from by its last letter: http, https."""
    return form in _NOT_PLURAL or f"{form}s" in _NOT_PLURAL


@lru_cache
def irregular_verbs() -> dict[str, str]:
    """The base form of irregular English verb forms."""
    text = resources.files("glossator.verification.reading.lexicon").joinpath("irregular_verbs.txt").read_text("utf-8")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {form: base for base, *forms in lines for form in forms}
