"""Session states, receipts, turns and feedback."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from glossator.store.records.schema import UtcTime, json_type

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Extend the two tables and create three more."""
    _make_receipts()
    with op.batch_alter_table("sessions") as sessions:
        sessions.add_column(sa.Column("name", sa.Text()))
        sessions.add_column(sa.Column("user_id", sa.Text()))
        sessions.add_column(sa.Column("state", sa.String(16), nullable=False, server_default="created"))
        sessions.add_column(
            sa.Column("context_mode", sa.String(32), nullable=False, server_default="retrieval_pipeline")
        )
        sessions.add_column(sa.Column("active_filters", json_type, nullable=False, server_default=sa.text("'{}'")))
        sessions.add_column(sa.Column("message_count", sa.Integer(), nullable=False, server_default=sa.text("0")))
        sessions.create_check_constraint("ck_sessions_state", "state IN ('created', 'active', 'inactive', 'expired')")
    op.create_index("idx_sessions_last_active", "sessions", ["last_active"])
    op.create_index("idx_sessions_user", "sessions", ["user_id", "last_active"])
    with op.batch_alter_table("conversations", table_kwargs={"sqlite_autoincrement": True}) as conversations:
        conversations.add_column(sa.Column("receipt_id", sa.String(64)))
        conversations.add_column(sa.Column("request_key", sa.Text()))
        conversations.create_foreign_key("fk_conversations_receipt", "receipts", ["receipt_id"], ["receipt_id"])
    op.create_index("idx_conversations_history", "conversations", ["session_id", "id"])
    op.create_index("idx_conversations_request", "conversations", ["session_id", "request_key"], unique=True)
    op.create_index("idx_conversations_receipt", "conversations", ["receipt_id"])
    _make_turns_and_feedback()
    _count_messages()


def _make_receipts() -> None:
    op.create_table(
        "receipts",
        sa.Column("receipt_id", sa.String(64), primary_key=True),
        sa.Column("created_at", UtcTime(), nullable=False, server_default=sa.func.now()),
        sa.Column("body", json_type, nullable=False),
    )
    op.create_index("idx_receipts_created", "receipts", ["created_at"])


def _make_turns_and_feedback() -> None:
    session = "sessions.session_id"
    op.create_table(
        "turns",
        sa.Column("ticket", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Uuid(), sa.ForeignKey(session, ondelete="CASCADE"), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_turns_session", "turns", ["session_id", "ticket"])
    receipt = sa.ForeignKey("receipts.receipt_id", ondelete="CASCADE")
    op.create_table(
        "feedback",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("receipt_id", sa.String(64), receipt, nullable=False),
        sa.Column("session_id", sa.Uuid(), sa.ForeignKey(session, ondelete="CASCADE")),
        sa.Column("rating", sa.String(8), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False, server_default=""),
        sa.Column("text", sa.Text(), nullable=False, server_default=""),
        sa.Column("created_at", UtcTime(), nullable=False, server_default=sa.func.now()),
        sa.CheckConstraint("rating IN ('up', 'down')", name="ck_feedback_rating"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_feedback_receipt", "feedback", ["receipt_id"])


def _count_messages() -> None:
    """Fill in the message count and the state of existing sessions."""
    op.execute(
        "UPDATE sessions SET message_count ="
        " 2 * (SELECT count(*) FROM conversations WHERE conversations.session_id = sessions.session_id)"
    )
    op.execute("UPDATE sessions SET state = 'active' WHERE message_count > 0")


def downgrade() -> None:
    """Return to the two tables; receipts and feedback are lost, conversations stay."""
    op.drop_table("feedback")
    op.drop_table("turns")
    for name in ("idx_conversations_history", "idx_conversations_request", "idx_conversations_receipt"):
        op.drop_index(name, "conversations")
    with op.batch_alter_table("conversations", table_kwargs={"sqlite_autoincrement": True}) as conversations:
        conversations.drop_constraint("fk_conversations_receipt", type_="foreignkey")
        conversations.drop_column("receipt_id")
        conversations.drop_column("request_key")
    op.drop_index("idx_sessions_last_active", "sessions")
    op.drop_index("idx_sessions_user", "sessions")
    with op.batch_alter_table("sessions") as sessions:
        sessions.drop_constraint("ck_sessions_state", type_="check")
        for name in ("name", "user_id", "state", "context_mode", "active_filters", "message_count"):
            sessions.drop_column(name)
    op.drop_table("receipts")
