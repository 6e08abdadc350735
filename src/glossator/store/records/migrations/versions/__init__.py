"""The steps by which the tables came to be what they are; Alembic runs them."""
