"""Sanitizes a draft for display: only text that was judged, in safe layout, without hidden characters or markup."""

from __future__ import annotations

import re
import unicodedata

from glossator.core.text.characters import sanitize
from glossator.verification.claims.inline import plain_text
from glossator.verification.claims.segments import Segment, SegmentKind
from glossator.verification.reading.numbers import NUMBER
from glossator.verification.reading.tokenizer import tokenize

_NUMBER = re.compile(NUMBER)
_LITERAL = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$\n]+\$", re.DOTALL)
_HIDING_MARKUP = re.compile(r"~~|<[A-Za-z/!?]|\]\s*[(\[:]|!\[|\[\^?\d|【|\w\*{1,3}\w[^*\n]*\*|&#?\w+;")
_RULE = re.compile(r"[\s>|:*_=-]*")
_PREFIX = re.compile(r"\s*(?:>[ \t]?)*[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)?(?:\|[ \t]*)?")
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)")
_INFO = re.compile(r"[\w+#.-]{0,20}")
_CODE_LITERAL = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*|[=!<>]=+|&&|\|\||[-=]>")
_SYMBOLS = frozenset("°|`~^+%©®™№·")
_SMALL_TALK = frozenset(
    """
    hello hi hey greetings welcome thanks thank great good nice excellent interesting question sure course happy glad
    help helps hope here following below steps step facts fact points point main key details detail answer explanation
    summary short brief list overview let know want ask more questions any anything else feel free need further like
    information hallo gerne frage danke schritte folgenden hola claro gracias pregunta pasos siguientes
    مرحبا شكرا الخطوات التالية سؤال سلام شکریہ سوال درج ذیل مراحل
    """.split()
)


def safe_markdown(segment: Segment) -> str | None:
    """The Markdown of a segment if it hides nothing, else its plain text, else None."""
    if segment.kind is SegmentKind.CODE:
        return _safe_code(sanitize(segment.body))
    for candidate in (sanitize(segment.body), sanitize(segment.text)):
        if not _HIDING_MARKUP.search(_LITERAL.sub("", candidate)) and _visible_words(candidate) == _visible_words(
            sanitize(segment.text)
        ):
            return candidate
    return None


def is_shown_as_it_is(text: str) -> bool:
    """Whether a text is one line that is displayed unchanged when it is rendered as Markdown."""
    plain = "\n" not in text and "|" not in text and "`" not in text and not _HIDING_MARKUP.search(text)
    return plain and _visible_words(text) == " ".join(text.split())


def _visible_words(text: str) -> str:
    """The visible words, without the borders of table cells."""
    return " ".join(plain_text(text.replace("|", " ")).split())


def _safe_code(body: str) -> str:
    """A code block whose first line has no more than a language name."""
    body = body.strip("\n")
    opening = _FENCE.match(body.lstrip())
    if not opening:
        return body
    info = opening["info"].strip()
    first, _, rest = body.partition("\n")
    return f"{opening['fence']}{info if _INFO.fullmatch(info) else ''}\n{rest}" if rest else first


def safe_prefix(prefix: str) -> str:
    """A prefix that is only layout (white space, block quotes, a list marker, a cell border); else its white space."""
    return prefix if _PREFIX.fullmatch(prefix) else re.sub(r"[^\s]", "", prefix)


def is_rule(segment: Segment) -> bool:
    """Whether a segment without words is a rule, the delimiter row of a table, or white space."""
    return _RULE.fullmatch(segment.raw) is not None


def is_small_talk(text: str) -> bool:
    """Whether a sentence has only words of courtesy and introduction, so that it may be shown unchecked."""
    tokens = tokenize(text).tokens
    words = [token for token in tokens if token.weight]
    marked = any(token.quantity or token.family in ("negation", "modality") for token in tokens)
    return bool(words) and not marked and all(token.form in _SMALL_TALK for token in words)


def unknown_symbols(claim: str, source: str) -> set[str]:
    """Symbols of a claim that are not in the source: they can change its meaning (≠, →, circled letters).

    Those of a number (10⁶) are compared with its value.
    """
    words = _NUMBER.sub(" ", claim)
    symbols = {c for c in words if c not in _SYMBOLS and unicodedata.category(c) in ("So", "Sm", "No")}
    return symbols - set(source)


def unknown_literals(claim: str, source: str) -> set[str]:
    """Options and operators of a claim that are not in the source (-f, --force, !=): each character counts."""
    return set(_CODE_LITERAL.findall(claim)) - set(_CODE_LITERAL.findall(source))
