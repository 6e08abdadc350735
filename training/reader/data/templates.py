"""Short statements from templates, with true and false claims that differ in one point: who does what, when, unless.

They teach what single changed words mean: roles, voice, negation, exclusion, order, conditions, and which value belongs
to which thing. Names and verbs are combined at random, so that no word tells whether a claim is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from reader.data.vocabulary import (
    ACTIONS,
    COMPARED,
    EVENTS,
    HAS,
    OBJECTS,
    PEOPLE,
    PLACES,
    REGULAR_INVERSES,
    ROLES,
    SOCIAL_VERBS,
    STATES,
    THINGS,
    UNITS,
    VERBS,
)


class Claim(NamedTuple):
    """A claim about a source; a false one may name the true claim that it differs from."""

    text: str
    supported: bool
    contradicted: bool
    kind: str
    pair: int | None = None


Made = tuple[str, list[Claim]]


def sentence(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[0].upper()}{text[1:]}."


class Writer:
    """Writes sources with claims, from one source of randomness."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def examples(self, count: int) -> Iterator[Made]:
        """So many sources with claims; some have a sentence about something else beside them."""
        makers: list[Callable[[], Made]] = [
            *(self.roles, self.roles, self.transfer, self.exclusion, self.comparison, self.order, self.condition),
            *(self.values, self.bindings, self.negation, self.quantifier, self.permission, self.route, self.pronoun),
            *(self.unless, self.two_facts),
        ]
        for _ in range(count):
            source, claims = self.random.choice(makers)()
            if self.random.random() < 0.3:
                other = self.random.choice([self.roles, self.order, self.values, self.comparison])()[0]
                source = f"{other} {source}" if self.random.random() < 0.5 else f"{source} {other}"
            yield source, self._few(claims)

    def _few(self, claims: list[Claim]) -> list[Claim]:
        """At most six claims, with as many true as false ones where possible; pairs are numbered again."""
        true = [n for n, claim in enumerate(claims) if claim.supported]
        false = [n for n, claim in enumerate(claims) if not claim.supported]
        kept = sorted(self.random.sample(true, min(3, len(true))) + self.random.sample(false, min(3, len(false))))
        place = {n: at for at, n in enumerate(kept)}
        return [claims[n]._replace(pair=place.get(claims[n].pair)) for n in kept]  # type: ignore[arg-type]

    def pick(self, options: list[str], count: int = 2) -> list[str]:
        return self.random.sample(options, count)

    def actors(self, count: int = 2) -> tuple[list[str], str]:
        """Who acts, and a verb that fits."""
        options, verbs = self.random.choice([(PEOPLE, SOCIAL_VERBS), (ROLES, SOCIAL_VERBS), (THINGS, VERBS)])
        return self.pick(options, count), self.random.choice(verbs)

    def roles(self) -> Made:
        (a, b), verb = self.actors()
        base, past, done = verb.split()
        when = self.random.choice(["", "", " in March", " last week", " every night", " twice"])
        if when in ("", " every night") and a.startswith("the"):
            active, passive, negated = (
                f"{{}} {_third(base)} {{}}",
                f"{{}} is {done} by {{}}",
                f"{{}} does not {base} {{}}",
            )
            passive_not = f"{{}} is not {done} by {{}}"
        else:
            active, passive, negated = f"{{}} {past} {{}}", f"{{}} was {done} by {{}}", f"{{}} did not {base} {{}}"
            passive_not = f"{{}} was not {done} by {{}}"
        stated, source_passive = self.random.random() < 0.6, passive.format(b, a)
        source = sentence((active.format(a, b) if stated else source_passive) + when)
        true = [passive.format(b, a), active.format(a, b), f"{b}, it says, {_be(when, a)} {done} by {a}"]
        false = [
            (active.format(b, a), 1),
            (passive.format(a, b), 0),
            (negated.format(a, b), 1),
            (passive_not.format(b, a), 0),
        ]
        return source, self._claims(true, false, "roles")

    def transfer(self) -> Made:
        a, b = self.pick(self.random.choice([PEOPLE, ROLES]))
        at = 2 * self.random.randrange(len(REGULAR_INVERSES) // 2)
        o = self.random.choice(OBJECTS)
        give, take = (REGULAR_INVERSES[at + n].strip().format(o=o) for n in (0, 1))
        source = self.random.choice([f"{a} {give} {b}", f"{b} {take} {a}"])
        true = [f"{a} {give} {b}", f"{b} {take} {a}"]
        false = [(f"{b} {give} {a}", 0), (f"{a} {take} {b}", 1)]
        return sentence(source), self._claims(true, false, "transfer")

    def exclusion(self) -> Made:
        (a, b, c), verb = self.actors(3)
        base, past, done = verb.split()
        how = self.random.choice(["instead of", "rather than", "and not", "but not"])
        if self.random.random() < 0.5:
            source = f"{b} was {done} by {a} {how} {'by ' if how != 'instead of' else ''}{c}"
            true = [
                f"{a} {past} {b}",
                f"{c} did not {base} {b}",
                f"{b} was not {done} by {c}",
                f"{b} was {done} by {a}",
            ]
            false = [
                (f"{c} {past} {b}", 0),
                (f"{a} did not {base} {b}", 0),
                (f"{b} was {done} by {c}", 3),
                (f"{b} was not {done} by {a}", 2),
            ]
        else:
            source = f"{a} {past} {b} {how} {c}"
            true = [
                f"{a} {past} {b}",
                f"{a} did not {base} {c}",
                f"{c} was not {done} by {a}",
                f"{b} was {done} by {a}",
            ]
            false = [
                (f"{a} {past} {c}", 0),
                (f"{a} did not {base} {b}", 1),
                (f"{c} was {done} by {a}", 3),
                (f"{b} was not {done} by {a}", 2),
            ]
        return sentence(source), self._claims(true, false, "exclusion")

    def comparison(self) -> Made:
        more, less = self.random.choice(COMPARED).split()
        a, b = self.pick(self.random.choice([PEOPLE, THINGS, PLACES]))
        if self.random.random() < 0.5:
            more, less = less, more
        source = sentence(f"{a} is {more} than {b}")
        true = [
            f"{b} is {less} than {a}",
            f"{a} is {more} than {b}",
            f"of the two, {a} is the {more} one",
            f"compared with {a}, {b} is {less}",
        ]
        false = [
            (f"{b} is {more} than {a}", 1),
            (f"{a} is {less} than {b}", 1),
            (f"of the two, {b} is the {more} one", 2),
            (f"compared with {a}, {b} is {more}", 3),
        ]
        return source, self._claims(true, false, "comparison")

    def order(self) -> Made:
        a, b = self.pick(EVENTS)
        source = self.random.choice(
            [
                f"{a} took place before {b}",
                f"{b} took place after {a}",
                f"{a} came first, then {b}",
                f"{b} was preceded by {a}",
            ]
        )
        true = [f"{a} was earlier than {b}", f"{b} came after {a}", f"{b} followed {a}", f"{a} preceded {b}"]
        false = [
            (f"{b} was earlier than {a}", 0),
            (f"{a} came after {b}", 1),
            (f"{a} followed {b}", 2),
            (f"{b} preceded {a}", 3),
        ]
        return sentence(source), self._claims(true, false, "order")

    def condition(self) -> Made:
        a, b = self.pick(STATES)
        source = self.random.choice(
            [f"if {a}, {b}", f"{b} whenever {a}", f"when {a}, {b}", f"{a}, which causes that {b}"]
        )
        true = [f"{b} if {a}", f"whenever {a}, {b}", f"{b} as a result when {a}"]
        false = [
            (f"{a} if {b}", 0),
            (f"whenever {b}, {a}", 1),
            (f"{b} only if it is not the case that {a}", 0),
            (f"{a} as a result when {b}", 2),
        ]
        return sentence(source), self._claims(true, false, "condition")

    def unless(self) -> Made:
        a, b = self.pick(STATES)
        source = self.random.choice([f"{b} unless {a}", f"{b}, except when {a}"])
        true = [f"{b} as long as it is not the case that {a}", f"only when {a} is it not so that {b}"]
        false = [(f"{b} only when {a}", 0), (f"{b} as long as {a}", 0), (f"{a} unless {b}", 0)]
        return sentence(source), self._claims(true, false, "unless")

    def values(self) -> Made:
        a, b = self.pick([*THINGS, *PLACES])
        unit, has = self.random.choice(UNITS), self.random.choice(HAS)
        x, y, z = self.random.sample(
            [2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 24, 25, 30, 40, 48, 50, 60, 75, 90, 120, 250, 400], 3
        )
        source = self.random.choice(
            [
                f"{a} {has} {x} {unit} and {b} {has} {y} {unit}",
                f"{a} {has} {x} {unit}, while {b} {has} {y}",
                f"{a} {has} {x} {unit}; for {b}, the figure is {y}",
            ]
        )
        big, small = (a, b) if x > y else (b, a)
        true = [
            f"{a} {has} {x} {unit}",
            f"{b} {has} {y} {unit}",
            f"the figure for {big} is higher than that for {small}",
        ]
        false = [
            (f"{a} {has} {y} {unit}", 0),
            (f"{b} {has} {x} {unit}", 1),
            (f"{a} {has} {z} {unit}", 0),
            (f"the figure for {small} is higher than that for {big}", 2),
        ]
        return sentence(source), self._claims(true, false, "values")

    def bindings(self) -> Made:
        noun = self.random.choice(["port", "zone", "gate", "model", "version", "class", "group", "line", "pin", "room"])
        a, b, c = self.random.sample("A B C D E F 1 2 3 4 5 6".split(), 3)
        use = self.random.choice(["is used for", "is reserved for", "carries", "handles", "is closed to"])
        x, y = self.pick(
            "power|data|visitors|cargo|video|audio|backups|freight|testing|guests|updates|refunds".split("|")
        )
        source = self.random.choice(
            [f"{noun} {a} {use} {x} and {noun} {b} {use} {y}", f"{noun} {a} {use} {x}; {noun} {b}, {y}"]
        )
        true = [f"{noun} {a} {use} {x}", f"{noun} {b} {use} {y}", f"it is {noun} {a} that {use} {x}"]
        false = [
            (f"{noun} {b} {use} {x}", 0),
            (f"{noun} {a} {use} {y}", 1),
            (f"{noun} {c} {use} {x}", 0),
            (f"it is {noun} {b} that {use} {x}", 2),
        ]
        return sentence(source), self._claims(true, false, "bindings")

    def negation(self) -> Made:
        (a, b), verb = self.actors()
        base, _, done = verb.split()
        source = self.random.choice(
            [
                f"{a} cannot {base} {b}",
                f"{a} never {_third(base)} {b}",
                f"{b} is never {done} by {a}",
                f"at no time does {a} {base} {b}",
            ]
        )
        true = [
            f"{b} is not {done} by {a}",
            f"{a} does not {base} {b}",
            f"it is not the case that {a} {_third(base)} {b}",
        ]
        false = [
            (f"{b} is {done} by {a}", 0),
            (f"{a} {_third(base)} {b}", 1),
            (f"{b} does not {base} {a}", 1),
            (f"{a} is not {done} by {b}", 0),
        ]
        return sentence(source), self._claims(true, false, "negation")

    def quantifier(self) -> Made:
        noun = self.random.choice("sensors pumps windows invoices members trains books tickets boats samples".split())
        state = self.random.choice(
            "checked|sold|open|late|insured|labelled|damaged|blue|paid for|registered".split("|")
        )
        amount, false_amounts, same = self.random.choice(
            [
                ("all of the", ["none of the", "only some of the"], ["every one of the"]),
                ("none of the", ["all of the", "some of the"], ["not one of the"]),
                ("most of the", ["few of the", "none of the"], ["more than half of the"]),
                ("only a few of the", ["most of the", "all of the"], ["not many of the"]),
            ]
        )
        source = f"{amount} {noun} are {state}"
        true = [f"{same[0]} {noun} are {state}", source]
        false = [(f"{wrong} {noun} are {state}", n) for n, wrong in enumerate(false_amounts)]
        return sentence(source), self._claims(true, false, "quantifier")

    def permission(self) -> Made:
        a, b = self.pick(ROLES)
        do = self.random.choice(ACTIONS)
        kind = self.random.randrange(4)
        if kind == 0:
            source = f"only {a} may {do}"
            true = [f"nobody but {a} may {do}", f"{a} is allowed to {do}", f"{b} may not {do}"]
            false = [
                (f"anyone may {do}", 0),
                (f"{a} is not allowed to {do}", 1),
                (f"{b} may {do}", 2),
                (f"{a} must {do}", 1),
            ]
        elif kind == 1:
            source = f"{a} must not {do}"
            true = [f"{a} is not allowed to {do}", f"{a} is forbidden to {do}"]
            false = [(f"{a} is allowed to {do}", 0), (f"{a} does not have to {do}", 0), (f"{a} must {do}", 1)]
        elif kind == 2:
            source = f"{a} need not {do}"
            true = [f"{a} does not have to {do}", f"it is not required that {a} {do}"]
            false = [(f"{a} has to {do}", 0), (f"{a} must not {do}", 0), (f"it is required that {a} {do}", 1)]
        else:
            source = f"{a} must {do}, but {b} need not"
            true = [f"{a} has to {do}", f"{b} does not have to {do}", f"{a} is obliged to {do}"]
            false = [
                (f"{b} has to {do}", 0),
                (f"{a} does not have to {do}", 1),
                (f"{a} may choose whether to {do}", 0),
                (f"{b} is obliged to {do}", 2),
            ]
        return sentence(source), self._claims(true, false, "permission")

    def route(self) -> Made:
        a, b, c = self.pick(PLACES, 3)
        what = self.random.choice(["the road", "the ferry", "the pipe", "the bus", "the cable", "the trail"])
        source = f"{what} runs from {a} to {b}" + self.random.choice(["", f" by way of {c}"])
        true = [f"{what} starts at {a}", f"{what} ends at {b}", f"{b} is where {what} ends"]
        false = [(f"{what} starts at {b}", 0), (f"{what} ends at {a}", 1), (f"{a} is where {what} ends", 2)]
        return sentence(source), self._claims(true, false, "route")

    def pronoun(self) -> Made:
        a, b = self.pick(ROLES)
        _, past, done = self.random.choice(SOCIAL_VERBS).split()
        o, thing = self.pick(OBJECTS), self.random.choice(PLACES)
        source = f"{sentence(f'{a} {past} {b}')} {sentence(f'later {b} brought {o[0]} to {thing}')}"
        true = [f"{b} brought {o[0]} to {thing}", f"{b}, who was {done} by {a}, brought {o[0]} to {thing}"]
        false = [
            (f"{a} brought {o[0]} to {thing}", 0),
            (f"{b} brought {o[1]} to {thing}", 0),
            (f"{a}, who was {done} by {b}, brought {o[0]} to {thing}", 1),
        ]
        return source, self._claims(true, false, "pronoun")

    def two_facts(self) -> Made:
        (a, b, c, d), verb = self.actors(4)
        _, past, done = verb.split()
        source = self.random.choice([f"{a} {past} {b}, and {c} {past} {d}", f"{b} was {done} by {a} and {d} by {c}"])
        true = [f"{a} {past} {b}", f"{c} {past} {d}", f"{d} was {done} by {c}", f"{b} was {done} by {a}"]
        false = [
            (f"{a} {past} {d}", 0),
            (f"{c} {past} {b}", 1),
            (f"{d} was {done} by {a}", 2),
            (f"{b} was {done} by {c}", 3),
        ]
        return sentence(source), self._claims(true, false, "two_facts")

    @staticmethod
    def _claims(true: list[str], false: list[tuple[str, int]], kind: str) -> list[Claim]:
        """Claims from phrases; each false one with the number of the true one that it differs from."""
        found = [Claim(sentence(text), True, False, kind) for text in true]
        return found + [
            Claim(sentence(text), False, True, kind, pair if pair < len(true) else None) for text, pair in false
        ]


def _third(base: str) -> str:
    """The third person of a verb."""
    if base.endswith(("s", "sh", "ch", "x")):
        return f"{base}es"
    return f"{base[:-1]}ies" if base.endswith("y") and base[-2] not in "aeou" else f"{base}s"


def _be(when: str, actor: str) -> str:
    return "is" if when in ("", " every night") and actor.startswith("the") else "was"
