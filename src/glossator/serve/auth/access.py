"""Who may do what: a key or a token for every request, where keys were made."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asgi

from glossator.core.errors import Forbidden
from glossator.serve.auth.keys import SECONDS_AT_LEAST, SECONDS_AT_MOST, KeyRing, Scope
from glossator.serve.doors.base import PLAIN, Body
from glossator.serve.middleware.context import context_of

PUBLIC = frozenset(("/livez", "/readyz", "/health", "/ask/health", "/style.css", "/widget.js", "/widget/ur.js"))
"""What needs no key: whether the server is well, and what a page needs before it can ask."""
WIDGET = "widget"
_ADMIN = frozenset(("/metrics",))
_WRITE = frozenset(("/feedback", "/widget/token"))


class Access:
    """Notes who asks, and refuses those who may not."""

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        self.app = app
        self.keys = keys

    async def __call__(self, scope: Asgi, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "OPTIONS":
            request = HTTPConnection(scope)
            context = context_of(request)
            if scope["path"] not in PUBLIC:
                context.caller = self.keys.caller(_presented(request), _origin(request))
                context.caller.need(_needed(scope["method"], scope["path"]))
        await self.app(scope, receive, send)


def _origin(request: HTTPConnection) -> str | None:
    """Where the asking page comes from; browsers do not say so when they read from the page's own origin."""
    if request.headers.get("sec-fetch-site") == "same-origin" and "origin" not in request.headers:
        return f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("origin")


def _presented(request: HTTPConnection) -> str:
    """The key or token that came along."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def _needed(method: str, path: str) -> Scope:
    if path in _ADMIN:
        return Scope.ADMIN
    changes = method in ("DELETE", "PUT", "PATCH") or path in _WRITE or path.endswith("/reset")
    return Scope.WRITE if changes else Scope.READ


class TokenRequest(Body):
    """Who a token is for."""

    origin: Annotated[str, Field(max_length=300, examples=["https://docs.example.com"])]
    user: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    seconds: Annotated[int, Field(ge=SECONDS_AT_LEAST, le=SECONDS_AT_MOST)] = 900


class TokenResponse(Body):
    """A token that asks from one origin, for a while."""

    token: str
    expires_in: int


def token_routes(keys: KeyRing) -> APIRouter:
    """Tokens for widgets."""
    router = PLAIN.router()

    @router.post("/widget/token", tags=["widget"])
    async def make_token(body: TokenRequest, request: Request) -> TokenResponse:
        """A short-lived token for a page: your site's own server asks for it with a key that has the scope `write`."""
        caller = context_of(request).caller
        if caller.name == WIDGET:
            raise Forbidden("A token makes no tokens.", "Ask for one with a key.")
        if caller.user_id is not None and body.user not in (None, caller.user_id):
            raise Forbidden("This key is one user's own.", "Use a key that belongs to nobody in particular.")
        user = body.user or caller.user_id
        return TokenResponse(token=keys.token(body.origin, user, body.seconds), expires_in=body.seconds)

    return router
