"""A text as the verifier reads it: words with what each of them asserts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from glossator.verification.reading.lexicon import LANGUAGES, Words, fold, words_of
from glossator.verification.reading.numbers import (
    NUMBER,
    Quantity,
    read_number,
    read_ordinal,
    read_words,
    unit_after,
    unit_before,
)
from glossator.verification.reading.stems import stem

MOST_TOKENS = 4000
"""A longer text is read up to here; nothing beyond it can support or be supported."""

_INVISIBLE = re.compile("[\u064b-\u065f\u0670\u0640\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
_LETTER = r"[\w\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff]"
_TOKEN = re.compile(
    r"(?P<version>(?<!\w)[vV]\d+(?:\.\d+)+)"
    rf"|(?P<number>{NUMBER}(?:st|nd|rd|th)?(?![^\W\d_]{{5}}))"
    rf"|(?P<wide>[\u3040-\u30ff\u3400-\u9fff])"
    r"|(?P<arabic>[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff]+)"
    rf"|(?P<word>(?:[^\W_]|_(?=\w)){_LETTER}*(?:['’](?:[^\W\d_])+)*)"
    r"|(?P<stop>[.!?;:,()\[\]{}—–۔؟،؛。！？，、；：|•]+|\n(?=\s*(?:\n|[-*+•#|>]|\d{1,3}[.)])))"
)
_URDU = re.compile("[ٹڈڑںےھہگچپژ]")
_ARABIC = re.compile("[\u0600-\u06ff]")
_ONTO = frozenset("وفبلک")
_EXCEPT = frozenset(("إلا", "إلّا", "سوى", "سوي"))
EXCEPT = "سوی"
"""What turns the negation before it into "only"; without its hamza it would be another word, "that not"."""

_IF = "اذا"
_ONLY_WITHIN = 8
"""Words between a negation and its exception."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or number: how it compares, what it weighs, and what it marks."""

    start: int
    end: int
    form: str
    stem: str
    weight: float
    clause: int
    name: bool = False
    quantity: Quantity | None = None
    family: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text's tokens in order; offsets are the text's own."""

    text: str
    language: str
    tokens: tuple[Token, ...]


def read(text: str, language: str | None = None) -> Reading:
    """Read a text, in its own language unless one is given."""
    return _read(text, language or language_of(text))


@lru_cache(64)
def _read(text: str, spoken: str) -> Reading:
    """A claim is read several times on its way; the last few readings are kept."""
    clean, places = _clean(text)
    words = words_of(spoken)
    tokens = _mark(_merge(list(_raw(clean, spoken, words)), words, clean), words)
    if places is not None:
        tokens = [replace(t, start=places[t.start], end=places[t.end - 1] + 1) for t in tokens]
    return Reading(text, spoken, tuple(tokens))


def says_something(text: str) -> bool:
    """Whether any word of a text carries meaning."""
    return any(token.weight for token in read(text).tokens)


def language_of(text: str) -> str:
    """The language whose function words are commonest; English when nothing tells."""
    sample = text[:4000]
    if len(_ARABIC.findall(sample)) > len(sample) // 4:
        return "ur" if _URDU.search(sample) else "ar"
    found = [fold(word) for word in re.findall(r"[^\W\d_]+", sample)]
    votes = {language: sum(word in words_of(language).function for word in found) for language in LANGUAGES[:3]}
    return max(votes, key=lambda language: (votes[language], language == "en"))


def _clean(text: str) -> tuple[str, list[int] | None]:
    """The text without invisible characters, and where each character stood."""
    if text.isascii() or not _INVISIBLE.search(text):
        return text, None
    places = [i for i, character in enumerate(text) if not _INVISIBLE.match(character)]
    return "".join(text[i] for i in places), places


def _raw(text: str, language: str, words: Words) -> Iterator[Token]:
    clause, count, skip, fresh = 0, 0, 0, True
    for match in _TOKEN.finditer(text):
        if match["stop"]:
            clause += 1
            fresh = fresh or bool(set(match["stop"]) & set(".!?\n۔؟。！？:"))
            continue
        count += 1
        if count > MOST_TOKENS:
            return
        if match["number"] or match["version"]:
            token = _number(text, match, clause)
            skip = max(skip, token.end)
            yield replace(token, end=match.end())
        else:
            yield _word(text, match, clause, language, words, fresh, in_unit=match.start() < skip)
        fresh = False


def _number(text: str, match: re.Match[str], clause: int) -> Token:
    raw = re.sub(r"(?:st|nd|rd|th)$", "", match.group().lstrip("vV"))
    unit, end = unit_after(text, match.end())
    quantity = replace(read_number(raw), unit=unit or unit_before(text, match.start()))
    return Token(match.start(), end, raw, raw, 1.5, clause, quantity=quantity)


def _word(
    text: str, match: re.Match[str], clause: int, language: str, words: Words, fresh: bool, in_unit: bool
) -> Token:
    raw = match.group()
    form = fold(raw) if language != "ar" else EXCEPT if raw in _EXCEPT else _bare(fold(raw), words)
    quoted = text[match.start() - 1 : match.start()] == "`"
    name = quoted or (not fresh and raw[:1].isupper()) or _odd(raw)
    weight = 0.0 if in_unit or (form in words.function and not quoted) else _weight(form, name, language)
    return Token(
        match.start(), match.end(), form, stem(form, language), weight, clause, name, family="unit" if in_unit else ""
    )


def _bare(form: str, words: Words) -> str:
    """An Arabic number, negation or quantifier without the one-letter words that are written onto it."""
    rest = form[1:]
    known = form in words.numbers or (form,) in words.marks
    written_onto = form[:1] in _ONTO and (rest in words.numbers or (rest,) in words.marks)
    return rest if written_onto and not known else form


def _odd(raw: str) -> bool:
    """Whether a word looks like a technical name: digits, underscores or capitals inside."""
    return not raw.isalpha() or any(character.isupper() for character in raw[1:])


def _weight(form: str, name: bool, language: str) -> float:
    """Names tell most; very short words of other languages than English tell little."""
    if language != "en" and len(form) <= 3 and not name:
        return 0.4
    return 1.3 if name else 1.0


def _merge(tokens: list[Token], words: Words, text: str) -> list[Token]:
    """Number words become one number with its unit; "third" and "half" are numbers too."""
    forms = [token.form for token in tokens]
    merged: list[Token] = []
    at = skip = 0
    while at < len(tokens):
        token = tokens[at]
        value, taken = (None, 0) if token.quantity else read_words(forms, at, words)
        if value is None and not token.quantity:
            value, taken = read_ordinal(forms, at, words)
        if value is None:
            in_unit = token.start < skip
            token = _scaled(tokens, at, words) if token.quantity else token
            merged.append(replace(token, weight=0.0, family="unit") if in_unit and not token.quantity else token)
            at += 2 if token.end > tokens[at].end else 1
            continue
        end = tokens[at + taken - 1].end
        unit, skip = unit_after(text, end)
        merged.append(_said(token, end, " ".join(forms[at : at + taken]), Quantity((value,), unit)))
        at += taken
    return merged


def _said(token: Token, end: int, form: str, quantity: Quantity) -> Token:
    """A number in words; "one" is as often a pronoun."""
    weight = 0.5 if quantity.values == (1.0,) else 1.5
    return Token(token.start, end, form, form, weight, token.clause, quantity=quantity)


def _scaled(tokens: Sequence[Token], at: int, words: Words) -> Token:
    """ "3 million" is one number."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or token.quantity is None or following.form not in words.scales:
        return token
    scale = words.scales[following.form]
    quantity = Quantity(tuple(value * scale for value in token.quantity.values), None, token.quantity.version)
    return replace(token, end=following.end, quantity=quantity)


def _mark(tokens: list[Token], words: Words) -> list[Token]:
    """Note which words negate, oblige or count, longest phrase first."""
    forms = [token.form for token in tokens]
    at = 0
    while at < len(tokens):
        taken = 1
        for length in range(min(words.longest, len(tokens) - at), 0, -1):
            found = words.marks.get(tuple(forms[at : at + length]))
            if found and (length > 1 or not tokens[at].quantity):
                family, kind = found
                tokens[at] = replace(tokens[at], family=family, kind=kind, weight=0.0, quantity=None)
                for place in range(at + 1, at + length):
                    tokens[place] = replace(tokens[place], family="part", weight=0.0)
                taken = length
                break
        at += taken
    return _only(tokens) if EXCEPT in forms else tokens


def _only(tokens: list[Token]) -> list[Token]:
    """ "Not … except" says "only"."""
    for at, token in enumerate(tokens):
        following = tokens[at + 1].form if at + 1 < len(tokens) else ""
        if token.form != EXCEPT or following == _IF:
            continue
        before = (n for n in range(at - 1, max(-1, at - 1 - _ONLY_WITHIN), -1) if tokens[n].clause == token.clause)
        negated = next((n for n in before if tokens[n].family == "negation"), None)
        if negated is not None:
            tokens[negated] = replace(tokens[negated], family="part", kind="")
            tokens[at] = replace(token, family="quantifier", kind="only", weight=0.0)
    return tokens
