"""Finds changed words: numbers, units, negation, modality, quantifiers, antonyms and replaced words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from glossator.verification.compare.alignment import AlignedPair, Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.similarity import are_incompatible
from glossator.verification.compare.statements import denied_opposites, split_statements
from glossator.verification.reading.fractions import ARTICLES
from glossator.verification.reading.lexicon import units
from glossator.verification.reading.numbers import Quantity
from glossator.verification.reading.tokens import Token

_PROHIBITION = "prohibition"
_MIN_CLAUSE_SHARE = 0.6
"""Share of a clause that must be in the claim for a missing marker to count as dropped."""

_MAX_DISTANCE = 4
"""In words, between a marker and what it applies to."""

_NEGATION_FIRST = frozenset({"ar"})
"""Languages in which a negation comes right before what it negates."""
_TO_BE = frozenset("یکن تکن یکون تکون کان کانت یکونوا".split())

_MAX_CLAUSE_DISTANCE = 8
"""In words, on either side of a marker within its clause."""

_NOT_QUITE = frozenset(("almost", "nearly"))
_PARTICLES = {"on": "off", "off": "on", "up": "down", "down": "up", "in": "out", "out": "in"}
_PARTICLE_VERBS = frozenset("turn switch power shut log sign check opt zoom fad scroll swip slid plug".split())
"""Stems of verbs that a particle turns into their opposite, also away from it: "turn the lamp off"."""


def check_numbers(alignment: Alignment) -> CheckResult:
    """Numbers and units that differ from the source or are not in it."""
    found = list(_unit_alone(alignment))
    conflict, unit, absent, swapped = len(found), 0, 0, 0
    for i, token in enumerate(alignment.claim):
        if token.quantity is None or alignment.is_matched(i):
            continue
        pair = alignment.by_claim[i] if i in alignment.by_claim else AlignedPair(i, None, 0.0)
        partner = alignment.source_token(pair) if pair.source is not None else None
        weak = token.quantity.values == (1.0,) and not (partner and partner.quantity)
        if alignment.elsewhere.get(i) is not None:
            swapped += (
                partner is not None and partner.quantity is not None and alignment.is_source_unmatched(pair.source or 0)
            )
            continue
        same = next((o for o in alignment.window.tokens if o.quantity and o.quantity.same_number(token.quantity)), None)
        if same is not None and same.quantity and same.quantity.unit and token.quantity.unit:
            unit += 1
            found.append(Difference("unit", alignment.claim_text(token), alignment.source_text(same)))
        elif partner is not None and partner.quantity:
            conflict += 1
            found.append(Difference("number", alignment.claim_text(token), alignment.source_text(partner)))
        elif not weak:
            absent += 1
            found.append(Difference("number", alignment.claim_text(token)))
    counts = {"number": conflict, "unit": unit, "number_absent": absent, "number_swapped": swapped}
    converted = sum(_is_converted(alignment, i) for i in range(len(alignment.claim)))
    return {name: float(value) for name, value in counts.items()} | {"converted": float(converted)}, found


def _is_converted(alignment: Alignment, index: int) -> bool:
    """Whether a quantity has the value of one in the source, but other units: 90 seconds, a minute and a half."""
    own, there = alignment.claim[index].quantity, alignment.source_index(index)
    other = None if there is None else alignment.window.tokens[there].quantity
    if own is None or other is None or own.unit is None or other.unit is None:
        return False
    return own.unit != other.unit


def _unit_alone(alignment: Alignment) -> Iterator[Difference]:
    """Units with an article where the source has another number of them: "takes an hour", "takes half an hour"."""
    source = alignment.window.tokens
    for i in range(2, len(alignment.claim)):
        token, unit = alignment.claim[i], units().get(alignment.claim[i].form)
        before = alignment.source_index(i - 2)
        if token.family or unit is None or alignment.claim[i - 1].form not in ARTICLES or before is None:
            continue
        following = next((n for n in range(before + 1, len(source)) if source[n].weight), before)
        quantity = source[following].quantity
        if quantity and quantity.unit == unit and not quantity.equals(Quantity((1.0,), unit)):
            yield Difference("number", alignment.claim_text(token), alignment.source_text(source[following]))


def check_markers(alignment: Alignment) -> CheckResult:
    """Negation, modality and quantifiers that were added, dropped or changed.

    A negation may be left out together with the alternative that it excludes; `check_polarity` sees if it was not.
    """
    excluded = _alternative_indexes(alignment)
    features: dict[str, float] = {}
    found: list[Difference] = []
    for family in ("negation", "modality", "quantifier"):
        changed = [
            (alignment.claim[p.claim], alignment.source_token(p))
            for p in alignment.pairs
            if p.claim is not None
            and p.source is not None
            and _conflict(alignment.claim[p.claim], alignment.source_token(p), family)
            and p.claim not in alignment.inverted
        ]
        counterparts = {
            i: alignment.inverted.get(i, _find_counterpart(alignment, i))
            for i, t in enumerate(alignment.claim)
            if t.family == family
        }
        used = set(counterparts.values())
        missing = {
            n: t
            for n, t in enumerate(alignment.window.tokens)
            if t.family == family and n not in used and alignment.is_source_unmatched(n) and _was_dropped(alignment, n)
            if family != "negation" or n not in excluded
        }
        new = [i for i, index in counterparts.items() if index is None]
        if family == "negation" and denied_opposites(alignment):  # the opposite stands for the negation
            new, missing = new[1:], missing if new else dict(list(missing.items())[1:])
        replaced = _replaced_quantifiers(alignment, new, missing)
        changed += [(alignment.claim[i], missing[n]) for i, n in replaced.items()]
        added = [alignment.claim[i] for i in new if i not in replaced]
        dropped = [token for n, token in missing.items() if n not in replaced.values()]
        features |= {
            f"{family}_changed": float(len(changed) + sum(_is_not_quite(alignment, token) for token in dropped)),
            f"{family}_added": float(len(added)),
            f"{family}_dropped": float(len(dropped)),
        }
        if family == "modality":  # a prohibition ("must never") includes a negation
            features["negation_added"] += sum(token.kind == _PROHIBITION for token in added)
            features["negation_dropped"] += sum(token.kind == _PROHIBITION for token in dropped)
        found += [Difference(family, alignment.claim_text(one), alignment.source_text(other)) for one, other in changed]
        found += [Difference(family, alignment.claim_text(t)) for t in added] + [
            Difference(family, "", alignment.source_text(t)) for t in dropped
        ]
    return features, found


def _is_not_quite(alignment: Alignment, token: Token) -> bool:
    """Whether a marker of the source says that something is not so ("almost failed"); before a number, it rounds."""
    tokens = alignment.window.tokens
    following = next((t for t in tokens[tokens.index(token) + 1 :] if t.weight or t.quantity), None)
    return token.form in _NOT_QUITE and following is not None and following.quantity is None


def _replaced_quantifiers(alignment: Alignment, new: Sequence[int], missing: Mapping[int, Token]) -> dict[int, int]:
    """Quantifiers before words that have another one in the source, though no pair aligns them: "all", "almost all"."""
    found: dict[int, int] = {}
    for i in new:
        after = next((n for n in range(i + 1, len(alignment.claim)) if alignment.claim[n].weight), None)
        there = None if after is None else alignment.source_index(after)
        token = alignment.claim[i]
        others = [n for n in missing if _conflict(token, missing[n], "quantifier") and n not in found.values()]
        near = [n for n in others if there is not None and 0 < there - n <= _MAX_DISTANCE]
        if near:
            found[i] = near[-1]
    return found


def _alternative_indexes(alignment: Alignment) -> set[int]:
    """The tokens of the source that belong to an excluded or contrasted alternative."""
    statements = split_statements(alignment.window.tokens, alignment.source, alignment.language)
    return {n for statement in statements if statement.is_alternative for n in range(statement.start, statement.end)}


def _conflict(one: Token, other: Token, family: str) -> bool:
    return one.family == other.family == family and one.kind != other.kind


def _find_counterpart(alignment: Alignment, index: int) -> int | None:
    """The source index of the same marker: aligned with it, or unmatched and near the same words."""
    pair, token = alignment.by_claim.get(index), alignment.claim[index]
    if token.family == "negation" and alignment.language in _NEGATION_FIRST:
        agreeing = (
            n
            for n, t in enumerate(alignment.window.tokens)
            if t.family == "negation" and _negate_the_same(alignment, index, n)
        )
        negated = _negated_indexes(alignment.claim, index)
        if (found := next(agreeing, None)) is not None or (negated and alignment.source_index(negated[0]) is not None):
            return found
    if pair is not None and pair.source is not None and alignment.source_token(pair).family == token.family:
        return pair.source
    near = _neighbour_indexes(alignment, index)
    if token.family == "negation":  # "unless it is renewed", "if it is not renewed", "without renewal"
        unless = (n for n, other in enumerate(alignment.window.tokens) if other.form == "unless")
        found = next((n for n in unless if any(0 < at - n <= _MAX_CLAUSE_DISTANCE for at in near)), None)
        if found is not None:
            return found
    likely = (
        n
        for n, other in enumerate(alignment.window.tokens)
        if other.family == token.family and other.kind == token.kind and alignment.is_source_unmatched(n)
    )
    if alignment.language not in _NEGATION_FIRST:
        return next((n for n in likely if any(abs(n - at) <= _MAX_DISTANCE for at in near)), None)
    tokens = alignment.window.tokens
    if token.family != "negation":  # "is forbidden" may come before or after all that it forbids
        return next((n for n in likely if any(tokens[n].clause == tokens[at].clause for at in near)), None)
    close = ((n, at) for n in likely for at in near if abs(n - at) <= _MAX_DISTANCE)
    return next((n for n, at in close if tokens[n].clause == tokens[at].clause), None)


def _negate_the_same(alignment: Alignment, index: int, there: int) -> bool:
    """Whether two negations negate the same: the next word, or with "to be" any later word of the clause."""
    mine, theirs = _negated_indexes(alignment.claim, index), _negated_indexes(alignment.window.tokens, there)
    indexes = [alignment.source_index(n) for n in mine]
    return (bool(mine) and indexes[0] in theirs) or (bool(theirs) and theirs[0] in indexes)


def _negated_indexes(tokens: Sequence[Token], index: int) -> list[int]:
    """The content words that a negation applies to."""
    following = tokens[index + 1].form if index + 1 < len(tokens) else ""
    spans = tokens[index].form.startswith("لیس") or following in _TO_BE
    ahead = range(index + 1, min(len(tokens), index + 1 + _MAX_CLAUSE_DISTANCE))
    found = [n for n in ahead if tokens[n].weight and tokens[n].clause == tokens[index].clause]
    return found if spans else found[:1]


def _neighbour_indexes(alignment: Alignment, index: int) -> list[int]:
    """The source indexes of the nearest content words on either side of a token of the claim."""
    found = []
    for step in (1, -1):
        at = index + step
        while 0 <= at < len(alignment.claim) and abs(at - index) <= _MAX_DISTANCE + 1:
            there = alignment.source_index(at)
            if alignment.claim[at].weight and there is not None:
                found.append(there)
                break
            at += step
    return found


def _was_dropped(alignment: Alignment, index: int) -> bool:
    """Whether a marker of the source is missing alone: most words around it in its clause are in the claim."""
    tokens = alignment.window.tokens
    near = [
        n
        for n in range(max(0, index - _MAX_CLAUSE_DISTANCE), min(len(tokens), index + _MAX_CLAUSE_DISTANCE + 1))
        if tokens[n].weight and tokens[n].clause == tokens[index].clause
    ]
    kept = [n for n in near if not alignment.is_source_unmatched(n) or _is_contradicted(alignment, n)]
    return bool(near) and len(kept) >= _MIN_CLAUSE_SHARE * len(near)


def _is_contradicted(alignment: Alignment, index: int) -> bool:
    pair = alignment.by_source.get(index)
    return (
        pair is not None
        and pair.claim is not None
        and are_incompatible(alignment.claim[pair.claim], alignment.window.tokens[index])
    )


def check_antonyms(alignment: Alignment) -> CheckResult:
    """Words that exclude a word of the source."""
    pairs = [
        (p.claim, p.source)
        for p in alignment.pairs
        if p.claim is not None
        and p.source is not None
        and are_incompatible(alignment.claim[p.claim], alignment.source_token(p))
        and not _is_resolved(alignment, p.claim, p.source)
    ]
    source = alignment.window.tokens
    found = [
        Difference("opposite", alignment.claim_text(alignment.claim[i]), alignment.source_text(source[n]))
        for i, n in pairs
    ]
    claim_stems = {token.stem for token in alignment.claim}
    unmatched = [t for n, t in enumerate(alignment.window.tokens) if alignment.is_source_unmatched(n)]
    loose = 0
    for i in alignment.elsewhere:
        token, pair = alignment.claim[i], alignment.by_claim.get(i)
        if (
            alignment.elsewhere[i] is not None
            or not token.weight
            or (pair and pair.source is not None and pair.similarity > 0)
        ):
            continue
        excluded = [t for t in unmatched if are_incompatible(token, t)]
        if any(t.stem not in claim_stems for t in excluded):
            loose += 1
            found.append(Difference("opposite", alignment.claim_text(token), alignment.source_text(excluded[0])))
    found += _opposite_particles(alignment)
    features = {
        "opposite": len(found) - loose,
        "opposite_loose": loose,
        "opposite_mutual": sum(_is_mutual(alignment, i, n) for i, n in pairs),
        "inverted": len(alignment.inverted),
    }
    return {name: float(value) for name, value in features.items()}, found


def _is_resolved(alignment: Alignment, index: int, there: int) -> bool:
    """Whether two opposites say the same, because the relation was turned round or one of them is denied."""
    return alignment.inverted.get(index) == there or denied_opposites(alignment).get(index) == there


def _is_mutual(alignment: Alignment, index: int, there: int) -> bool:
    """Whether both texts have both of two opposites: "older pupils mentor the younger ones"."""
    stems = {token.stem for token in alignment.claim}
    return alignment.elsewhere.get(index) is not None and alignment.window.tokens[there].stem in stems


def _opposite_particles(alignment: Alignment) -> Iterator[Difference]:
    """Particles whose opposite the source has with the same word: "turn it off", "turn on the lamp"."""
    source = alignment.window.tokens
    theirs = {n: _anchors(source, n) for n, other in enumerate(source) if other.form in _PARTICLES}
    for i, token in enumerate(alignment.claim):
        pair, near = alignment.by_claim.get(i), _anchors(alignment.claim, i)
        aligned = None if pair is None else pair.source
        if token.form not in _PARTICLES or (aligned is not None and _is_settled(token, source[aligned])):
            continue
        opposites = [n for n in theirs if source[n].form == _PARTICLES[token.form]]
        excluded = [n for n in opposites if n == aligned or not near.isdisjoint(theirs[n])]
        if excluded and not _says_so_elsewhere(alignment, token, excluded[0]):
            yield Difference("opposite", alignment.claim_text(token), alignment.source_text(source[excluded[0]]))


def _is_settled(particle: Token, aligned: Token) -> bool:
    """Whether a particle is aligned with itself, or with a word that counts as its opposite already."""
    return particle.form == aligned.form or are_incompatible(particle, aligned)


def _says_so_elsewhere(alignment: Alignment, token: Token, excluded: int) -> bool:
    """Whether the source has a particle in a clause with words of the claim that the clause of its opposite lacks."""
    clauses = {t.clause for t in alignment.window.tokens if t.form == token.form}
    here = alignment.window.tokens[excluded].clause
    stems = {t.stem for t in alignment.claim if t.weight}
    near = {t.stem for t in alignment.window.tokens if t.clause == here}
    return any(t.clause in clauses - {here} and t.stem in stems - near for t in alignment.window.tokens)


def _anchors(tokens: Sequence[Token], index: int) -> set[str]:
    """The stems that a particle may belong to: the content word before it, and a verb that takes it."""
    before = [t for t in tokens[max(0, index - _MAX_DISTANCE) : index] if t.weight and t.clause == tokens[index].clause]
    return {token.stem for token in before if token.stem in _PARTICLE_VERBS or token is before[-1]}


def check_replaced(alignment: Alignment) -> CheckResult:
    """Words aligned with a source word of another meaning."""
    foreign = near = known = names = 0
    found: list[Difference] = []
    claim_stems = {token.stem for token in alignment.claim}
    for p in alignment.pairs:
        if p.claim is None or p.source is None or not is_replaced(alignment, p):
            continue
        one, other = alignment.claim[p.claim], alignment.source_token(p)
        if alignment.elsewhere.get(p.claim) is not None:
            known += other.stem in claim_stems
            near += other.stem not in claim_stems
        else:
            foreign += 1
            names += one.is_name or other.is_name
        found.append(Difference("replaced", alignment.claim_text(one), alignment.source_text(other)))
    features = {"replaced": foreign, "replaced_near": near, "replaced_known": known, "replaced_names": names}
    return {name: float(value) for name, value in features.items()}, found


def is_replaced(alignment: Alignment, pair: AlignedPair) -> bool:
    """Whether a pair aligns two content words of different meaning."""
    if pair.claim is None or pair.source is None or pair.similarity > 0:
        return False
    one, other = alignment.claim[pair.claim], alignment.source_token(pair)
    return bool(one.weight and other.weight) and not (one.quantity or other.quantity)
