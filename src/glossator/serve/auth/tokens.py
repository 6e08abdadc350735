"""Widget tokens: short-lived JWTs that are valid for one book and for pages of one web origin."""

from __future__ import annotations

import re
import time
from collections.abc import Set as AbstractSet
from typing import Any

from glossator.core.errors import BadInput
from glossator.serve.auth.callers import WIDGET, Caller, Scope, expand
from glossator.serve.auth.origins import web_origin

MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS = 60, 3600
_ALGORITHM = "HS256"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def token_claims(
    origin: str, user: str | None, seconds: int, issuer: str | None = None, book: str = ""
) -> dict[str, Any]:
    """The claims of a new token."""
    optional = {"sub": user, "iss": issuer, "book": book or None}
    claims: dict[str, Any] = {"aud": web_origin(origin)}
    claims |= {name: value for name, value in optional.items() if value is not None}
    if not MIN_TOKEN_SECONDS <= seconds <= MAX_TOKEN_SECONDS:
        raise BadInput("Invalid token lifetime.", f"Use {MIN_TOKEN_SECONDS} to {MAX_TOKEN_SECONDS} seconds.")
    now = int(time.time())
    return claims | {"iat": now, "exp": now + int(seconds)}


def sign_token(claims: dict[str, Any], secret: str) -> str:
    """The token with these claims."""
    import jwt

    return jwt.encode(claims, secret, algorithm=_ALGORITHM)


def token_caller(
    token: str, secret: str, origin: str | None, key_ids: AbstractSet[str], book: str = ""
) -> Caller | None:
    """The caller that a token represents; None if it is invalid, expired, or for another origin or book."""
    import jwt

    if not origin or not _TOKEN.fullmatch(token):
        return None
    try:
        claims = jwt.decode(
            token,
            secret,
            algorithms=[_ALGORITHM],
            audience=origin,
            options={"require": ["exp", "iat", "aud"], "strict_aud": True},
        )
    except jwt.PyJWTError:
        return None
    if claims.get("book", "") != book:
        return None
    if "iss" in claims and str(claims["iss"]) not in key_ids:
        return None
    return Caller(WIDGET, claims.get("sub"), expand([Scope.WRITE]))
