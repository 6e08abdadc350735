"""Conversations as values: a session, its exchanges, what readers say of an answer."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from glossator.core.answers import Answer
from glossator.core.errors import SessionIdError
from glossator.core.validation import checked_text

MOST_MESSAGES = 100
"""Messages of a conversation that can be its context; older ones stay in the record alone."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NAMES = uuid.UUID("6ba7d9a8-6c11-4f0e-9d0a-0b6f5f1f4a51")
"""Where the ids of sessions live that a client named itself."""


class SessionState(StrEnum):
    """The life of a session."""

    CREATED = "created"
    ACTIVE = "active"
    INACTIVE = "inactive"
    EXPIRED = "expired"


class ContextMode(StrEnum):
    """Where the answers of a session come from."""

    RETRIEVAL_PIPELINE = "retrieval_pipeline"
    USER_PROVIDED = "user_provided"


class Rating(StrEnum):
    """What a reader thinks of an answer."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Which session: `name` is what its client calls it, `session_id` what the records do."""

    session_id: uuid.UUID
    name: str
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation as the records know it; `messages_left_out` no longer belong to its context."""

    key: SessionKey
    created_at: datetime
    last_active: datetime
    state: SessionState
    context_mode: ContextMode
    active_filters: dict[str, str]
    message_count: int
    messages_left_out: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what was shown for it."""

    id: int
    timestamp: datetime
    question: str
    answer: Answer
    in_context: bool = True


@dataclass(frozen=True, slots=True)
class History:
    """A page of exchanges, oldest first; `before` asks for the page before it."""

    session: Session
    exchanges: tuple[Exchange, ...]
    total: int
    before: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to add one exchange to a conversation.

    `repeats` is the exchange that this request's key already made, and the fingerprint of the request that made it.
    """

    key: SessionKey
    ticket: int
    request_key: str
    recent: tuple[Exchange, ...] = ()
    repeats: tuple[Exchange, str] | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader said of an answer."""

    receipt_id: str
    rating: Rating
    reason: str
    text: str
    created_at: datetime
    question: str = ""
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a clean-up did."""

    inactive: int = 0
    expired: int = 0
    receipts: int = 0
    forgotten: int = 0


def session_key(name: str | None, user_id: str | None = None, request_key: str | None = None) -> SessionKey:
    """The session that a client means.

    A signed-in user's names are their own: the same name of another user is another session. Without a name the
    session is new; a retried request finds the one that its first try began.
    """
    if user_id is not None:
        checked_text(user_id, "user")
    if name is None:
        seed = hashlib.sha256(f"{user_id!r} {checked_text(request_key or '', 'idempotency key')}".encode()).digest()[
            :16
        ]
        name = str(uuid.UUID(bytes=seed, version=4) if request_key else uuid.uuid4())
    if not _NAME.fullmatch(name):
        raise SessionIdError(
            "The session id is not valid.", "Use a UUID, or up to 200 letters, digits, hyphens and underscores."
        )
    name = name.lower() if _UUID.fullmatch(name) else name
    if user_id is None and _UUID.fullmatch(name) and uuid.UUID(name).version != 5:
        return SessionKey(uuid.UUID(name), name)
    return SessionKey(uuid.uuid5(_NAMES, f"{user_id!r} {name}"), name, user_id)
