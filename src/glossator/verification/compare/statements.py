"""Divides a text into statements and marks negative ones, so that negation is compared with its scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.similarity import are_antonyms
from glossator.verification.reading.assertions import asserts, mentions
from glossator.verification.reading.lexicon import Lexicon, converses, lexicon_for
from glossator.verification.reading.tokens import COORDINATORS, Token

_SENTENCE_BREAK = re.compile(r"[.!?;\n。۔؟؛]")
_WITHOUT = frozenset(("without", "unless"))
_MAX_NEGATION_DISTANCE = 3
"""In words, from a conjunction to the negation that belongs to what it joins."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A range of tokens that is asserted or denied as a whole; `negative` is None if that cannot be told.

    An alternative ("not by post", "instead of the belt") shares the other words of the statement it belongs to.
    """

    start: int
    end: int
    negative: bool | None
    is_alternative: bool = False


def split_statements(tokens: Sequence[Token], text: str, language: str) -> list[Statement]:
    """The statements of a text, in order."""
    lexicon = lexicon_for(language)
    starts = sorted({i for n in range(len(tokens)) for i in _statement_starts(tokens, n, lexicon)})
    found: list[Statement] = []
    for start, end in pairwise([*starts, len(tokens)]):
        gap = text[tokens[start - 1].end : tokens[start].start] if start else "."
        main = None if _SENTENCE_BREAK.search(gap) else _main_statement(found)
        found.append(_make_statement(tokens, start, end, main, lexicon))
    return found


def is_negator(token: Token) -> bool:
    """Whether a word denies its statement."""
    return token.family == "negation" or token.kind in ("prohibition", "none")


def _statement_starts(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> Iterator[int]:
    """A token that begins a statement, and for an alternative the token after it."""
    if index == 0 or _begins_statement(tokens, index, lexicon):
        yield index
        if tokens[index].form in lexicon.cues["exclusion"] - lexicon.cues["condition"]:
            yield from _alternative_end(tokens, index, lexicon)


def _alternative_end(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> Iterator[int]:
    """Where an alternative ends within its clause: "(rather than bowed) in the opening bars"."""
    named = False
    for at in range(index + 1, len(tokens)):
        if tokens[at].clause != tokens[index].clause:
            return
        if named and tokens[at].form in lexicon.cues["preposition"] and tokens[at].form not in ("of", "de"):
            yield at
            return
        named = named or tokens[at].weight > 0


def _begins_statement(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    token = tokens[index]
    if token.clause != tokens[index - 1].clause or is_cue(token, lexicon):
        return True
    following = tokens[index + 1 : index + 1 + _MAX_NEGATION_DISTANCE]
    return token.form in COORDINATORS and any(map(is_negator, following))


def is_cue(token: Token, lexicon: Lexicon) -> bool:
    """Whether a word opens an exclusion, contrast or condition."""
    if token.form in lexicon.cues["exclusion"]:
        return token.form != "rather" or token.family == "negation"
    return token.form in lexicon.cues["contrast"] or token.form in lexicon.cues["condition"]


def _main_statement(found: Sequence[Statement]) -> Statement | None:
    return next((statement for statement in reversed(found) if not statement.is_alternative), None)


def _make_statement(
    tokens: Sequence[Token], start: int, end: int, main: Statement | None, lexicon: Lexicon
) -> Statement:
    opening = tokens[start]
    count = sum(map(is_negator, tokens[start:end]))
    if opening.form in lexicon.cues["exception"]:
        return Statement(start, end, None if main is None or main.negative is None else not main.negative, True)
    if opening.form in lexicon.cues["exclusion"] and is_cue(opening, lexicon):
        count += not is_negator(opening)
        return Statement(start, end, _is_odd(count), opening.form not in lexicon.cues["condition"])
    joined = opening.form in lexicon.cues["contrast"] or opening.form in COORDINATORS or is_negator(opening)
    if main is not None and joined and opening.form not in lexicon.cues["condition"]:
        return Statement(start, end, _is_odd(count), True)
    if main is not None and opening.form in lexicon.cues["preposition"] - lexicon.cues["condition"] and not count:
        return Statement(start, end, main.negative)
    unclear = main is not None and main.negative is not False and not count
    return Statement(start, end, None if unclear else _is_odd(count))


def _is_odd(count: int) -> bool | None:
    """Whether one negation denies a statement; two may cancel out or not."""
    return bool(count) if count < 2 else None


def check_polarity(alignment: Alignment) -> CheckResult:
    """Statements of the claim that deny what the source asserts, or assert what it denies."""
    source = alignment.window.tokens
    theirs = split_statements(source, alignment.source, alignment.language)
    mine = split_statements(alignment.claim, alignment.claim_source, alignment.language)
    found = [
        _difference(alignment, own, other)
        for own in ([] if _is_double_negation(alignment.claim, mine) else mine)
        if own.negative is not None
        and (other := _contradicting(alignment, own, theirs)) is not None
        and _opposite_between(alignment, own, other) is None
    ]
    return {"polarity": float(len(found))}, found


def denied_opposites(alignment: Alignment) -> dict[int, int]:
    """Words of the claim in place of an opposite in the source, where one of both is denied: "not open", "closed"."""
    theirs = split_statements(alignment.window.tokens, alignment.source, alignment.language)
    found = (
        _opposite_between(alignment, own, other)
        for own in split_statements(alignment.claim, alignment.claim_source, alignment.language)
        if own.negative is not None
        for other in [_contradicting(alignment, own, theirs)]
        if other is not None
    )
    return dict(pair for pair in found if pair)


def _opposite_between(alignment: Alignment, own: Statement, other: Statement) -> tuple[int, int] | None:
    """The indexes of the only two words of two statements that are opposites; "buy" does not deny "sell"."""
    claim, source = alignment.claim, alignment.window.tokens
    found = [
        (i, n)
        for i in range(own.start, own.end)
        if claim[i].weight and not alignment.matches(i) and claim[i].stem not in converses()
        for n in range(other.start, other.end)
        if are_antonyms(claim[i].stem, source[n].stem)
    ]
    return found[0] if len(found) == 1 else None


def _is_double_negation(tokens: Sequence[Token], statements: Sequence[Statement]) -> bool:
    """Whether one negation cancels another: "not … without"."""
    negative = [statement for statement in statements if statement.negative]
    return len(negative) > 1 and any(
        one.end == other.start and tokens[other.start].form in _WITHOUT and not one.is_alternative
        for one, other in pairwise(negative)
    )


def check_assertions(alignment: Alignment) -> CheckResult:
    """Events that the claim asserts, and the source has only as attempted, planned, former or hypothetical."""
    source = alignment.window.tokens
    only_mentioned = {m.event: m for m in mentions(source)} if alignment.language == "en" else {}
    found = []
    for index in range(len(alignment.claim)) if only_mentioned else ():
        places = alignment.matches(index) if alignment.claim[index].weight else []
        if not places or any(n not in only_mentioned for n in places):
            continue
        mention = only_mentioned[places[0]]
        if asserts(alignment.claim, index, mention.factuality, source[mention.event].form):
            found.append(Difference("modality", "", alignment.source_text(source[mention.cue])))
    found += _still_to_come(alignment) if alignment.language == "en" else ()
    return {"unasserted": float(len(found))}, found


def _still_to_come(alignment: Alignment) -> Iterator[Difference]:
    """Events that the claim expects, and the source reports: "is about to be replaced", "has just been replaced"."""
    claim, source = alignment.claim, alignment.window.tokens
    for mention in mentions(claim):
        places = alignment.matches(mention.event) if claim[mention.cue].form == "about" else []
        if places and all(asserts(source, n, mention.factuality, claim[mention.event].form) for n in places):
            yield Difference("modality", alignment.claim_text(claim[mention.cue]))


def _difference(alignment: Alignment, own: Statement, other: Statement) -> Difference:
    """The negation that only one of two statements has."""
    if own.negative:
        return Difference("negation", alignment.claim_text(_negation(alignment.claim, own)))
    return Difference("negation", "", alignment.source_text(_negation(alignment.window.tokens, other)))


def _negation(tokens: Sequence[Token], statement: Statement) -> Token:
    """The word that makes a statement negative: a negation, or the word that excludes it."""
    found = (token for token in tokens[statement.start : statement.end] if is_negator(token))
    return next(found, tokens[statement.start])


def _contradicting(alignment: Alignment, own: Statement, theirs: Sequence[Statement]) -> Statement | None:
    """A statement of the source with the opposite polarity, if every one that is repeated here has it."""
    places = matching_places(alignment, range(own.start, own.end))
    alternatives = [
        other
        for other in theirs
        if other.is_alternative and any(all(other.start <= n < other.end for n in at) for at in places.values())
    ]
    likely = alternatives or (_best_covered(places, theirs) if places else [])
    return likely[0] if likely and all(other.negative is (not own.negative) for other in likely) else None


def _best_covered(places: dict[int, list[int]], theirs: Sequence[Statement]) -> list[Statement]:
    """The statements that contain most words of the claim."""
    counts = [sum(any(other.start <= n < other.end for n in at) for at in places.values()) for other in theirs]
    return [other for other, count in zip(theirs, counts, strict=True) if count == max(counts)]


def matching_places(alignment: Alignment, indexes: Iterable[int]) -> dict[int, list[int]]:
    """For each of these words of the claim that is a content word and in the source, where it is there."""
    places = {}
    for index in indexes:
        token = alignment.claim[index]
        at = [n for n in alignment.matches(index) if alignment.window.tokens[n].weight] if token.weight else []
        if at:
            places[index] = at
    return places
