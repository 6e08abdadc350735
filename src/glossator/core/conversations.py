"""Conversations: a session, its exchanges, its turns, and feedback on answers."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from glossator.core.answers import Answer
from glossator.core.errors import InvalidSessionId
from glossator.core.validation import validate_text

MAX_CONTEXT_MESSAGES = 100
"""Messages of a conversation that are used as context; older ones are only stored."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NAMESPACE = uuid.UUID("6ba7d9a8-6c11-4f0e-9d0a-0b6f5f1f4a51")
"""UUID namespace for sessions whose name was chosen by the client."""


class SessionState(StrEnum):
    """The state of a session."""

    CREATED = "created"
    ACTIVE = "active"
    INACTIVE = "inactive"
    EXPIRED = "expired"


class ContextMode(StrEnum):
    """What the answers of a session are based on."""

    RETRIEVAL_PIPELINE = "retrieval_pipeline"
    USER_PROVIDED = "user_provided"


class Rating(StrEnum):
    """A user's rating of an answer."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Identifies a session: `name` is the client's id for it, `session_id` the database's."""

    session_id: uuid.UUID
    name: str
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A stored conversation; its first `messages_left_out` messages are no longer used as context."""

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
    """A stored question with its answer."""

    id: int
    timestamp: datetime
    question: str
    answer: Answer
    selection: str | None = None
    in_context: bool = True


@dataclass(frozen=True, slots=True)
class ExchangeMetadata:
    """What the chat contract stores with each exchange."""

    request_id: str
    query_time_ms: float
    retrieval_count: int
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class History:
    """A page of exchanges, oldest first; `before` is the cursor of the previous page."""

    session: Session
    exchanges: tuple[Exchange, ...]
    total: int
    before: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to add one exchange to a conversation.

    `duplicate_of` is set if the idempotency key was used before: the exchange stored then, and that request's
    fingerprint.
    """

    key: SessionKey
    ticket: int
    idempotency_key: str
    recent: tuple[Exchange, ...] = ()
    duplicate_of: tuple[Exchange, str] | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's feedback on an answer."""

    receipt_id: str
    rating: Rating
    reason: str
    text: str
    created_at: datetime
    question: str = ""
    session: str | None = None


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What a clean-up changed."""

    inactive: int = 0
    expired: int = 0
    receipts: int = 0
    forgotten: int = 0


def session_key(name: str | None, user_id: str | None = None, idempotency_key: str | None = None) -> SessionKey:
    """The key of the session that a client names.

    Each user has their own names: the same name used by another user is another session. Without a name, the session
    is new; with an idempotency key, a retried request gets the session of its first attempt.
    """
    if user_id is not None:
        validate_text(user_id, "user")
    if name is None:
        name = str(_seeded_id(user_id, idempotency_key) if idempotency_key else uuid.uuid4())
    if not _NAME.fullmatch(name):
        raise InvalidSessionId(
            "Malformed session id.", "Use a UUID, or up to 200 letters, digits, hyphens and underscores."
        )
    name = name.lower() if _UUID.fullmatch(name) else name
    if user_id is None and _UUID.fullmatch(name) and uuid.UUID(name).version != 5:
        return SessionKey(uuid.UUID(name), name)
    return SessionKey(uuid.uuid5(_NAMESPACE, f"{user_id!r} {name}"), name, user_id)


def _seeded_id(user_id: str | None, idempotency_key: str) -> uuid.UUID:
    seed = hashlib.sha256(f"{user_id!r} {validate_text(idempotency_key, 'idempotency key')}".encode()).digest()
    return uuid.UUID(bytes=seed[:16], version=4)
