"""Authentication and authorisation of every request, and the route that issues widget tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from glossator.core.errors import Forbidden, Unauthorized
from glossator.serve.auth.callers import ANYONE, READER, WIDGET, Caller, Scope
from glossator.serve.auth.keys import KeyStore
from glossator.serve.auth.tokens import MAX_TOKEN_SECONDS, MIN_TOKEN_SECONDS
from glossator.serve.doors.base import DEFAULT_DOOR, StrictBody
from glossator.serve.middleware.books import BookRoute, requested_book
from glossator.serve.middleware.context import context_of
from glossator.serve.middleware.rate_limit import RateLimiter, client_address

TOKEN_PATH = "/widget/token"  # noqa: S105 - a path
_READING_PATHS = frozenset(("/books", "/llms.txt"))
"""Need no key if reading is public, like the pages of the book."""
PUBLIC_PATHS = frozenset(
    ("/livez", "/readyz", "/health", "/ask/health", "/style.css", "/reader.js", "/widget.js", "/widget/ur.js")
)
"""Need no key: health checks, and what a page loads before it can ask."""
_ADMIN_PATHS = frozenset(("/metrics", "/admin/ingest"))
_WRITE_PATHS = frozenset(("/feedback", TOKEN_PATH))


class AuthMiddleware:
    """Identifies the caller of each request and rejects those without the required scope."""

    def __init__(
        self, app: ASGIApp, keys: KeyStore, failures: RateLimiter | None = None, *, public_reading: bool = False
    ) -> None:
        self.app = app
        self.keys = keys
        self.failures = failures
        self.public_reading = public_reading

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "OPTIONS" and scope["path"] not in PUBLIC_PATHS:
            request = HTTPConnection(scope)
            caller = await self._authenticate(request)
            context_of(request).caller = caller
            if caller != READER:
                caller.require(_required_scope(scope["method"], scope["path"]))
        await self.app(scope, receive, send)

    async def _authenticate(self, request: HTTPConnection) -> Caller:
        """The caller. Only failures are counted: whoever has a key is not locked out by others at the same address."""
        credential = _credential(request)
        if self.public_reading and not credential and not self.keys.is_open and _is_reading(request):
            return READER
        try:
            return self.keys.authenticate(credential, _origin(request), requested_book(request.scope))
        except Unauthorized:
            if self.failures is not None:
                await self.failures.check(client_address(request))
            raise


def _origin(request: HTTPConnection) -> str | None:
    """The origin of the page that sent the request; browsers omit the header for reads from the same origin."""
    if request.headers.get("sec-fetch-site") == "same-origin" and "origin" not in request.headers:
        return f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("origin")


def _credential(request: HTTPConnection) -> str:
    """The key or token that was sent."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def _is_reading(request: HTTPConnection) -> bool:
    """Whether a request is for a page of the book, or for a token to ask with from such a page."""
    method, path = request.scope["method"], request.scope["path"]
    if method == "POST" and path == TOKEN_PATH:
        return _is_own_origin(request, request.headers.get("origin", ""))
    return method == "GET" and (path in _READING_PATHS or _is_page(request.scope))


def _is_own_origin(request: HTTPConnection, origin: str) -> bool:
    """Whether an origin is this server; its scheme may differ, as a proxy may end TLS."""
    scheme, _, host = origin.partition("://")
    return scheme in ("http", "https") and bool(host) and host == request.headers.get("host", "").lower()


def _is_page(scope: AsgiScope) -> bool:
    """Whether the route of a request is a page: its errors are pages, too."""
    routes = (route for route in scope["app"].routes if not isinstance(route, BookRoute))  # all books have the same
    matches = ((route, route.matches(scope)[0]) for route in routes)
    route, match = next(((route, match) for route, match in matches if match is not Match.NONE), (None, Match.NONE))
    return match is Match.FULL and getattr(route, "response_class", None) is HTMLResponse


def _required_scope(method: str, path: str) -> Scope:
    if path in _ADMIN_PATHS or path.startswith("/admin/ingest/") or (method, path) == ("GET", "/feedback"):
        return Scope.ADMIN
    writes = method in ("DELETE", "PUT", "PATCH") or path in _WRITE_PATHS or path.endswith("/reset")
    return Scope.WRITE if writes else Scope.READ


class TokenRequest(StrictBody):
    """The page and the user that a token is for."""

    origin: Annotated[str, Field(max_length=300, examples=["https://docs.example.com"])]
    user: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    seconds: Annotated[int, Field(ge=MIN_TOKEN_SECONDS, le=MAX_TOKEN_SECONDS)] = 900


class TokenResponse(StrictBody):
    """A short-lived token that is valid for pages of one origin."""

    token: str
    expires_in: int


def token_routes(keys: KeyStore, book: str) -> APIRouter:
    """The route that issues widget tokens for one book."""
    router = DEFAULT_DOOR.router()

    @router.post(TOKEN_PATH, tags=["widget"])
    async def make_token(body: TokenRequest, request: Request) -> TokenResponse:
        """Issue a short-lived token for a page. Your server requests it with a key that has the scope `write`."""
        caller = context_of(request).caller
        if caller.name == WIDGET:
            raise Forbidden("Tokens cannot create tokens.", "Use an API key.")
        if caller == READER and not _is_own_origin(request, body.origin):
            raise Forbidden("Without a key, tokens are issued only for pages of this server.", "Use an API key.")
        if caller.user_id is not None and body.user not in (None, caller.user_id):
            raise Forbidden(
                "This key belongs to one user and cannot create tokens for others.", "Use a key without a user."
            )
        user, issuer = body.user or caller.user_id, None if caller in (ANYONE, READER) else caller.name
        token = keys.create_token(body.origin, user, body.seconds, issuer=issuer, book=book)
        return TokenResponse(token=token, expires_in=body.seconds)

    return router
