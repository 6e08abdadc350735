"""Texts made from a regular expression: what leads to each of its loops, and what the loop may repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

COMMON = (" ", "\n", "a", "1", "<", "a ")
MAX_CHARACTERS = 3
MEMBERS = "a1 -\n\"'\\<({[#:=/*_|>"
LOOPS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def attacks(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """For each loop: a text that leads to it, and the texts to repeat there; and common texts alone."""
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    found = [("", unit) for unit in COMMON]
    for prefix, body in _loops(parsed, "", {}):
        characters = list(dict.fromkeys([*_characters(body), *COMMON[:1]]))[:MAX_CHARACTERS]
        pairs = ["".join(pair) for pair in product(characters, repeat=2)]
        found += [(prefix, unit) for unit in [*characters, *pairs, _sample(body, {})] if unit]
        found += [("", unit) for unit in [*characters, *pairs]]
    return list(dict.fromkeys(found))


def _loops(parsed: Any, prefix: str, groups: dict[int, str]) -> Iterator[tuple[str, Any]]:
    """The bodies of all loops, each with a text that matches what is before it."""
    for item in parsed:
        name, argument = str(item[0]), item[1]
        if name in LOOPS and argument[1] > 1:
            yield prefix, argument[2]
        for part in _parts(argument):
            yield from _loops(part, prefix, dict(groups))
        prefix += _sample([item], groups)


def _parts(argument: Any) -> Iterator[Any]:
    """The patterns inside a part of a pattern."""
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from _parts(each)


def _sample(parsed: Any, groups: dict[int, str]) -> str:
    """A short text that matches, as far as one can be told without looking around; `groups` has those of groups."""
    return "".join(_sample_of(str(item), argument, groups) for item, argument in parsed)


def _sample_of(name: str, argument: Any, groups: dict[int, str]) -> str:
    match name:
        case "BRANCH":
            return _sample(argument[1][0], groups)
        case "ATOMIC_GROUP":
            return _sample(argument, groups)
        case "GROUPREF":
            return groups.get(argument, "")
        case "SUBPATTERN":
            groups[argument[0]] = _sample(argument[-1], groups)
            return groups[argument[0]]
        case _ if name in LOOPS:
            return _sample(argument[2], groups) * int(argument[0])
    return _character(name, argument)


def _character(name: str, argument: Any) -> str:
    match name:
        case "LITERAL":
            return chr(argument)
        case "NOT_LITERAL":
            return "a" if chr(argument) != "a" else "b"
        case "ANY":
            return "a"
        case "IN":
            return _member(argument)
    return ""


def _member(items: Any) -> str:
    """A character of a class."""
    negated = str(items[0][0]) == "NEGATE"
    named = [chr(item[1] if str(item[0]) == "LITERAL" else item[1][0]) for item in items if str(item[0]) in _NAMING]
    candidates = MEMBERS if negated else [*named, *MEMBERS]
    return next((each for each in candidates if any(_has(item, each) for item in items) != negated), "")


_NAMING = ("LITERAL", "RANGE")


def _has(item: Any, character: str) -> bool:
    match str(item[0]):
        case "LITERAL":
            return ord(character) == int(item[1])
        case "RANGE":
            return bool(item[1][0] <= ord(character) <= item[1][1])
        case "CATEGORY":
            return bool(re.match(CATEGORIES[str(item[1])], character))
    return False


def _characters(parsed: Any) -> Iterator[str]:
    """The characters that a pattern names."""
    for item, argument in parsed:
        name = str(item)
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(argument)
        elif name == "IN":
            yield _member(argument)
        for part in _parts(argument):
            yield from _characters(part)
