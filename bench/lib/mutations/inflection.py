"""Inflected forms of verbs and adjectives, and pairs of words in matching forms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from lib.mutations.wordlists.grammar import AUXILIARIES, BEFORE_A_VERB, DETERMINERS, PREPOSITIONS, PRONOUNS
from lib.mutations.wordlists.verbs import ASYMMETRIC_VERBS, IRREGULAR, OTHER_VERBS


@cache
def forms(verb: str) -> tuple[str, str, str, str, str]:
    """Base, third person, past, participle and gerund of a verb; in a phrasal verb the first word changes."""
    base, _, rest = verb.partition(" ")
    ed = regular(base, "ed")
    past, participle, gerund = IRREGULAR.get(base, (ed, ed, regular(base, "ing")))
    words = [f"{form} {rest}".strip() for form in (base, third_person(base), past, participle, gerund)]
    return words[0], words[1], words[2], words[3], words[4]


def third_person(verb: str) -> str:
    if verb in ("be", "have", "do"):
        return {"be": "is", "have": "has", "do": "does"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else "s")


def regular(verb: str, ending: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + ending
    if ending == "ed" and re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + ending


def is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "ics"))


VERBS = ASYMMETRIC_VERBS | OTHER_VERBS
THIRD = {forms(verb)[1]: verb for verb in VERBS}
PAST = frozenset(form for verb in VERBS for form in forms(verb)[2:4])
PARTICIPLES = frozenset(forms(verb)[3] for verb in VERBS)
FINITE = AUXILIARIES | frozenset(THIRD) | PAST
ASYMMETRIC_THIRD = {forms(verb)[1]: verb for verb in ASYMMETRIC_VERBS}


@dataclass(frozen=True)
class InflectionRule:
    """A replacement for a word; `place` says which position in a sentence the form needs."""

    new: str
    place: str


def inflect_pairs(
    verbs: list[tuple[str, str]], others: list[tuple[str, str]], both_ways: bool
) -> dict[str, list[InflectionRule]]:
    """Every inflected form of every pair."""
    rules: dict[str, list[InflectionRule]] = defaultdict(list)
    for one, other in [*verbs, *((other, one) for one, other in verbs if both_ways)]:
        base, third, _, participle, gerund = zip(forms(one), forms(other), strict=True)
        past = "past" if len(set(forms(other)[2:4])) == 1 else "participle"
        for (old, new), place in zip((base, third, participle, gerund), ("base", "third", past, "any"), strict=True):
            rules[old].append(InflectionRule(new, place))
    for one, other in [*others, *((other, one) for one, other in others if both_ways)]:
        rules[one].append(InflectionRule(other, "any"))
    return dict(rules)


def with_degrees(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Adjectives with their comparatives and superlatives."""
    return [*pairs, *((root(one) + end, root(other) + end) for one, other in pairs for end in ("er", "est"))]


def root(adjective: str) -> str:
    if adjective.endswith("y"):
        return adjective[:-1] + "i"
    doubled = re.search(r"^[^aeiou]*[aeiou][bdgt]$", adjective)
    return adjective + adjective[-1] if doubled else adjective.removesuffix("e")


def find_pairs(
    sentence: str, rules: Mapping[str, list[InflectionRule]], blocked: str
) -> Iterator[tuple[int, int, list[str]]]:
    """The spans of listed words in a fitting form, and their replacements."""
    closed = [match.span() for match in re.finditer(rf"\b(?:{blocked})(?!\w)", sentence, re.IGNORECASE)]
    for match in pattern_of(tuple(sorted(rules, key=len, reverse=True))).finditer(sentence):
        if any(start < match.end() and match.start() < end for start, end in closed):
            continue
        before = (["", *sentence[: match.start()].lower().split()])[-1]
        after = re.match(r" ?([^\W\d_]*)", sentence[match.end() :].lower())
        news = [
            rule.new for rule in rules[match[0].lower()] if form_fits(rule.place, before, after[1] if after else "")
        ]
        if news and (match[0].islower() or (match.start() == 0 and match[0][1:].islower())):
            yield match.start(), match.end(), news


@cache
def pattern_of(keys: tuple[str, ...]) -> re.Pattern[str]:
    any_key = "|".join(map(re.escape, keys))
    return re.compile(rf"(?<![\w\-.@/])(?:{any_key})(?![\w\-/(]|\.\w|['’])", re.IGNORECASE)


def form_fits(place: str, before: str, after: str) -> bool:
    """Whether a verb form fits between two words, so that nouns that look like verbs are not replaced."""
    if place == "base":
        return before in BEFORE_A_VERB
    if place == "third":
        is_noun = not before or before in DETERMINERS - {"this", "that"} | PREPOSITIONS
        return not is_noun and after in DETERMINERS | PREPOSITIONS | PRONOUNS - {"", "of"}
    return place != "participle" or before in AUXILIARIES
