"""Folds text for search, in any script: spellings of one word become equal, and scripts without spaces are cut."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_VARIANTS = {
    **dict.fromkeys("يىې", "ی"),
    "ك": "ک",
    **dict.fromkeys("ةہۃەۀ", "ه"),
    "ں": "ن",
    "ـ": "",
    "ँ": "ं",
    "ı": "i",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "æ": "ae",
    "œ": "oe",
}
"""Letters that are written for one another: Arabic, Persian and Urdu share words but not code points."""

_KEPT_FORMS = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
"""Kinds of signs that mean something else than the letters or digits in them: 10⁶ is not 106."""

_VOICING = "\u3099\u309a"
"""Marks that make another kana of one."""

_FOLDED = re.compile("[\u00aa\u00b5\u00ba\u00c0-\u1fff\u200b-\u200f\u2060-\u206f\u2c00-\U0010ffff]")
"""Characters that folding may change beyond their case; the rest, with most punctuation, is left alone."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese; Korean puts spaces between words, but particles after them."""

_ARABIC, _DEVANAGARI = "\u0620-\u0669\u066e-\u06d3\u06d5-\u06ff", "\u0900-\u0963\u0971-\u097f"
"""Letters without punctuation."""

MARKS = "".join(chr(code) for code in range(0x300, 0x1800) if unicodedata.category(chr(code)).startswith("M"))
"""Vowel signs and other marks, which are parts of words; for use inside a character class."""

_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_RUN = re.compile(f"[{_UNSPACED}\U00020000-\U0003ffff]+")
_TERM = re.compile(rf"(?P<run>[{_UNSPACED}\U00020000-\U0003ffff]+)|[{_ARABIC}]{{3,}}|[{_DEVANAGARI}]{{3,}}")
PROCLITIC = re.compile("[وفبکل]?ال|لل")
"""The Arabic article, with what is written onto it."""
_ARABIC_ENDINGS = "یان|ون|ین|ان|ات|ها|[اهیے]"
_DEVANAGARI_ENDINGS = "ियों|ियां|ाओं|ाएं|ुओं|ुएं|ों|ें|ीं|ां|[ािीेो]|ं"
ENDING = re.compile(f"(?:{_ARABIC_ENDINGS}|{_DEVANAGARI_ENDINGS})?")
"""What may follow the stem of a word."""
_PROCLITIC_OF_WORD = re.compile(f"(?:{PROCLITIC.pattern})(?=...)")
_ARABIC_ENDING = re.compile(f"(?<=...)(?:{_ARABIC_ENDINGS})$")
_DEVANAGARI_ENDING = re.compile(f"(?<=..)(?:{_DEVANAGARI_ENDINGS})$")


class _Table(dict[int, str]):
    """What each character folds to, computed when first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_TABLE = _Table()


def fold(text: str) -> str:
    """Text without case, accents, vowel points, invisible characters and the differences of width and of letters."""
    if not _FOLDED.search(text):
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_TABLE))


def fold_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """The folded text, and the offset in the text of each of its characters; None if they are the same."""
    if not _FOLDED.search(text):
        lowered = text.lower()
        return (lowered, None) if len(lowered) == len(text) else (text, None)
    parts = [_TABLE[ord(character)] for character in text]
    folded = "".join(parts)
    if len(folded) == len(text) and all(len(part) == 1 for part in parts):
        return folded, None
    return folded, [offset for offset, part in enumerate(parts) for _ in part]


def _fold_character(character: str) -> str:
    decomposed = unicodedata.decomposition(character)
    if decomposed.startswith(_KEPT_FORMS):
        return character
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if unicodedata.category(character) == "Cf":
        return ""
    parts = unicodedata.normalize("NFKD", character.casefold())
    kept = (part for part in parts if not unicodedata.combining(part) or part in _VOICING)
    return unicodedata.normalize("NFC", "".join(_VARIANTS.get(part, part) for part in kept))


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that puts no spaces between words."""
    return _RUN.match(character) is not None


def unspaced_characters(text: str) -> int:
    """The number of characters of such scripts."""
    return 0 if text.isascii() else sum(len(run) for run in _RUN.findall(text))


def search_text(text: str) -> str:
    """The text as a keyword index takes it: folded, with the terms of scripts that it cannot divide or stem itself."""
    folded = fold(text)
    return _TERM.sub(lambda found: f" {' '.join(terms(found[0]))} ", folded) if _FOLDED.search(folded) else folded


def terms(word: str) -> list[str]:
    """The search terms of a folded word: its stem; where no spaces tell what a word is, pairs of characters.

    A Chinese character is also a term by itself, as many words are one character.
    """
    if not _FOLDED.search(word):
        return [word]
    found: list[str] = []
    for part in re.split(f"({_RUN.pattern})", word):
        if _RUN.match(part):
            found += [*(a + b for a, b in pairwise(part)), *(part if len(part) == 1 else _HAN.findall(part))]
        elif part:
            found.append(light_stem(part))
    return found


def light_stem(word: str) -> str:
    """A folded word of Arabic, Urdu, Persian or Hindi without article and ending; others are left as they are."""
    if "\u0620" <= word[0] <= "\u06ff":
        article = _PROCLITIC_OF_WORD.match(word)
        return _ARABIC_ENDING.sub("", word[article.end() :] if article else word)
    return _DEVANAGARI_ENDING.sub("", word) if "\u0900" <= word[0] <= "\u097f" else word
