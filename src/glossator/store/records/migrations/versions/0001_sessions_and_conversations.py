"""Sessions and conversations, with the columns of an existing chat service; its tables are adopted if present."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from glossator.store.records.schema import UtcTime, json_type

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create both tables where they do not exist."""
    existing = sa.inspect(op.get_bind()).get_table_names()
    if "sessions" not in existing:
        op.create_table(
            "sessions",
            sa.Column("session_id", sa.Uuid(), primary_key=True),
            sa.Column("created_at", UtcTime(), server_default=sa.func.now()),
            sa.Column("last_active", UtcTime(), server_default=sa.func.now()),
        )
    if "conversations" not in existing:
        op.create_table(
            "conversations",
            sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
            sa.Column("session_id", sa.Uuid(), sa.ForeignKey("sessions.session_id"), nullable=False),
            sa.Column("timestamp", UtcTime(), server_default=sa.func.now()),
            sa.Column("query", sa.Text(), nullable=False),
            sa.Column("response", sa.Text(), nullable=False),
            sa.Column("sources", json_type, server_default=sa.text("'[]'")),
            sa.Column("metadata", json_type, server_default=sa.text("'{}'")),
            sa.Column("created_at", UtcTime(), server_default=sa.func.now()),
            sqlite_autoincrement=True,
        )
        op.create_index("idx_conversations_session", "conversations", ["session_id"])
        op.create_index("idx_conversations_timestamp", "conversations", [sa.desc("timestamp")])


def downgrade() -> None:
    """Drop both tables; every conversation is lost."""
    op.drop_table("conversations")
    op.drop_table("sessions")
