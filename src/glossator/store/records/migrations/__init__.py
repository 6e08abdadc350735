"""Alembic migrations of the record store."""
