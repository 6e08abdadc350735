"""Names of books: one server can have several."""

from __future__ import annotations

import re

from glossator.core.errors import BadInput

BOOK_NAME = r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?"
"""Without underscores: names of indexes on shared servers have them, so that no two can be mistaken for each other."""
BOOKS_PATH = "/books/"
"""Where the server has the books that have a name."""
BOOKS_FOLDER = "books"
_BOOK_NAME = re.compile(BOOK_NAME)


def is_book_name(name: str) -> bool:
    """Whether a book can have this name."""
    return bool(_BOOK_NAME.fullmatch(name))


def validate_book_name(name: str) -> str:
    """The name of a book; empty for the default book."""
    if name and not is_book_name(name):
        raise BadInput(
            f"{name[:40]!r} is not the name of a book.",
            "Use 1 to 32 lower-case letters, digits and hyphens, such as rust-book.",
        )
    return name
