"""Compares the order of events in English texts: "X before Y", "after X, Y", "not Y until X", "X, then Y"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.statements import is_negator
from glossator.verification.reading.fractions import ARTICLES
from glossator.verification.reading.tokens import COORDINATORS, Token

_ENDS = frozenset(("until", "till"))
_MAIN_FIRST, _MAIN_LAST = _ENDS | {"before"}, frozenset(("after", "once"))
"""Conjunctions after whose clause, or before whose clause, the event of the main clause is."""
_MARKS = _MAIN_FIRST | _MAIN_LAST | {"then"}
_NO_CLAUSE_AFTER_ONCE = frozenset("a an per every each in more again upon".split())
_NO_EVENT_BEFORE_THEN = frozenset("since by until till before from just back even".split())
_PRONOUNS = frozenset("that this which".split())
_CONDITIONS = frozenset("if unless when whenever where whether".split())
_DENYING = frozenset(
    """
    avoid avoids dangerous unsafe forbidden prohibited illegal wrong mistake error risky refuse refuses refused fail
    fails failed forget forgets forgot prevent prevents prevented instead rather without
    """.split()
)
"""Words by which an order of events may be one that is wrong, or never came."""
_SENTENCE_END = re.compile(r"[.!?;:\n]")


@dataclass(frozen=True, slots=True)
class EventOrder:
    """The places of the content words of two events, in order of time, and of the word that relates them.

    An event that goes on until another is no point in time: `is_end` tells that it is only known to end there.
    """

    mark: int
    earlier: tuple[int, ...]
    later: tuple[int, ...]
    is_end: bool = False


def reversed_orders(alignment: Alignment) -> Iterator[EventOrder]:
    """Orders of events of the claim that the source has only the other way round.

    All words of the events must be in those of the source: a lamp that is on before an event may be off after it.
    """
    theirs = list(_orders(alignment.window.tokens, alignment.source))
    for own in _orders(alignment.claim, alignment.claim_source) if theirs else ():
        is_reversed = any(_is_reversed(alignment, own, other) for other in theirs)
        if is_reversed and not _states(alignment, own, theirs):
            yield own


def restated_orders(alignment: Alignment) -> frozenset[int]:
    """The words of the claim that relate events in the order in which the source has them as well."""
    theirs = list(_orders(alignment.window.tokens, alignment.source))
    mine = _orders(alignment.claim, alignment.claim_source) if theirs else ()
    return frozenset(own.mark for own in mine if _states(alignment, own, theirs))


def _states(alignment: Alignment, own: EventOrder, theirs: Iterable[EventOrder]) -> bool:
    return any(
        all(straight > crossed for straight, crossed in _counts(alignment, own, other))
        for other in theirs
        if own.is_end is other.is_end
    )


def _is_reversed(alignment: Alignment, own: EventOrder, other: EventOrder) -> bool:
    """Whether both events of the claim are the opposite ones in the source; a thing may take part in both."""
    places = {*other.earlier, *other.later}
    if any(places.isdisjoint(alignment.matches(i)) for i in (*own.earlier, *own.later)):
        return False
    counts = _counts(alignment, own, other)
    is_crossed = all(crossed for _, crossed in counts) and own.is_end is other.is_end
    return is_crossed and sum(crossed - straight for straight, crossed in counts) > 0


def _counts(alignment: Alignment, own: EventOrder, other: EventOrder) -> list[tuple[int, int]]:
    """For either event of the claim, how many of its words are only in the same event of the source or in the other."""
    found = []
    for words, same, opposite in (
        (own.earlier, set(other.earlier), set(other.later)),
        (own.later, set(other.later), set(other.earlier)),
    ):
        places = [set(alignment.matches(i)) for i in words]
        found.append(
            (
                sum(not at.isdisjoint(same) and at.isdisjoint(opposite) for at in places),
                sum(not at.isdisjoint(opposite) and at.isdisjoint(same) for at in places),
            )
        )
    return found


def _orders(tokens: Sequence[Token], text: str) -> Iterator[EventOrder]:
    """The events of a text whose order it tells."""
    for start, end in _sentences(tokens, text):
        marks = [n for n in range(start, end) if tokens[n].form in _MARKS and not _is_alternative(tokens, n)]
        for mark in marks:
            following = next((n for n in marks if n > mark), end)
            if tokens[mark].form == "then":
                found = _order_by_then(tokens, start, mark, end)
            else:
                found = _order_by_conjunction(tokens, start, mark, following, end)
            if found is not None and found.earlier and found.later:
                yield found


def _sentences(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the sentences of a text; one that begins with "then" belongs to the one before."""
    start = 0
    for at in range(1, len(tokens) + 1):
        ends = at == len(tokens) or _SENTENCE_END.search(text[tokens[at - 1].end : tokens[at].start]) is not None
        if ends and not (at < len(tokens) and tokens[at].form == "then"):
            yield start, at
            start = at


def _is_alternative(tokens: Sequence[Token], mark: int) -> bool:
    """Whether a word is joined with one for another time: "before, during and after", "before or after"."""
    around = (tokens[max(0, mark - 2) : mark][::-1], tokens[mark + 1 : mark + 3])
    forms = [[token.form for token in near] for near in around if near]
    return any(near[0] == "during" or (near[0] in COORDINATORS and near[-1] in _MARKS | {"during"}) for near in forms)


def _order_by_then(tokens: Sequence[Token], start: int, mark: int, end: int) -> EventOrder | None:
    before = tokens[start:mark]
    if not before or before[-1].form in _NO_EVENT_BEFORE_THEN or any(t.form in _CONDITIONS | _DENYING for t in before):
        return None
    if any(map(is_negator, tokens[start:end])):
        return None
    return EventOrder(mark, _content(tokens, start, mark), _content(tokens, mark + 1, end))


def _order_by_conjunction(
    tokens: Sequence[Token], start: int, mark: int, following: int, end: int
) -> EventOrder | None:
    """The order that "before", "until", "after" or "once" tells; None if it may be denied or is not told."""
    form = tokens[mark].form
    if not _names_event(tokens, mark, end):
        return None
    clause_end = next((n for n in range(mark, following) if tokens[n].clause != tokens[mark].clause), following)
    sub = range(mark + 1, clause_end)
    main = range(clause_end, end) if _opens_sentence(tokens, start, mark) else range(start, mark)
    if form == "once" and main.start == start and not _has_subject(tokens, mark):
        return None
    count = sum(is_negator(tokens[n]) for n in main)
    if any(is_negator(tokens[n]) for n in sub) or any(tokens[n].form in _DENYING for n in (*main, *sub)):
        return None
    is_period = any(token.quantity for token in tokens[max(start, mark - 2) : mark])
    if count > (form in _MAIN_FIRST and not is_period):
        return None
    one, other = (_content(tokens, part.start, part.stop) for part in (main, sub))
    if (form in _MAIN_FIRST) is not bool(count):
        return EventOrder(mark, one, other, form in _ENDS)
    return EventOrder(mark, other, one)


def _names_event(tokens: Sequence[Token], mark: int, end: int) -> bool:
    """Whether an event follows, not a date, a frequency ("once a day") or only a pronoun for it ("after that")."""
    following = next((token for token in tokens[mark + 1 : end] if token.form not in ARTICLES), None)
    if following is None or following.quantity or following.form in _PRONOUNS:
        return False
    return tokens[mark].form != "once" or tokens[mark + 1].form not in _NO_CLAUSE_AFTER_ONCE


def _opens_sentence(tokens: Sequence[Token], start: int, mark: int) -> bool:
    """Whether nothing but a time or an adverb is before a word: "two days after", "shortly before"."""
    return all(
        not token.weight or token.quantity or token.form.endswith("ly") or token.form in COORDINATORS
        for token in tokens[start:mark]
    )


def _has_subject(tokens: Sequence[Token], mark: int) -> bool:
    """Whether a clause follows "once", and not the rest of "once used"."""
    return mark + 1 < len(tokens) and not tokens[mark + 1].weight


def _content(tokens: Sequence[Token], start: int, end: int) -> tuple[int, ...]:
    return tuple(n for n in range(start, end) if tokens[n].weight and not tokens[n].quantity)
