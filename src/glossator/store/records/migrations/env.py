"""Alembic runs this: the steps go over the connection that it is handed, inside that one's transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
