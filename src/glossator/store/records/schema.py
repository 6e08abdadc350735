"""The tables of the record store; `sessions` and `conversations` extend those of an existing chat service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    desc,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcTime(TypeDecorator[datetime]):
    """A UTC time: `timestamptz` on Postgres, sortable text on SQLite."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type in this database."""
        aware = dialect.name == "postgresql"
        return dialect.type_descriptor(DateTime(timezone=True) if aware else String(32))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Store a time as UTC; a naive one is an error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone")
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.isoformat(" ", "microseconds")

    def process_result_value(self, value: Any, _dialect: Dialect) -> datetime | None:
        """Read a time as UTC."""
        if value is None:
            return None
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()
json_type = JSON().with_variant(JSONB(), "postgresql")
_now = func.now()

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Uuid(), primary_key=True),
    Column("created_at", UtcTime(), server_default=_now),
    Column("last_active", UtcTime(), server_default=_now),
    Column("name", Text()),
    Column("user_id", Text()),
    Column("state", String(16), nullable=False, server_default="created"),
    Column("context_mode", String(32), nullable=False, server_default="retrieval_pipeline"),
    Column("active_filters", json_type, nullable=False, server_default=text("'{}'")),
    Column("message_count", Integer(), nullable=False, server_default=text("0")),
    CheckConstraint("state IN ('created', 'active', 'inactive', 'expired')", name="ck_sessions_state"),
    Index("idx_sessions_last_active", "last_active"),
    Index("idx_sessions_user", "user_id", "last_active"),
)

receipts = Table(
    "receipts",
    metadata,
    Column("receipt_id", String(64), primary_key=True),
    Column("created_at", UtcTime(), nullable=False, server_default=_now),
    Column("body", json_type, nullable=False),
    Column("is_standalone", Boolean(), nullable=False, server_default=text("false")),
    Index("idx_receipts_created", "created_at"),
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", Integer(), primary_key=True, autoincrement=True),
    Column("session_id", Uuid(), ForeignKey("sessions.session_id"), nullable=False),
    Column("timestamp", UtcTime(), server_default=_now),
    Column("query", Text(), nullable=False),
    Column("response", Text(), nullable=False),
    Column("sources", json_type, server_default=text("'[]'")),
    Column("metadata", json_type, server_default=text("'{}'")),
    Column("created_at", UtcTime(), server_default=_now),
    Column("receipt_id", String(64), ForeignKey("receipts.receipt_id")),
    Column("request_key", Text()),
    Column("selected_text", Text()),
    Index("idx_conversations_session", "session_id"),
    Index("idx_conversations_timestamp", desc("timestamp")),
    Index("idx_conversations_history", "session_id", "id"),
    Index("idx_conversations_request", "session_id", "request_key", unique=True),
    Index("idx_conversations_receipt", "receipt_id"),
    sqlite_autoincrement=True,
)

turns = Table(
    "turns",
    metadata,
    Column("ticket", Integer(), primary_key=True, autoincrement=True),
    Column("session_id", Uuid(), ForeignKey("sessions.session_id", ondelete="CASCADE"), nullable=False),
    Column("expires_at", UtcTime(), nullable=False),
    Index("idx_turns_session", "session_id", "ticket"),
    sqlite_autoincrement=True,
)

feedback = Table(
    "feedback",
    metadata,
    Column("id", Integer(), primary_key=True, autoincrement=True),
    Column("receipt_id", String(64), ForeignKey("receipts.receipt_id", ondelete="CASCADE"), nullable=False),
    Column("session_id", Uuid(), ForeignKey("sessions.session_id", ondelete="CASCADE")),
    Column("rating", String(8), nullable=False),
    Column("reason", Text(), nullable=False, server_default=""),
    Column("text", Text(), nullable=False, server_default=""),
    Column("created_at", UtcTime(), nullable=False, server_default=_now),
    CheckConstraint("rating IN ('up', 'down')", name="ck_feedback_rating"),
    Index("idx_feedback_receipt", "receipt_id"),
    sqlite_autoincrement=True,
)
