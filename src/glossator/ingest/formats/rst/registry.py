"""Directives and roles while a page is read: those of Sphinx, those of docutils, and one for all unknown names."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docutils.parsers.rst import directives, roles
from docutils.parsers.rst.states import RSTState

from glossator.ingest.formats.includes import IncludeReader
from glossator.ingest.formats.rst.states import LazyStateMachine

_LOCK = threading.Lock()
"""docutils has one registry for the whole process."""


@dataclass(slots=True)
class PageScope:
    """The page that is being read: where it is, what it may refer to and include, and what it leaves to code."""

    path: Path
    root: Path
    references: Mapping[str, tuple[str, str]]
    includes: IncludeReader
    generated: list[str] = field(default_factory=list)
    included: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The name of the page within its source, without its ending."""
        return self.path.relative_to(self.root).with_suffix("").as_posix()


_current: list[PageScope] = []


def current_page() -> PageScope:
    """The page that is being read."""
    return _current[-1]


@contextmanager
def sphinx_syntax(scope: PageScope) -> Iterator[None]:
    """Read one page with Sphinx's directives and roles; docutils looks them up in functions that are replaced."""
    from glossator.ingest.formats.rst.directives import find_directive
    from glossator.ingest.formats.rst.roles import find_role

    with _LOCK:
        own_directive, own_role, own_machine = directives.directive, roles.role, RSTState.nested_sm
        defined = dict(roles._roles)  # type: ignore[attr-defined]  # roles that a page defines are its own
        _current.append(scope)
        try:
            directives.directive = _lookup(find_directive, own_directive)
            roles.role = _lookup(find_role, own_role)
            RSTState.nested_sm = LazyStateMachine
            yield
        finally:
            directives.directive, roles.role, RSTState.nested_sm = own_directive, own_role, own_machine
            _current.pop()
            roles._roles.clear()  # type: ignore[attr-defined]
            roles._roles.update(defined)  # type: ignore[attr-defined]


def _lookup(find: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(name: str, *arguments: Any) -> tuple[Any, list[Any]]:
        return find(name, lambda: own(name, *arguments)[0]), []

    return look_up
