"""Receipts in SQLite: written once, read by id."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from glossator.core.errors import ReceiptNotFound
from glossator.core.types import Receipt

_WAIT = 10.0
"""Seconds to wait for another process that is writing."""


class Receipts:
    """The receipts of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "receipts.sqlite"

    def keep(self, receipt: Receipt) -> bool:
        """Write a receipt; False when the data directory cannot be written, for an answer need not fail over it."""
        body = TypeAdapter(Receipt).dump_json(receipt).decode()
        try:
            with closing(self._open()) as db, db:
                db.execute("CREATE TABLE IF NOT EXISTS receipts (id TEXT PRIMARY KEY, created TEXT, body TEXT)")
                row = (receipt.receipt_id, receipt.created, body)
                db.execute("INSERT OR IGNORE INTO receipts VALUES (?, ?, ?)", row)
        except (sqlite3.Error, OSError):
            return False
        return True

    def get(self, receipt_id: str) -> Receipt:
        """The receipt with an id."""
        missing = ReceiptNotFound(f"There is no receipt {receipt_id!r}.", "Use an id that an answer carried.")
        if not self._path.exists():
            raise missing
        try:
            address = f"{self._path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT)) as db:
                row = db.execute("SELECT body FROM receipts WHERE id = ?", (receipt_id,)).fetchone()
        except (sqlite3.Error, UnicodeError):
            raise missing from None
        if row is None:
            raise missing
        try:
            return TypeAdapter(Receipt).validate_json(row[0])
        except ValidationError:
            raise ReceiptNotFound(f"The receipt {receipt_id!r} was kept by another version.", "Ask again.") from None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self._path, timeout=_WAIT)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error:
            db.close()
            raise
        return db
