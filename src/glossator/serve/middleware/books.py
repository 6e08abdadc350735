"""The book of a request: its name is stripped from the path, so that inner layers see the paths of one book."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from glossator.core.book.names import BOOKS_PATH

_SCOPE_KEY = "glossator.book"
_PATH = re.compile(rf"{BOOKS_PATH}([^/]+)(/.*)?", re.DOTALL)


class BookMiddleware:
    """Notes which book a request is for: the one in its path, or else the default book.

    Whether there is such a book is left to its route: behind the checks of the caller, and in the shape of the door.
    """

    def __init__(self, app: ASGIApp, default: str) -> None:
        self.app = app
        self.default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = _PATH.fullmatch(scope["path"])
            scope[_SCOPE_KEY] = found[1] if found else self.default
            scope["path"] = (found[2] or "/") if found else scope["path"]
        await self.app(scope, receive, send)


class BookRoute(BaseRoute):
    """Hands the requests for other books than the default one to their routers."""

    def __init__(self, default: str, router_of: Callable[[str], Awaitable[ASGIApp]]) -> None:
        self._default = default
        self._router_of = router_of

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_other = scope["type"] == "http" and requested_book(scope) != self._default
        return (Match.FULL if is_other else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        router = await self._router_of(requested_book(scope))
        await router(scope, receive, send)


def requested_book(scope: MutableMapping[str, Any]) -> str:
    """The name of the book that a request is for; it may be any text."""
    return str(scope.get(_SCOPE_KEY, ""))


def book_prefix(scope: MutableMapping[str, Any]) -> str:
    """What the paths of the requested book begin with."""
    name = requested_book(scope)
    return f"{BOOKS_PATH}{quote(name)}" if name else ""
