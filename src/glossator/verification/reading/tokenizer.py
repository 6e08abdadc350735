"""Splits a text into tokens and labels quantities, negation, modality and quantifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from glossator.core.text.characters import ARABIC_DIACRITICS, INVISIBLE
from glossator.verification.reading.fractions import merge_fractions, vulgar_fraction
from glossator.verification.reading.lexicon import LANGUAGES, Lexicon, fold, lexicon_for, units
from glossator.verification.reading.numbers import (
    NUMBER,
    Quantity,
    parse_number,
    parse_spelled_number,
    unit_after,
    unit_before,
)
from glossator.verification.reading.stems import names_protocol, stem
from glossator.verification.reading.tokens import Token, as_unit, number_token

MAX_TOKENS = 4000
"""The rest of a longer text is ignored: it can neither support a claim nor be supported."""

_IGNORED = re.compile(f"[{ARABIC_DIACRITICS}{INVISIBLE}]")
_LETTER = r"[\w\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff]"
_TOKEN = re.compile(
    r"(?P<version>(?<!\w)[vV]\d+(?:\.\d+)+)"
    rf"|(?P<number>{NUMBER}(?:st|nd|rd|th)?(?![^\W\d_]{{5}}))"
    rf"|(?P<wide>[\u3040-\u30ff\u3400-\u9fff])"
    r"|(?P<arabic>[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff]+)"
    rf"|(?P<word>(?:[^\W_]|_(?=\w)){_LETTER}*(?:['’](?:[^\W\d_])+)*)"
    r"|(?P<stop>[.!?;:,()\[\]{}—–۔؟،؛。！？，、；：|•]+|\n(?=[^\S\n]*(?:\n|[-*+•#|>]|\d{1,3}[.)])))"
)
_URDU_LETTERS = re.compile("[ٹڈڑںےھہگچپژ]")
_ARABIC_SCRIPT = re.compile("[\u0600-\u06ff]")
_PROCLITICS = frozenset("وفبلک")
_EXCEPTIVES = frozenset(("إلا", "إلّا", "سوى", "سوي"))
_EXCEPT = "سوی"
"""One form for every Arabic "except", which turns a negation before it into "only".

Folding would drop the hamza of the commonest one and make it another word, "that not".
"""

_CODE = re.compile(r"[A-Z]{2,}s?|(?=[^\W\d_]*\d)(?=\d*[^\W\d_])\w+|[^\W_]+(?:_+[^\W_]+)+")
_PLURAL_CODE = re.compile(r"[A-Z]{2,}s")
_AND = frozenset("and or to than und oder bis y o e".split())
_VERSIONED = frozenset(
    """
    version versions release releases revision build firmware section sections chapter chapters figure figures table
    appendix clause paragraph rule kapitel abschnitt abbildung tabelle versión sección capítulo figura tabla
    """.split()
)
"""Words that come with a number that is not a decimal: version 3.10 is not version 3.1."""

_NAME_WEIGHT = 1.3
_LETTER_SIGN = re.compile(r"[+#]{1,2}(?!\w)|-(?=[.,;:)]|$)")
"""Signs that make another name of a letter: "C++", "C#", a grade of "A-"."""

_VERB_FOLLOWS = re.compile(r" (?:is|are|was|has|can|must|may|does|ist|hat|kann|es|tiene)\b|[ ]?[.,:;)]")
_BOUNDS = ("more_than", "less_than")
_PLACES_AND_SIZES = frozenset(
    "over above beyond under below greater larger bigger higher longer lower smaller shorter".split()
)
_MAX_BOUND_DISTANCE = 3
"""In words, from a bound to its number: "over a period of two hours" has none."""

_IF = "اذا"
_MAX_EXCEPTION_DISTANCE = 8
"""How many tokens before an exception its negation may be."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text and its tokens in order; token offsets refer to `text`."""

    text: str
    language: str
    tokens: tuple[Token, ...]


def tokenize(text: str, language: str | None = None) -> TokenizedText:
    """Tokenize a text, in the given language or the one detected."""
    return _tokenize(text, language or language_of(text))


@lru_cache(64)
def _tokenize(text: str, language: str) -> TokenizedText:
    """Cached, because a claim is tokenized several times."""
    clean, offsets = _without_ignored(text)
    lexicon = lexicon_for(language)
    numbers = _merge_numbers(list(_scan(clean, language, lexicon)), lexicon, clean)
    tokens = _label_versions(_label_markers(merge_fractions(numbers, lexicon, clean), lexicon), clean)
    if offsets is not None:
        tokens = [replace(t, start=offsets[t.start], end=offsets[t.end - 1] + 1) for t in tokens]
    return TokenizedText(text, language, tuple(tokens))


def has_content(text: str) -> bool:
    """Whether a text has any content word or number."""
    return any(token.weight for token in tokenize(text).tokens)


def language_of(text: str) -> str:
    """The language with the most function words in the text; English if undecided."""
    sample = text[:4000]
    if len(_ARABIC_SCRIPT.findall(sample)) > len(sample) // 4:
        return "ur" if _URDU_LETTERS.search(sample) else "ar"
    found = [fold(word) for word in re.findall(r"[^\W\d_]+", sample)]
    votes = {
        language: sum(word in lexicon_for(language).function_words for word in found) for language in LANGUAGES[:3]
    }
    return max(votes, key=lambda language: (votes[language], language == "en"))


def _without_ignored(text: str) -> tuple[str, list[int] | None]:
    """The text without ignored characters, and the offset of each remaining one; None if nothing was removed."""
    if text.isascii() or not _IGNORED.search(text):
        return text, None
    offsets = [i for i, character in enumerate(text) if not _IGNORED.match(character)]
    return "".join(text[i] for i in offsets), offsets


def _scan(text: str, language: str, lexicon: Lexicon) -> Iterator[Token]:
    clause, count, unit_end, sentence_start = 0, 0, 0, True
    for match in _TOKEN.finditer(text):
        if match["stop"]:
            clause += 1
            sentence_start = sentence_start or bool(set(match["stop"]) & set(".!?\n۔؟。！？:"))
            continue
        count += 1
        if count > MAX_TOKENS:
            return
        if quantity := _quantity(match):
            token = _number_token(text, match, clause, quantity)
            unit_end = max(unit_end, token.end)
            yield replace(token, end=match.end())
        else:
            yield _word_token(text, match, clause, language, lexicon, sentence_start, in_unit=match.start() < unit_end)
        sentence_start = False


def _quantity(match: re.Match[str]) -> Quantity | None:
    """The value of a number in digits; none for a word."""
    if match["version"]:
        return parse_number(match.group()[1:]).as_version()
    return parse_number(_number_digits(match)) if match["number"] else vulgar_fraction(match.group())


def _number_digits(match: re.Match[str]) -> str:
    return re.sub(r"(?:st|nd|rd|th)$", "", match.group().lstrip("vV"))


def _number_token(text: str, match: re.Match[str], clause: int, quantity: Quantity) -> Token:
    raw = _number_digits(match)
    unit, end = unit_after(text, match.end())
    quantity = replace(quantity, unit=unit or unit_before(text, match.start()))
    return Token(match.start(), end, raw, raw, 1.5, clause, quantity=quantity)


def _word_token(
    text: str, match: re.Match[str], clause: int, language: str, lexicon: Lexicon, sentence_start: bool, in_unit: bool
) -> Token:
    raw = match.group()
    if not in_unit and (letter := _letter_name(text, match, sentence_start)):
        return Token(match.start(), match.start() + len(letter), letter, letter, _NAME_WEIGHT, clause, True)
    form = fold(raw) if language != "ar" else _EXCEPT if raw in _EXCEPTIVES else _without_proclitic(fold(raw), lexicon)
    quoted = text[match.start() - 1 : match.start()] == "`"
    name = quoted or (not sentence_start and raw[:1].isupper()) or _looks_technical(raw)
    weight = 0.0 if in_unit or (form in lexicon.function_words and not quoted) else _weight(form, name, language)
    base = fold(raw[:-1]) if _PLURAL_CODE.fullmatch(raw) else form
    return Token(
        *(match.start(), match.end(), form, stem(base, language), weight, clause, name),
        family="unit" if in_unit else "",
        is_code=weight > 0 and (_CODE.fullmatch(raw) is not None or names_protocol(form)),
    )


def _letter_name(text: str, match: re.Match[str], sentence_start: bool) -> str:
    """A single capital that names something ("port A", "C++"), unlike the article or pronoun; otherwise nothing."""
    raw = match.group()
    if len(raw) != 1 or not raw.isupper() or raw == "I":
        return ""
    sign = _LETTER_SIGN.match(text, match.end())
    name = raw + (sign.group() if sign else "")
    return name if not sentence_start or _VERB_FOLLOWS.match(text, match.start() + len(name)) else ""


def _without_proclitic(form: str, lexicon: Lexicon) -> str:
    """An Arabic number or marker without a one-letter word written onto it."""
    rest = form[1:]
    known = form in lexicon.numbers or (form,) in lexicon.markers
    has_proclitic = form[:1] in _PROCLITICS and (rest in lexicon.numbers or (rest,) in lexicon.markers)
    return rest if has_proclitic and not known else form


def _looks_technical(raw: str) -> bool:
    """Whether a word has digits, underscores or inner capitals, as technical names do."""
    return not raw.isalpha() or any(character.isupper() for character in raw[1:])


def _weight(form: str, name: bool, language: str) -> float:
    """Names weigh most; very short words weigh little, except in English."""
    if language != "en" and len(form) <= 3 and not name:
        return 0.4
    return _NAME_WEIGHT if name else 1.0


def _merge_numbers(tokens: list[Token], lexicon: Lexicon, text: str) -> list[Token]:
    """Merge number words into one quantity with its unit; "third" and "half" are numbers too."""
    forms = [token.form for token in tokens]
    merged: list[Token] = []
    at = unit_end = 0
    while at < len(tokens):
        token = tokens[at]
        value, taken = (None, 0) if token.quantity else parse_spelled_number(forms, at, lexicon)
        if value is None:
            in_unit = token.start < unit_end
            token = _with_scale(tokens, at, lexicon) if token.quantity else token
            merged.append(as_unit(token) if in_unit and not token.quantity else token)
            at += 2 if token.end > tokens[at].end else 1
            continue
        end = tokens[at + taken - 1].end
        unit, unit_end = unit_after(text, end)
        merged.append(number_token(token, end, " ".join(forms[at : at + taken]), Quantity((value,), unit)))
        at += taken
    return merged


def _with_scale(tokens: Sequence[Token], at: int, lexicon: Lexicon) -> Token:
    """Merge a number in digits with a scale word: "3 million" is one number."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or token.quantity is None or following.form not in lexicon.scales:
        return token
    scale = lexicon.scales[following.form]
    quantity = Quantity(tuple(value * scale for value in token.quantity.values), None, token.quantity.version)
    return replace(token, end=following.end, quantity=quantity)


def _label_versions(tokens: list[Token], text: str) -> list[Token]:
    """Label numbers that are versions or sections: after such a word or a name ("Python 3.10"), or before the word."""
    for at, token in enumerate(tokens):
        quantity = token.quantity
        if quantity is None or quantity.unit or "." not in quantity.written:
            continue
        before, after = tokens[max(0, at - 1) : at], tokens[at + 1 : at + 2]
        if before and before[0].form in _AND:
            before = tokens[max(0, at - 2) : at - 1]
        named = any(
            (text[other.start].isupper() and other.weight) or (other.quantity and other.quantity.version)
            for other in before
        )
        if named or any(other.form in _VERSIONED for other in (*before, *after)):
            tokens[at] = replace(token, quantity=quantity.as_version())
    return tokens


def _label_markers(tokens: list[Token], lexicon: Lexicon) -> list[Token]:
    """Label negation, modality and quantifiers; the longest phrase wins."""
    forms = [token.form for token in tokens]
    at = 0
    while at < len(tokens):
        taken = 1
        for length in range(min(lexicon.max_phrase_length, len(tokens) - at), 0, -1):
            found = lexicon.markers.get(tuple(forms[at : at + length]))
            if found and (length > 1 or not tokens[at].quantity) and _is_marker(tokens, at, at + length, found[1]):
                family, kind = found
                tokens[at] = replace(tokens[at], family=family, kind=kind, weight=0.0, quantity=None)
                for index in range(at + 1, at + length):
                    tokens[index] = replace(tokens[index], family="part", weight=0.0)
                taken = length
                break
        at += taken
    _label_endings(tokens, lexicon)
    return _label_exceptions(tokens) if _EXCEPT in forms else tokens


def _is_marker(tokens: Sequence[Token], at: int, end: int, kind: str) -> bool:
    """Whether a phrase is a marker here: "over" and "longer than" are quantifiers before amounts only."""
    if kind not in _BOUNDS or tokens[at].form not in _PLACES_AND_SIZES:
        return True
    following = tokens[end : end + _MAX_BOUND_DISTANCE]
    return not following or any(token.quantity or token.form in units() for token in following)


def _label_endings(tokens: list[Token], lexicon: Lexicon) -> None:
    """Label what ends an event as a negation: "stopped making it"."""
    for at, (token, following) in enumerate(pairwise(tokens)):
        is_event = following.weight > 0 and following.form.endswith("ing") and following.clause == token.clause
        if is_event and token.form in lexicon.cues["ending"]:
            tokens[at] = replace(token, family="negation", kind="negation", weight=0.0)


def _label_exceptions(tokens: list[Token]) -> list[Token]:
    """Label "not … except" as the quantifier "only"."""
    for at, token in enumerate(tokens):
        following = tokens[at + 1].form if at + 1 < len(tokens) else ""
        if token.form != _EXCEPT or following == _IF:
            continue
        before = (
            n for n in range(at - 1, max(-1, at - 1 - _MAX_EXCEPTION_DISTANCE), -1) if tokens[n].clause == token.clause
        )
        negated = next((n for n in before if tokens[n].family == "negation"), None)
        if negated is not None:
            tokens[negated] = replace(tokens[negated], family="part", kind="")
            tokens[at] = replace(token, family="quantifier", kind="only", weight=0.0)
    return tokens
