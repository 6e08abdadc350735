"""Tells headings that only name a topic from headings that make a claim."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.verification.reading.tokenizer import tokenize
from glossator.verification.reading.tokens import Token

MAX_TITLE_WORDS = 6
"""A longer heading is judged as a sentence."""

_QUESTION_WORDS = frozenset(
    """
    what how why when where who which whose wie was warum wann wo wer welche wozu qué cómo cuándo dónde quién cuál
    ما ماذا کیف متی این من لماذا کیا کیسے کیوں کب کہاں کون
    """.split()
)
_FINITE_VERBS = frozenset(
    """
    is are was were has have had does did isn't aren't ist sind war waren hat haben hatte wird werden wurde
    es son está están era eran fue ha han tiene tienen ہے ہیں تھا تھی تھے
    """.split()
)
"""Verbs that make a statement of a heading, in whatever it says."""
_DETERMINERS = frozenset(
    """
    all any both each every few many more most only several some alle einige jede jeder jedes mehrere nur viele
    algunas algunos cada muchas muchos solo sólo todas todos varias varios کل جمیع بعض فقط تمام ہر صرف
    """.split()
)
"""With one other word they name a topic ("Only heading", "All settings"): a statement needs a verb as well."""


def title_words(text: str) -> list[str] | None:
    """The words of a heading that can be looked up as a phrase; None if it is too long or gives a number."""
    tokens = tokenize(text).tokens
    words = [token.form for token in tokens if token.weight or token.family]
    short = 0 < len(words) <= MAX_TITLE_WORDS and not any(token.quantity for token in tokens)
    return words if short else None


def makes_claim(heading: str) -> bool:
    """Whether a heading states something that a source could support, rather than naming a topic."""
    heading = heading.strip()
    tokens = tokenize(heading).tokens
    if heading.endswith(("?", "؟", "？")) or not tokens:
        return False
    if title_words(heading) is None or heading.endswith((".", "!", "。", "۔")) or _has_marker(tokens):
        return True
    forms = [token.form for token in tokens]
    return forms[0] not in _QUESTION_WORDS and not _FINITE_VERBS.isdisjoint(forms)


def _has_marker(tokens: Sequence[Token]) -> bool:
    """Whether a heading has a negation, a modality or a quantifier that may belong to a statement."""
    markers = [token for token in tokens if token.family in ("negation", "modality", "quantifier")]
    is_topic = sum(token.weight > 0 for token in tokens) <= 1 and all(token.form in _DETERMINERS for token in markers)
    return bool(markers) and not is_topic
