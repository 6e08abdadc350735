"""Changed words: numbers and units, negation, modality and quantifiers, opposites, one word in another's place."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.verification.compare.alignment import Beside, Finding, Part
from glossator.verification.compare.similarity import Pair, clash
from glossator.verification.reading.tokenizer import Token

_FORBIDS = "prohibition"
_MOST_OF = 0.6
"""How much of a clause must be in the claim for a word that is missing from it to have been dropped."""

_BESIDE = 4
"""Words between a mark and what it belongs to."""

_LEADING = frozenset({"ar"})
"""Languages in which a negation stands right before what it negates."""
_TO_BE = frozenset("یکن تکن یکون تکون کان کانت یکونوا".split())

_REACH = 8
"""Words on either side that belong to the clause of a mark."""


def numbers(b: Beside) -> Part:
    conflict = unit = absent = swapped = 0
    found: list[Finding] = []
    for i, token in enumerate(b.claim):
        if token.quantity is None or b.matched(i):
            continue
        pair = b.partner[i] if i in b.partner else Pair(i, None, 0.0)
        partner = b.source(pair) if pair.source is not None else None
        weak = token.quantity.values == (1.0,) and not (partner and partner.quantity)
        if b.here.get(i) is not None:
            swapped += partner is not None and partner.quantity is not None and b.source_free(pair.source or 0)
            continue
        same = next((o for o in b.window.tokens if o.quantity and o.quantity.same_number(token.quantity)), None)
        if same is not None and same.quantity and same.quantity.unit and token.quantity.unit:
            unit += 1
            found.append(Finding("unit", b.said(token), b.stood(same)))
        elif partner is not None and partner.quantity:
            conflict += 1
            found.append(Finding("number", b.said(token), b.stood(partner)))
        elif not weak:
            absent += 1
            found.append(Finding("number", b.said(token)))
    return {"number": conflict, "unit": unit, "number_absent": absent, "number_swapped": swapped}, found


def marks(b: Beside) -> Part:
    features: dict[str, float] = {}
    found: list[Finding] = []
    for family in ("negation", "modality", "quantifier"):
        changed = [
            (b.claim[p.claim], b.source(p))
            for p in b.pairs
            if p.claim is not None and p.source is not None and _conflict(b.claim[p.claim], b.source(p), family)
        ]
        answers = {i: _answer(b, i) for i, t in enumerate(b.claim) if t.family == family}
        added = [b.claim[i] for i, place in answers.items() if place is None]
        used = set(answers.values())
        dropped = [
            t
            for n, t in enumerate(b.window.tokens)
            if t.family == family and n not in used and b.source_free(n) and _in_grammar(b, n)
        ]
        features |= {
            f"{family}_changed": float(len(changed)),
            f"{family}_added": float(len(added)),
            f"{family}_dropped": float(len(dropped)),
        }
        if family == "modality":  # "must never" forbids: with it a negation comes or goes
            features["negation_added"] += sum(token.kind == _FORBIDS for token in added)
            features["negation_dropped"] += sum(token.kind == _FORBIDS for token in dropped)
        found += [Finding(family, b.said(one), b.stood(other)) for one, other in changed]
        found += [Finding(family, b.said(t)) for t in added] + [Finding(family, "", b.stood(t)) for t in dropped]
    return features, found


def _conflict(one: Token, other: Token, family: str) -> bool:
    return one.family == other.family == family and one.kind != other.kind


def _answer(b: Beside, place: int) -> int | None:
    """Where a mark of the claim has its like in the source: in its place, or free and near the same words."""
    pair, token = b.partner.get(place), b.claim[place]
    if token.family == "negation" and b.language in _LEADING:
        agreeing = (n for n, t in enumerate(b.window.tokens) if t.family == "negation" and _agree(b, place, n))
        negated = _negated(b.claim, place)
        if (found := next(agreeing, None)) is not None or (negated and b.place(negated[0]) is not None):
            return found
    if pair is not None and pair.source is not None and b.source(pair).family == token.family:
        return pair.source
    near = _near(b, place)
    likely = (
        n
        for n, other in enumerate(b.window.tokens)
        if other.family == token.family and other.kind == token.kind and b.source_free(n)
    )
    if b.language not in _LEADING:
        return next((n for n in likely if any(abs(n - at) <= _BESIDE for at in near)), None)
    tokens = b.window.tokens
    if token.family != "negation":  # "is forbidden" may stand before all that it forbids, or after it
        return next((n for n in likely if any(tokens[n].clause == tokens[at].clause for at in near)), None)
    close = ((n, at) for n in likely for at in near if abs(n - at) <= _BESIDE)
    return next((n for n, at in close if tokens[n].clause == tokens[at].clause), None)


def _agree(b: Beside, place: int, there: int) -> bool:
    """Whether two negations negate the same: the next word, or (with "to be") a word of the rest of the clause."""
    mine, theirs = _negated(b.claim, place), _negated(b.window.tokens, there)
    places = [b.place(n) for n in mine]
    return (bool(mine) and places[0] in theirs) or (bool(theirs) and theirs[0] in places)


def _negated(tokens: Sequence[Token], place: int) -> list[int]:
    """The words that carry meaning after a negation, as far as it reaches."""
    following = tokens[place + 1].form if place + 1 < len(tokens) else ""
    spans = tokens[place].form.startswith("لیس") or following in _TO_BE
    ahead = range(place + 1, min(len(tokens), place + 1 + _REACH))
    found = [n for n in ahead if tokens[n].weight and tokens[n].clause == tokens[place].clause]
    return found if spans else found[:1]


def _near(b: Beside, place: int) -> list[int]:
    """Where the neighbours of a claim's word stand in the source."""
    found = []
    for step in (1, -1):
        at = place + step
        while 0 <= at < len(b.claim) and abs(at - place) <= _BESIDE + 1:
            there = b.place(at)
            if b.claim[at].weight and there is not None:
                found.append(there)
                break
            at += step
    return found


def _in_grammar(b: Beside, place: int) -> bool:
    """Whether a mark of the source falls out alone: most of the words around it in its clause are in the claim."""
    tokens = b.window.tokens
    near = [
        n
        for n in range(max(0, place - _REACH), min(len(tokens), place + _REACH + 1))
        if tokens[n].weight and tokens[n].clause == tokens[place].clause
    ]
    kept = [n for n in near if not b.source_free(n) or _opposed(b, n)]
    return bool(near) and len(kept) >= _MOST_OF * len(near)


def _opposed(b: Beside, place: int) -> bool:
    pair = b.taken.get(place)
    return pair is not None and pair.claim is not None and clash(b.claim[pair.claim], b.window.tokens[place])


def opposites(b: Beside) -> Part:
    found = [
        Finding("opposite", b.said(b.claim[p.claim]), b.stood(b.source(p)))
        for p in b.pairs
        if p.claim is not None and p.source is not None and clash(b.claim[p.claim], b.source(p))
    ]
    own = {token.stem for token in b.claim}
    loose = 0
    for i in b.here:
        token, pair = b.claim[i], b.partner.get(i)
        if b.here[i] is not None or not token.weight or (pair and pair.source is not None and pair.likeness > 0):
            continue
        against = [t for n, t in enumerate(b.window.tokens) if b.source_free(n) and clash(token, t)]
        if any(t.stem not in own for t in against):
            loose += 1
            found.append(Finding("opposite", b.said(token), b.stood(against[0])))
    return {"opposite": float(len(found) - loose), "opposite_loose": float(loose)}, found


def replaced(b: Beside) -> Part:
    """Words in the place of others that mean something else."""
    foreign = near = known = names = 0
    found: list[Finding] = []
    own = {token.stem for token in b.claim}
    for p in b.pairs:
        if p.claim is None or p.source is None or not is_replaced(b, p):
            continue
        one, other = b.claim[p.claim], b.source(p)
        if b.here.get(p.claim) is not None:
            known += other.stem in own
            near += other.stem not in own
        else:
            foreign += 1
            names += one.name or other.name
        found.append(Finding("replaced", b.said(one), b.stood(other)))
    features = {"replaced": foreign, "replaced_near": near, "replaced_known": known, "replaced_names": names}
    return {name: float(value) for name, value in features.items()}, found


def is_replaced(b: Beside, pair: Pair) -> bool:
    if pair.claim is None or pair.source is None or pair.likeness > 0:
        return False
    one, other = b.claim[pair.claim], b.source(pair)
    return bool(one.weight and other.weight) and not (one.quantity or other.quantity)
