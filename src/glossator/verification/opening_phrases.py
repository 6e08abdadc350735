"""Removes phrases before a claim that are not part of it: "According to the book, …"."""

from __future__ import annotations

import re

_WORKS = {
    "en": "book|text|source|sources|passage|documentation|docs|manual|author|authors|chapter|section|guide|article",
    "de": "buch|text|quelle|abschnitt|dokumentation|handbuch|kapitel|autor",
    "es": "libro|texto|fuente|pasaje|documentación|manual|capítulo|autor|sección",
}
_OPENING_PHRASES = (
    rf"according to (?:the|this) (?:{_WORKS['en']})\b",
    rf"(?:the|this) (?:{_WORKS['en']}) (?:also )?(?:says?|states?|explains?|notes?|mentions|tells us) that\b",
    rf"as (?:the|this) (?:{_WORKS['en']}) (?:says|states|explains|notes|puts it)\b",
    r"(?:please )?(?:note|remember|recall|keep in mind|bear in mind|be aware) that\b",
    r"in (?:short|brief|summary|essence|other words|conclusion|a nutshell|fact)\b",
    r"to (?:sum up|summarise|summarize|put it simply|be clear|be precise)\b",
    r"(?:simply|briefly|basically|essentially|put simply|that is to say|in simple terms)(?=,)",
    r"(?:well|yes|yeah|yep|yea|yup|oh|ok|okay|sure|right|indeed|actually|so|and)(?=\s*[,.!])",
    r"(?:ja|also|sí|bueno|pues|نعم|جی ہاں)(?=\s*[,.!])",
    r"i (?:think|believe|know|guess|understand|would say)(?: that)?\b",
    r"it (?:is|'s) (?:important|worth|useful) (?:to (?:note|know|remember)|noting|knowing) that\b",
    rf"(?:laut|gemäß|nach) (?:dem|der) (?:{_WORKS['de']})\b",
    r"(?:kurz gesagt|zusammengefasst|kurzum|mit anderen worten|zu beachten ist,? dass|beachten sie,? dass)",
    rf"según (?:el|la) (?:{_WORKS['es']})\b",
    r"(?:en resumen|en pocas palabras|en otras palabras|cabe (?:señalar|destacar) que|tenga en cuenta que)\b",
    r"(?:وفقا|وفقًا|طبقا|طبقًا) ل(?:لكتاب|لنص|لمصدر|لفصل)",
    r"(?:باختصار|بعبارة أخرى|تجدر الإشارة إلى أن|يذكر (?:الكتاب|النص) أن)",
    r"(?:کتاب|متن|ماخذ) کے مطابق",
    r"(?:مختصر یہ کہ|مختصراً|دوسرے لفظوں میں|یاد رہے کہ|واضح رہے کہ)",
)
_OPENING_PHRASE = re.compile(rf"\s*(?:{'|'.join(_OPENING_PHRASES)})\s*[,،:.!]?\s*", re.IGNORECASE)
_MAX_PHRASES = 3


def strip_opening_phrases(claim: str) -> str:
    """The claim without the phrases before it."""
    for _ in range(_MAX_PHRASES):
        found = _OPENING_PHRASE.match(claim)
        if not found or len(claim) - found.end() < 2:
            break
        claim = claim[found.end() :]
    return claim
