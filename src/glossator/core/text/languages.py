"""Detects the language of a text: by its script, and for shared scripts by common words and letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

MIN_LETTERS = 20
"""The language of a shorter text is not detected."""

MIN_SHARE = 0.6
"""The share of the letters that a script must have."""

MIN_COMMON_WORDS = 0.08
"""The share of the words that must be common words of a language: text has 0.2 and more, code and names have few."""

MIN_COMMON = 2
"""Common words that a text must have: a single one may be a word of several languages."""

NAMES = {
    "ar": "Arabic",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
_SCRIPTS = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "ar": "ء-ۓﭐ-ﻼ",
    "ru": "Ѐ-ӿ",
    "el": "Ͱ-Ͽ",
    "he": "א-ת",
    "hi": "ऀ-ॣॱ-ॿ",
    "bn": "ঀ-৾",
    "ta": "஀-௿",
    "th": "ก-๎",
    "ko": "가-힣",
    "ja": "ぁ-ヿ",
    "zh": "㐀-鿿",
}
_LETTERS = {script: re.compile(f"[{letters}]") for script, letters in _SCRIPTS.items()}
_MARKS = (("ar", "ur", re.compile("[ٹڈڑںےہھ]")), ("ar", "fa", re.compile("[پچژگ]")), ("ru", "uk", re.compile("[іїєґ]")))
"""Letters that tell a language from the one of the same script."""
_COMMON_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that it for was on are with as be this by from or have not you which can"
        # Words of other languages as well; of those, each has more in every text of its own.
        " a an at has i no",
        "de": "der die das und ist nicht ein eine den von zu mit auf für im dem sich auch des werden wird",
        "fr": "le la les des est une dans que qui pour pas sur avec au du par et sont ce cette il elle",
        "es": "el la los las que es una por con para del se no un su como más al lo está son y",
        "pt": "o a e os as que é uma por com para do da não um se como mais ao são dos das em",
        "it": "il che di è una per con non del della sono gli le si come anche nel alla i un",
        "nl": "de het een van en is dat niet met op voor zijn te aan worden door ook bij wordt",
        "sv": "och att det som är en på för med av inte den till ett har kan från",
        "da": "og at det som er en på for med af ikke den til et har kan fra",
        "pl": "i w na się że nie do jest to z jak przez dla od są które",
        "cs": "a se na je že to v s pro jako jsou nebo který při",
        "tr": "ve bir bu için ile da de olarak olan daha çok gibi kadar sonra ise",
        "vi": "và của là có không được cho một các trong với này để những khi",
        "id": "yang dan di dengan untuk ini dari pada adalah dalam tidak itu oleh atau",
    }.items()
}
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The code of a text's language; empty if it is unknown."""
    text = _CODE.sub(" ", text)
    letters = {script: len(pattern.findall(text)) for script, pattern in _LETTERS.items()}
    letters["ja"] += letters["zh"] if letters["ja"] > letters["zh"] / 10 else 0
    script, count = max(letters.items(), key=lambda item: item[1])
    total = sum(letters.values()) - (letters["zh"] if script == "ja" else 0)
    if total < MIN_LETTERS or count < MIN_SHARE * total:
        return ""
    if script == "latin":
        return _by_common_words(text)
    return next((other for base, other, mark in _MARKS if base == script and len(mark.findall(text)) > 3), script)


def _by_common_words(text: str) -> str:
    words = Counter(word.lower() for word in _WORD.findall(text))
    votes = {language: sum(words[word] for word in common) for language, common in _COMMON_WORDS.items()}
    language, most = max(votes.items(), key=lambda item: item[1])
    return language if most >= max(MIN_COMMON, MIN_COMMON_WORDS * words.total()) else ""


def main_language(texts: Iterable[str]) -> str:
    """The most common language of some texts; empty if it is unknown."""
    votes = Counter(filter(None, map(language_of, texts)))
    return votes.most_common(1)[0][0] if votes else ""
