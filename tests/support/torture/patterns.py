"""Every regular expression of the package, and texts that could make one slow."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import glossator
from pattern_texts import attacks

LENGTH = 1000
SHORT = (*range(20, 100, 8), 200)
"""Lengths that no pattern needs a noticeable time for, unless it takes exponential time."""
NOTICEABLE_SECONDS = 0.02
MAX_SECONDS = 1.0
ONLY_HERE = ("match", "fullmatch")
"""Methods that try one place of a text; the others search."""
FUNCTIONS = ("compile", "search", "sub", "subn", "split", "findall", "finditer", *ONLY_HERE)


@dataclass(frozen=True)
class Found:
    """A pattern of the package, and whether it is only tried at one place of a text."""

    name: str
    pattern: re.Pattern[str]
    anchored: bool


def patterns() -> list[Found]:
    """The patterns that modules hold, and those that their functions write where they use them."""
    found: dict[tuple[str, int], Found] = {}
    for info in pkgutil.walk_packages(glossator.__path__, "glossator."):
        if ".migrations" not in info.name:
            module = importlib.import_module(info.name)
            for each in [*_held(module), *_inline(module)]:
                if isinstance(each.pattern.pattern, str):
                    found.setdefault((each.pattern.pattern, each.pattern.flags), each)
    return list(found.values())


def _held(module: ModuleType) -> Iterator[Found]:
    source = inspect.getsource(module)
    for name, value in vars(module).items():
        for pattern in _in(value, 2):
            used = set(re.findall(rf"\b{name}\.(\w+)\(", source))
            yield Found(f"{module.__name__}:{name}", pattern, bool(used) and used <= set(ONLY_HERE))


def _in(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for each in [*value.keys(), *value.values()]:
            yield from _in(each, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _in(each, depth - 1)


def _inline(module: ModuleType) -> Iterator[Found]:
    """The patterns of calls such as `re.search(r"…", text)`."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), function), [text, *rest], keywords) if function in FUNCTIONS:
                flags = sum(_flags(each) for each in [*rest, *(keyword.value for keyword in keywords)])
                pattern = re.compile(_text(text, vars(module)), flags)
                yield Found(f"{module.__name__}:{node.lineno}", pattern, function in ONLY_HERE)


def _flags(node: ast.expr) -> int:
    names = re.findall(r"\bre\.([A-Z]+)\b", ast.unparse(node))
    return sum(int(getattr(re, name)) for name in names)


def _text(node: ast.expr, names: dict[str, Any]) -> str:
    """A string as written; what only its function knows is an `x` in it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(each, names) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, names)
    value = node.value if isinstance(node, ast.Constant) else names.get(ast.unparse(node), "x")
    return value if isinstance(value, str) else "x"


def seconds(found: Found, text: str) -> float:
    """The processor time that matching takes, or a search for every match; the fastest of two."""

    def once() -> float:
        began = time.process_time()
        if found.anchored:
            found.pattern.match(text)
            found.pattern.fullmatch(text)
        else:
            for _ in found.pattern.finditer(text):
                pass
        return time.process_time() - began

    first = once()
    return first if first < NOTICEABLE_SECONDS else min(first, once())


def slow_text(found: Found, max_growth: float) -> str | None:
    """The text that makes a pattern slow, if one does; short ones first, lest it never ends."""
    for prefix, unit in attacks(found.pattern):
        for length in SHORT:
            if seconds(found, text := prefix + unit * (length // len(unit)) + "\0") > NOTICEABLE_SECONDS:
                return text
        before = seconds(found, text := prefix + unit * (LENGTH // len(unit)) + "\0")
        if before > MAX_SECONDS:
            return text
        if before > NOTICEABLE_SECONDS:
            after = seconds(found, text := prefix + unit * (2 * LENGTH // len(unit)) + "\0")
            if after > max_growth * before or after > MAX_SECONDS:
                return text
    return None
