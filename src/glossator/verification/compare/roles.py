"""Compares who does what to whom, also between the active and the passive voice, and what causes what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.sequence import restated_orders, reversed_orders
from glossator.verification.compare.statements import is_cue, split_statements
from glossator.verification.reading.comparisons import comparisons
from glossator.verification.reading.converses import exchanged_comparisons
from glossator.verification.reading.lexicon import Lexicon, lexicon_for
from glossator.verification.reading.stems import irregular_verbs
from glossator.verification.reading.tokens import COORDINATORS, Token, Tokens

_PARTICIPLES = {
    "en": ("ed", "en"),
    "es": ("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas", "to", "ta", "tos", "tas", "cho", "cha"),
}
_DETERMINERS = frozenset(
    "the a an its this that these those his her their our your el la los las un una su sus".split()
)
_MAX_AUXILIARY_DISTANCE = 3
_MIN_CROSSED = 2
"""Words on the wrong side; one may be there by chance."""


@dataclass(frozen=True, slots=True)
class Event:
    """A verb with its agent and what it acts on; `negative` is None if that cannot be told."""

    verb: Token
    agent: Tokens
    patient: Tokens
    negative: bool | None
    passive: bool
    rivals: Tokens = ()
    """The agent of a joined passive: "designed by Ada and built by Bo"."""


def check_roles(alignment: Alignment) -> CheckResult:
    """Events of the claim that the source has only with the roles exchanged or with the opposite polarity."""
    lexicon = lexicon_for(alignment.language)
    if not lexicon.cues["auxiliary"]:
        return {"roles": 0.0, "revoiced": 0.0}, []
    source, claim = alignment.window.tokens, alignment.claim
    mine, theirs = (
        list(_events(claim, alignment.claim_source, alignment.language, {t.stem for t in source})),
        list(_events(source, alignment.source, alignment.language, {t.stem for t in claim})),
    )
    found, revoiced = [], 0
    for own in mine:
        others = [other for other in theirs if other.verb.stem == own.verb.stem and (own.passive or other.passive)]
        agreeing = [other for other in others if not _disagree(own, other)]
        revoiced += len(agreeing) == len(others) and any(_is_revoiced(own, other) for other in agreeing)
        if len(agreeing) < len(others) and not any(_agree(own, other) for other in agreeing):
            words = ((*role, own.verb)[0] for role in (own.patient, own.agent))
            found.append(Difference("exchange", *map(alignment.claim_text, words)))
    return {"roles": float(len(found)), "revoiced": float(revoiced)}, found


def _disagree(own: Event, other: Event) -> bool:
    if own.negative is not None and other.negative is not None and own.negative is not other.negative:
        return True
    if _stems(own.agent).isdisjoint(_stems(other.agent)) and not _stems(own.agent).isdisjoint(_stems(other.rivals)):
        return not _stems(own.patient).isdisjoint(_stems(other.patient))
    return _crosses(own.agent, other.agent, other.patient) or _crosses(own.patient, other.patient, other.agent)


def _agree(own: Event, other: Event) -> bool:
    """Whether the roles that a claim fills are filled by the same: "Noor taught the club" is about another patient."""
    roles = ((own.agent, other.agent), (own.patient, other.patient))
    return all(not mine or not _stems(mine).isdisjoint(_stems(theirs)) for mine, theirs in roles)


def _is_revoiced(own: Event, other: Event) -> bool:
    """Whether a claim says in the passive what its source says in the active voice, or the other way round."""
    return own.passive is not other.passive and bool(own.agent and own.patient) and _agree(own, other)


def _crosses(own: Tokens, same: Tokens, opposite: Tokens) -> bool:
    """Whether a role is filled by words that fill the opposite role in the source."""
    return _stems(own).isdisjoint(_stems(same)) and not _stems(own).isdisjoint(_stems(opposite))


def _events(tokens: Sequence[Token], text: str, language: str, known: set[str]) -> Iterator[Event]:
    """The verbs that another text has as well, with their roles."""
    lexicon = lexicon_for(language)
    statements = split_statements(tokens, text, language)
    mixed = any(statement.is_alternative for statement in statements)
    for statement in statements:
        negative = None if mixed else statement.negative
        opening = is_cue(tokens[statement.start], lexicon)
        place = range(statement.start + opening, statement.end)
        joined = _joined_passives(tokens, place, lexicon, language)
        for at in place:
            token = tokens[at]
            if not token.weight or token.stem not in known:
                continue
            if at in joined:
                agent, patient, rivals = joined[at]
                yield Event(token, agent, patient, negative, True, rivals)
                continue
            auxiliary = _auxiliary_before(tokens, at, place.start, lexicon, language)
            before = _content(tokens[place.start : at if auxiliary is None else auxiliary])
            if auxiliary is None:
                yield Event(token, before, _object(tokens, at + 1, place.stop, lexicon), negative, False)
            else:
                agent = _agent(tokens, at + 1, place.stop, lexicon)
                yield Event(token, agent, before, negative, True)


def _joined_passives(
    tokens: Sequence[Token], place: range, lexicon: Lexicon, language: str
) -> dict[int, tuple[Tokens, Tokens, Tokens]]:
    """The two verbs of "it was designed by Ada and built by Bo" with agent, patient and the agent of the other."""
    agents = [n for n in place if tokens[n].form in lexicon.cues["agent"] and n - 1 in place]
    if len(agents) != 2 or agents[1] - 2 <= agents[0] or tokens[agents[1] - 2].form not in COORDINATORS:
        return {}
    first, second = (n - 1 for n in agents)
    auxiliary = _auxiliary_before(tokens, first, place.start, lexicon, language)
    if auxiliary is None or not _is_participle(tokens[second], language):
        return {}
    patient = _content(tokens[place.start : auxiliary])
    ends = zip(agents, (second - 1, place.stop), strict=True)
    one, other = (_object(tokens, by + 1, end, lexicon) for by, end in ends)
    return {first: (one, patient, other), second: (other, patient, one)} if one and other else {}


def _is_participle(token: Token, language: str) -> bool:
    return token.form.endswith(_PARTICIPLES[language]) or token.form in irregular_verbs()


def _auxiliary_before(tokens: Sequence[Token], at: int, start: int, lexicon: Lexicon, language: str) -> int | None:
    """The auxiliary that makes a participle passive, if any."""
    if not _is_participle(tokens[at], language):
        return None
    for index in range(at - 1, max(start, at - 1 - _MAX_AUXILIARY_DISTANCE) - 1, -1):
        if tokens[index].form in lexicon.cues["auxiliary"]:
            return index
        between = tokens[index].form
        if between in _DETERMINERS or (tokens[index].weight and not between.endswith(("ly", "mente"))):
            return None
    return None


def _agent(tokens: Sequence[Token], start: int, end: int, lexicon: Lexicon) -> Tokens:
    by = next((n for n in range(start, end) if tokens[n].form in lexicon.cues["agent"]), None)
    return () if by is None else _object(tokens, by + 1, end, lexicon)


def _object(tokens: Sequence[Token], start: int, end: int, lexicon: Lexicon) -> Tokens:
    """The words up to the next preposition."""
    stop = next((n for n in range(start, end) if tokens[n].form in _ends_object(lexicon)), end)
    return _content(tokens[start:stop])


def _ends_object(lexicon: Lexicon) -> frozenset[str]:
    return lexicon.cues["preposition"] | lexicon.cues["agent"]


def _content(tokens: Sequence[Token]) -> Tokens:
    return tuple(token for token in tokens if token.weight and not token.quantity)


def _stems(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.stem for token in tokens)


def check_causes(alignment: Alignment) -> CheckResult:
    """Whether a cause or condition and its consequence were exchanged."""
    lexicon = lexicon_for(alignment.language)
    mine, theirs = _sides(alignment.claim, lexicon), _sides(alignment.window.tokens, lexicon)
    if mine is None or theirs is None:
        return {"causes": 0.0}, []
    straight = len(_stems(mine[0]) & _stems(theirs[0])) + len(_stems(mine[1]) & _stems(theirs[1]))
    crossed = len(_stems(mine[0]) & _stems(theirs[1])) + len(_stems(mine[1]) & _stems(theirs[0]))
    if crossed <= straight or crossed < _MIN_CROSSED:
        return {"causes": 0.0}, []
    return {"causes": 1.0}, [Difference("exchange", *(alignment.claim_text(side[-1]) for side in mine))]


def _sides(tokens: Sequence[Token], lexicon: Lexicon) -> tuple[Tokens, Tokens] | None:
    """The words of the consequence and of its cause or condition, if there is just one."""
    marks = [n for n, token in enumerate(tokens) if token.form in lexicon.cues["condition"]]
    if len(marks) != 1:
        return None
    start = marks[0]
    end = next((n for n in range(start, len(tokens)) if tokens[n].clause != tokens[start].clause), len(tokens))
    sides = _content([*tokens[:start], *tokens[end:]]), _content(tokens[start:end])
    return sides if all(sides) else None


def check_relations(alignment: Alignment) -> CheckResult:
    """Relations in time, place or degree ("before", "than") that the source does not state."""
    if alignment.language != "en":
        return {"relation": 0.0}, []
    theirs = {token.form for token in alignment.window.tokens} | {token.kind for token in alignment.window.tokens}
    restated = restated_orders(alignment)
    found = [
        Difference("absent", alignment.claim_text(token))
        for index, token in enumerate(alignment.claim)
        if token.form in _RELATIONS and theirs.isdisjoint(_RELATIONS[token.form])
        if index not in restated and not _is_in_marker(alignment.claim, index)
    ]
    return {"relation": float(len(found))}, found


def _is_in_marker(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word belongs to a marker that compares nothing: "rather than", "no longer than"."""
    if tokens[index].family != "part":
        return False
    head = next(token for token in reversed(tokens[:index]) if token.family != "part")
    return head.family == "negation" or head.kind in ("at_most", "at_least")


def check_changed_relations(alignment: Alignment) -> CheckResult:
    """Degrees, conditions and times of the source that the claim changes: "as wide as", "only if", "until"."""
    found = []
    if alignment.language == "en":
        found = [*_changed_degrees(alignment), *_added_conditions(alignment), *_changed_times(alignment)]
        found += [*_dropped_exceptions(alignment), *_added_exceptions(alignment), *_exchanged_comparisons(alignment)]
        found += _reversed_orders(alignment)
    return {"changed_relation": float(len(found))}, found


def _changed_degrees(alignment: Alignment) -> Iterator[Difference]:
    """Comparisons of the same quality in another degree: "as fast as", "faster than"."""
    theirs = list(comparisons(alignment.window.tokens))
    for own in comparisons(alignment.claim):
        same = [other for other in theirs if own.qualities & other.qualities]
        if same and all(map(own.excludes, same)):
            tokens = alignment.claim[own.at], alignment.window.tokens[same[0].at]
            yield Difference("quantifier", alignment.claim_text(tokens[0]), alignment.source_text(tokens[1]))


def _exchanged_comparisons(alignment: Alignment) -> Iterator[Difference]:
    """Comparisons of the same things the other way round: "A is taller than B", "B is taller than A"."""
    claim = alignment.claim
    for index in exchanged_comparisons(claim, alignment.window.tokens):
        sides = _content(claim[:index])[-1], _content(claim[index + 1 :])[0]
        yield Difference("exchange", *map(alignment.claim_text, sides))


def _reversed_orders(alignment: Alignment) -> Iterator[Difference]:
    """Events in the opposite order: "Open it before cleaning it", "Before you open it, clean it"."""
    for own in reversed_orders(alignment):
        events = alignment.claim[own.earlier[0]], alignment.claim[own.later[0]]
        yield Difference("exchange", *map(alignment.claim_text, events))


def _added_conditions(alignment: Alignment) -> Iterator[Difference]:
    """Conditions that only the claim makes necessary: "only if" for "if" or "even if"."""
    source = alignment.window.tokens
    is_exclusive = any(token.kind in ("only", "none") or token.family == "negation" for token in source)
    for only, following in pairwise(alignment.claim):
        given = any(token.form == following.form for token in source)
        if only.kind == "only" and following.form in ("if", "when", "after") and given and not is_exclusive:
            yield Difference("quantifier", alignment.claim_text(only))


def _changed_times(alignment: Alignment) -> Iterator[Difference]:
    """Ends that become beginnings, and beginnings that become ends: "until Monday", "from Monday"."""
    source = alignment.window.tokens
    for index, token in enumerate(alignment.claim):
        is_time = token.is_name or token.quantity or token.form in _TIMES
        there = alignment.source_index(index) if is_time else None
        own, other = _time_before(alignment.claim, index), None if there is None else _time_before(source, there)
        if own and other and (own.form in _ENDS) != (other.form in _ENDS):
            yield Difference("opposite", alignment.claim_text(own), alignment.source_text(other))


def _time_before(tokens: Sequence[Token], index: int) -> Token | None:
    """The word for a time before a word and its article."""
    before = tokens[max(0, index - 2) : index]
    near = before[-1:] if before and before[-1].form not in _DETERMINERS else before[:1]
    return next((token for token in near if token.form in _ENDS | _BEGINNINGS), None)


def _dropped_exceptions(alignment: Alignment) -> Iterator[Difference]:
    """Exceptions without which the claim says more than the source: "all towns" for "all but three towns"."""
    exceptions = [
        other for one, other in pairwise(alignment.window.tokens) if one.kind == "all" and other.form == "but"
    ]
    is_limited = any(token.form in _LIMITING or token.family == "negation" for token in alignment.claim)
    if exceptions and not is_limited and any(token.kind == "all" for token in alignment.claim):
        yield Difference("quantifier", "", alignment.source_text(exceptions[0]))


def _added_exceptions(alignment: Alignment) -> Iterator[Difference]:
    """Exceptions of a claim whose source knows none: "never, unless …" for "never"."""
    is_limited = any(token.form in _EXCEPTING or token.kind == "only" for token in alignment.window.tokens)
    for token in alignment.claim:
        if token.form == "unless" and not is_limited:
            yield Difference("quantifier", alignment.claim_text(token))


_EXCEPTING = frozenset("unless except excepting without if but until when otherwise".split())
_ENDS, _BEGINNINGS = frozenset(("until", "till")), frozenset(("from", "since", "after"))
_TIMES = frozenset("noon midnight dawn dusk morning evening night today tomorrow yesterday now then".split())
_LIMITING = frozenset("but except excepting besides".split())
_RELATIONS = {
    "before": frozenset("before prior earlier until first".split()),
    "after": frozenset("after once following since later when then".split()),
    "until": frozenset("until till before".split()),
    "than": frozenset("than exceed exceeds exceeded within more_than less_than at_most at_least".split()),
    "because": frozenset("because since so therefore due cause causes caused".split()),
    "unless": frozenset("unless except".split()),
    **{word: frozenset((word,)) for word in ("against", "outside", "behind")},
}
"""Words that relate two things, and the words or markers of a source that may say the same."""
