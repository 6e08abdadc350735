"""The index in Postgres with pgvector."""
