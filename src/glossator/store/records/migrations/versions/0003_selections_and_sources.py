"""Selections, receipts given outside conversations, and sources in the format of the chat contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from glossator.store.records.schema import json_type

revision = "0003"
down_revision = "0002"

_BATCH_SIZE = 500
_rows = sa.table(
    "conversations", sa.column("id", sa.Integer()), sa.column("sources", json_type), sa.column("metadata", json_type)
)


def upgrade() -> None:
    """Add the columns, rewrite the stored sources, and order the index by time as it is read."""
    op.add_column("conversations", sa.Column("selected_text", sa.Text()))
    op.add_column("receipts", sa.Column("is_standalone", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.execute(
        "UPDATE receipts SET is_standalone = true WHERE NOT EXISTS"
        " (SELECT 1 FROM conversations WHERE conversations.receipt_id = receipts.receipt_id)"
    )
    _rewrite_rows(_with_contract_sources)
    # On SQLite the previous revision recreated the table, and lost the order of this index.
    op.drop_index("idx_conversations_timestamp", "conversations", if_exists=True)
    op.create_index("idx_conversations_timestamp", "conversations", [sa.desc("timestamp")])


def downgrade() -> None:
    """Return to citations as sources; selections are lost."""
    _rewrite_rows(_with_citations_as_sources)
    op.drop_column("receipts", "is_standalone")
    op.drop_column("conversations", "selected_text")


def _rewrite_rows(change: Callable[[Any, Any], dict[str, Any] | None]) -> None:
    db = op.get_bind()
    update = sa.update(_rows).where(_rows.c.id == sa.bindparam("row"))
    update = update.values(sources=sa.bindparam("new_sources"), metadata=sa.bindparam("new_metadata"))
    for batch in _batches(db):
        changed = [(row.id, change(row.sources, row.metadata)) for row in batch]
        values = [
            {"row": row, "new_sources": new["sources"], "new_metadata": new["metadata"]} for row, new in changed if new
        ]
        if values:
            db.execute(update, values)


def _batches(db: sa.Connection) -> Iterator[list[sa.Row[Any]]]:
    last = 0
    while batch := db.execute(_rows.select().where(_rows.c.id > last).order_by(_rows.c.id).limit(_BATCH_SIZE)).all():
        yield list(batch)
        last = batch[-1].id


def _with_contract_sources(sources: Any, metadata: Any) -> dict[str, Any] | None:
    """Citations move to the metadata; rows of other programs are left as they are."""
    if not isinstance(metadata, dict) or "sentences" not in metadata or not isinstance(sources, list):
        return None
    return {
        "sources": [_contract_source(citation) for citation in sources if citation.get("url")],
        "metadata": metadata | {"citations": sources},
    }


def _contract_source(citation: dict[str, Any]) -> dict[str, Any]:
    return {
        "source_url": citation["url"],
        "title": citation["title"],
        "section": citation["section"],
        "chunk_position": citation["position"],
        "similarity_score": min(1.0, max(0.0, citation["score"])),
        "snippet": (citation["snippet"] or citation["quote"])[:200],
    }


def _with_citations_as_sources(_sources: Any, metadata: Any) -> dict[str, Any] | None:
    if not isinstance(metadata, dict) or "citations" not in metadata:
        return None
    rest = {name: value for name, value in metadata.items() if name != "citations"}
    return {"sources": metadata["citations"], "metadata": rest}
