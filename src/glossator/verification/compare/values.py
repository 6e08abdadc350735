"""Checks that values stay with what they are values of: "x is 0 and y is 1" does not say that x is 1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.similarity import MIN_SIMILARITY, similarity
from glossator.verification.reading.lexicon import Lexicon, lexicon_for
from glossator.verification.reading.tokens import CONJUNCTIONS, Token, Tokens

_SENTENCE_BREAK = re.compile(r"[.!?\n。۔؟]")
_TRUTH_VALUES = frozenset("true false null wahr falsch verdadero falso".split())

_MAX_GROUPS, _MAX_WORDS = 30, 60
"""A sentence with more values, or with more words to one of them, is not compared: it would take long."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A part of a sentence with values: its content words, the places of the values among them, and its sentence."""

    words: Tokens
    values: tuple[int, ...]
    sentence: int


def check_values(alignment: Alignment) -> CheckResult:
    """Values that the source gives to something else, in a sentence that gives several."""
    lexicon = lexicon_for(alignment.language)
    theirs = _groups(alignment.window.tokens, alignment.source, lexicon)
    mine = _groups(alignment.claim, alignment.claim_source, lexicon) if len(theirs) > 1 else []
    if max(len(theirs), len(mine)) > _MAX_GROUPS or any(len(group.words) > _MAX_WORDS for group in (*mine, *theirs)):
        mine = []
    found = [
        Difference("number", alignment.claim_text(group.words[at]), alignment.source_text(rival))
        for group in mine
        for at in group.values
        if (rival := _other_value(group, at, theirs)) is not None
    ]
    return {"values": float(len(found))}, found


def _other_value(group: _Group, at: int, theirs: Sequence[_Group]) -> Token | None:
    """The value that the source gives to the words of the claim, if it gives this one only to others."""
    value, others = group.words[at], group.words[:at] + group.words[at + 1 :]
    found = None
    for owner in theirs:
        if not any(_same(value, owner.words[n]) for n in owner.values):
            continue
        rival = next(_rival_values(value, others, owner, theirs), None)
        if rival is None and _share(others, owner.words):
            return None
        found = found or rival
    return found


def _rival_values(value: Token, others: Tokens, owner: _Group, theirs: Sequence[_Group]) -> Iterator[Token]:
    """Values of other parts of the sentence, to which the words of the claim belong."""
    for rival in theirs:
        if rival.sentence != owner.sentence or len(rival.values) != len(owner.values):
            continue
        for own, its in zip(owner.values, rival.values, strict=True):
            given, instead = owner.words[own], rival.words[its]
            is_both = _share((value,), rival.words) or _share((instead,), others)
            if not _same(value, given) or is_both or not _are_comparable(given, instead):
                continue
            if all(_belongs_to_rival(others, *keys) for keys in _keys(owner, own, rival, its)):
                yield instead


def _belongs_to_rival(words: Tokens, owned: Tokens, rival: Tokens) -> bool:
    return _share(words, rival) and not _share(words, owned)


def _keys(owner: _Group, own: int, rival: _Group, its: int) -> Iterator[tuple[Tokens, Tokens]]:
    """The words that tell two values apart, by either way to read a list.

    Words of only one may belong to both: "set" in "set x to 0 and y to 1", "pay" in "adults pay 9 and children 5".
    """
    before = owner.words[:own][::-1], rival.words[:its][::-1]
    after = owner.words[own + 1 :], rival.words[its + 1 :]
    sides = [(one, other, min(len(one), len(other))) for one, other in (before, after)]
    nearest = [(one[:n], other[:n]) for one, other, n in sides]
    farthest = [(one[len(one) - n :], other[len(other) - n :]) for one, other, n in sides]
    for parts in (nearest, farthest):
        mine, theirs = (sum((part[side] for part in parts), ()) for side in (0, 1))
        yield _without(mine, rival.words), _without(theirs, owner.words)


def _without(words: Tokens, others: Tokens) -> Tokens:
    return tuple(word for word in words if not _share((word,), others))


def _share(words: Tokens, others: Tokens) -> bool:
    return any(_same(word, other) for word in words for other in others)


def _same(one: Token, other: Token) -> bool:
    return similarity(one, other) >= MIN_SIMILARITY


def _are_comparable(one: Token, other: Token) -> bool:
    """Whether two values could be exchanged: both are truth values, or quantities of one dimension."""
    if one.quantity is None or other.quantity is None:
        return one.quantity is other.quantity
    units = one.quantity.unit, other.quantity.unit
    return None in units or len({unit.dimension for unit in units if unit}) == 1


def _groups(tokens: Sequence[Token], text: str, lexicon: Lexicon) -> list[_Group]:
    """The parts of a text with values; a part without one belongs to the next of its sentence, or else to the last."""
    found: list[_Group] = []
    for sentence, parts in groupby(_parts(tokens, text), key=lambda part: part[0]):
        pending: Tokens = ()
        for _, part in parts:
            pending += tuple(token for token in part if token.weight)
            if values := tuple(n for n, token in enumerate(pending) if _is_value(token, lexicon)):
                found.append(_Group(pending, values, sentence))
                pending = ()
        if found and found[-1].sentence == sentence:
            found[-1] = replace(found[-1], words=found[-1].words + pending)
    return found


def _parts(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, Sequence[Token]]]:
    """Clauses, divided again at conjunctions, with the number of their sentence."""
    start = sentence = 0
    for at in range(1, len(tokens) + 1):
        token, last = tokens[at] if at < len(tokens) else None, tokens[at - 1]
        inside = token is not None and token.clause == last.clause and token.form not in CONJUNCTIONS
        if inside or (token is not None and token.family == "unit"):
            continue
        yield sentence, tokens[start:at]
        start = at
        sentence += token is not None and _SENTENCE_BREAK.search(text, last.end, token.start) is not None


def _is_value(token: Token, lexicon: Lexicon) -> bool:
    if token.quantity:
        return token.weight >= 1 and token.form not in lexicon.ordinals  # "one" may be a pronoun
    return token.form in _TRUTH_VALUES
