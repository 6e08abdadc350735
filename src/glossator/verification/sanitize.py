"""What of a draft may be shown: the words that were judged, in harmless layout, and nothing that hides among them."""

from __future__ import annotations

import re
import unicodedata

from glossator.verification.claims.citations import INVISIBLE, plain
from glossator.verification.claims.segments import Kind, Piece
from glossator.verification.reading.tokenizer import read

_UNSEEN = re.compile(f"[{INVISIBLE}\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_JOINERS = re.compile("(?<=[^\\W\\d_])[\u200c\u200d](?=[^\\W\\d_])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_LITERAL = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$\n]+\$", re.DOTALL)
_HIDES = re.compile(r"~~|<[A-Za-z/!?]|\]\s*[(\[:]|!\[|\[\^?\d|【|\w\*{1,3}\w[^*\n]*\*|&#?\w+;")
_RULE = re.compile(r"[\s>|:*_=-]*")
_LEAD = re.compile(r"\s*(?:>[ \t]?)*[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)?(?:\|[ \t]*)?")
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)")
_INFO = re.compile(r"[\w+#.-]{0,20}")
_SYMBOLS = frozenset("°|`~^+%©®™№·")
_CHAT = frozenset(
    """
    hello hi hey greetings welcome thanks thank great good nice excellent interesting question sure course happy glad
    help helps hope here following below steps step facts fact points point main key details detail answer explanation
    summary short brief list overview let know want ask more questions any anything else feel free need further like
    information hallo gerne frage danke schritte folgenden hola claro gracias pregunta pasos siguientes
    مرحبا شكرا الخطوات التالية سؤال سلام شکریہ سوال درج ذیل مراحل
    """.split()
)


def clean(text: str) -> str:
    """Without characters that nobody sees or that command a screen; those that join letters of a script may stay."""
    text = _CONTROL.sub(" ", text)
    joiners = {found.start() for found in _JOINERS.finditer(text)}
    return _UNSEEN.sub(lambda found: found[0] if found.start() in joiners else "", text)


def presentable(piece: Piece) -> str | None:
    """A piece as it may be shown: with its emphasis where that is harmless, else as plain words, else not at all."""
    if piece.kind is Kind.CODE:
        return _code(clean(piece.body))
    for candidate in (clean(piece.body), clean(piece.text)):
        if not _HIDES.search(_LITERAL.sub("", candidate)) and _read(candidate) == _read(clean(piece.text)):
            return candidate
    return None


def _read(text: str) -> str:
    """What a reader reads; the borders of a table's cells are no words."""
    return " ".join(plain(text.replace("|", " ")).split())


def _code(body: str) -> str:
    """A code block whose opening line holds a language at most."""
    body = body.strip("\n")
    opening = _FENCE.match(body.lstrip())
    if not opening:
        return body
    info = opening["info"].strip()
    first, _, rest = body.partition("\n")
    return f"{opening['fence']}{info if _INFO.fullmatch(info) else ''}\n{rest}" if rest else first


def layout_of(lead: str) -> str:
    """A lead that is layout and nothing more: white space, quote marks, one list mark, a border of a table."""
    return lead if _LEAD.fullmatch(lead) else re.sub(r"[^\s]", "", lead)


def is_layout(piece: Piece) -> bool:
    """Whether a piece that says nothing is a rule, the rule of a table, or white space."""
    return _RULE.fullmatch(piece.raw) is not None


def is_chat(text: str) -> bool:
    """Whether a sentence holds nothing but words of courtesy and announcement; it may be shown unjudged."""
    tokens = read(text).tokens
    words = [token for token in tokens if token.weight]
    marked = any(token.quantity or token.family in ("negation", "modality") for token in tokens)
    return bool(words) and not marked and all(token.form in _CHAT for token in words)


def strange_symbols(claim: str, source: str) -> set[str]:
    """Signs of a claim that the source does not have: they may say what no word says (≠, →, letters in circles)."""
    signs = {c for c in claim if c not in _SYMBOLS and unicodedata.category(c) in ("So", "Sm", "No")}
    return signs - set(source)
