"""Directives and roles while a page is read: those of Sphinx, those of docutils, and one for all unknown names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from docutils.parsers.rst import directives, roles
from docutils.parsers.rst.states import RSTState

from glossator.ingest.formats.rst.directives import find_directive
from glossator.ingest.formats.rst.page import PageScope, reading
from glossator.ingest.formats.rst.roles import find_role
from glossator.ingest.formats.rst.states import LazyStateMachine

_LOCK = threading.Lock()
"""docutils has one registry for the whole process."""


@contextmanager
def sphinx_syntax(scope: PageScope) -> Iterator[None]:
    """Read one page with Sphinx's directives and roles; docutils looks them up in functions that are replaced."""
    with _LOCK, reading(scope):
        own_directive, own_role, own_machine = directives.directive, roles.role, RSTState.nested_sm
        defined = dict(roles._roles)  # type: ignore[attr-defined]  # roles that a page defines are its own
        try:
            directives.directive = _lookup(find_directive, own_directive)
            roles.role = _lookup(find_role, own_role)
            RSTState.nested_sm = LazyStateMachine
            yield
        finally:
            directives.directive, roles.role, RSTState.nested_sm = own_directive, own_role, own_machine
            roles._roles.clear()  # type: ignore[attr-defined]
            roles._roles.update(defined)  # type: ignore[attr-defined]


def _lookup(find: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(name: str, *arguments: Any) -> tuple[Any, list[Any]]:
        return find(name, lambda: own(name, *arguments)[0]), []

    return look_up
