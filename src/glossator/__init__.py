"""Ask a book; every sentence of the answer is cited, and the citation opens the page at those words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glossator.core.types import Answer, Citation, Filters, IngestReport, Passage
    from glossator.facade import Book
    from glossator.facade import open_book as open

__version__ = "0.1.0"
__all__ = ["Answer", "Book", "Citation", "Filters", "IngestReport", "Passage", "__version__", "open"]

_TYPES = ("Answer", "Citation", "Filters", "IngestReport", "Passage")


def __getattr__(name: str) -> Any:
    """Loaded on first use, so that importing the package costs nothing."""
    if name in ("open", "Book"):
        from glossator import facade

        return facade.open_book if name == "open" else facade.Book
    if name in _TYPES:
        from glossator.core import types

        return getattr(types, name)
    raise AttributeError(f"module 'glossator' has no attribute {name!r}")
