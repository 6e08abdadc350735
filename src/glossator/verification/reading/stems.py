"""What inflected forms of a word share, in each language that the verifier reads."""

from __future__ import annotations

from functools import lru_cache

from glossator.core.text.words import stem as english_stem

_ENDINGS = {
    "de": ("ungen", "ung", "ern", "est", "en", "er", "es", "em", "et", "te", "st", "e", "n", "s", "t"),
    "es": ("aciones", "ación", "ando", "iendo", "ados", "adas", "ado", "ada", "idos", "idas", "ido", "ida", "ará",
           "arán", "amos", "aron", "ar", "er", "ir", "an", "en", "os", "as", "es", "o", "a", "e", "s"),
    "ur": ("وں", "یں", "یاں", "ے", "ی", "ا", "و"),
    "ar": ("ات", "ون", "ین", "ان", "تها", "ها", "هم", "ه", "ة", "ی", "ا"),
}  # fmt: skip
_ARTICLES = ("وال", "بال", "فال", "کال", "لل", "ال", "و", "ف", "ب", "ل", "ک", "س")
_REST = {article: 4 if article in "فبلکس" else 3 for article in _ARTICLES}
"""Letters that must be left: many words begin with one of these themselves."""


@lru_cache(100_000)
def stem(form: str, language: str) -> str:
    """What inflected forms of a word share."""
    if language == "en":
        return english_stem(form)
    if language == "ar":
        form = next((form[len(a) :] for a in _ARTICLES if form.startswith(a) and len(form) - len(a) >= _REST[a]), form)
    for ending in _ENDINGS.get(language, ()):
        if form.endswith(ending) and len(form) - len(ending) >= (3 if language in ("ar", "ur") else 4):
            return form[: -len(ending)]
    return form
