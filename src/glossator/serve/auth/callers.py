"""Scopes, and the caller that a request was authenticated as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from glossator.core.errors import Forbidden

MAX_KEY_DAYS = 3650
"""How long a key that expires is valid at most."""


class Scope(StrEnum):
    """What a caller may do; each scope includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


_GRANTED_BY = {scope: frozenset(list(Scope)[rank:]) for rank, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: `name` is the id of an API key, `widget` for a token, or `open` where no key is needed."""

    name: str
    user_id: str | None
    scopes: frozenset[Scope]

    def has(self, scope: Scope) -> bool:
        """Whether this scope was granted, or one that includes it."""
        return bool(self.scopes & _GRANTED_BY[scope])

    def require(self, scope: Scope) -> None:
        """Raise `Forbidden` unless the caller has this scope."""
        if not self.has(scope):
            raise Forbidden(f"This requires the scope `{scope}`.", f"Use a key with the scope `{scope}`.")


WIDGET = "widget"
READER = Caller("reader", "public reader", frozenset({Scope.READ}))
"""Anyone, where reading is public; its conversations are not those of keys without a user."""
ANYONE = Caller("open", None, frozenset(Scope))
"""The caller of a server without keys, and of public paths."""


def expand(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """These scopes and all that they include."""
    granted = frozenset(scopes)
    return frozenset(scope for scope in Scope if granted & _GRANTED_BY[scope])
