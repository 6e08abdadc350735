"""Every regular expression of the package, and texts that could make one slow."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from itertools import product
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import glossator

COMMON = [" ", "\n", "a", "1", "<", "a "]
MAX_LETTERS = 3
LENGTH = 1000
NOTICEABLE_SECONDS = 0.02
MAX_SECONDS = 1.0


def patterns() -> dict[str, re.Pattern[str]]:
    """The patterns that modules hold, by module and name."""
    found: dict[str, re.Pattern[str]] = {}
    seen: set[tuple[str, int]] = set()
    for info in pkgutil.walk_packages(glossator.__path__, "glossator."):
        if ".migrations" in info.name:
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for pattern in _in(value, 2):
                if isinstance(pattern.pattern, str) and (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    found[f"{info.name}:{name}:{len(found)}"] = pattern
    return found


def _in(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for each in [*value.keys(), *value.values()]:
            yield from _in(each, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _in(each, depth - 1)


def units(pattern: re.Pattern[str]) -> list[str]:
    """Short texts to repeat: characters that the pattern names, alone and in pairs, and common ones."""
    letters = list(dict.fromkeys(_literals(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))))[:MAX_LETTERS]
    pairs = ["".join(pair) for pair in product(letters, repeat=2)]
    return list(dict.fromkeys([*COMMON, *letters, *pairs]))


def _literals(parsed: Any) -> Iterator[str]:
    for code, argument in parsed:
        name = str(code)
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(argument)
        elif name == "RANGE":
            yield chr(argument[0])
        else:
            yield from _nested(argument)


def _nested(argument: Any) -> Iterator[str]:
    if isinstance(argument, parser.SubPattern):
        yield from _literals(argument)
    elif isinstance(argument, list | tuple):
        for each in argument:
            if isinstance(each, tuple) and len(each) == 2 and hasattr(each[0], "name"):
                yield from _literals([each])
            else:
                yield from _nested(each)


def is_anchored(name: str) -> bool:
    """Whether the package only matches a pattern of this name at one place, and never searches for it."""
    module, variable, _ = name.split(":")
    source = inspect.getsource(importlib.import_module(module))
    found = set(re.findall(rf"\b{variable}\.(\w+)\(", source))
    return bool(found) and found <= {"match", "fullmatch"}


def seconds(pattern: re.Pattern[str], text: str, *, anchored: bool) -> float:
    """The processor time that matching takes, or a search for every match; the fastest of two."""

    def once() -> float:
        began = time.process_time()
        if anchored:
            pattern.match(text)
            pattern.fullmatch(text)
        else:
            for _ in pattern.finditer(text):
                pass
        return time.process_time() - began

    first = once()
    return first if first < NOTICEABLE_SECONDS else min(first, once())


def growth(pattern: re.Pattern[str], unit: str, *, anchored: bool) -> tuple[float, float]:
    """The times for a text of this unit, and for one of twice the length; short ones first, lest it never ends."""
    times = []
    for size in (20, LENGTH, 2 * LENGTH):
        times.append(seconds(pattern, unit * (size // len(unit)) + "\0", anchored=anchored))
        if times[-1] > MAX_SECONDS or (size == LENGTH and times[-1] < NOTICEABLE_SECONDS):
            break
    return times[-2] if len(times) == 3 else 0.0, times[-1]
