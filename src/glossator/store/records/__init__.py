"""Records: conversations, receipts and feedback in SQLite or Postgres."""
