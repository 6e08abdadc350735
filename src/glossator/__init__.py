"""Ask a book; every sentence of the answer is cited, and the citation opens the page at those words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glossator.core.answers import Answer, Citation, Evidence, Verdict
    from glossator.core.types import Filters, IngestReport, Passage
    from glossator.facade import Book, verify
    from glossator.facade import open_book as open

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Book",
    "Citation",
    "Evidence",
    "Filters",
    "IngestReport",
    "Passage",
    "Verdict",
    "__version__",
    "open",
    "verify",
]

_TYPES = ("Answer", "Citation", "Evidence", "Filters", "IngestReport", "Passage", "Verdict")
_FACADE = {"open": "open_book", "Book": "Book", "verify": "verify"}


def __getattr__(name: str) -> Any:
    """Loaded on first use, so that importing the package costs nothing."""
    if name in _FACADE:
        from glossator import facade

        return getattr(facade, _FACADE[name])
    if name in _TYPES:
        from glossator.core import types

        return getattr(types, name)
    raise AttributeError(f"module 'glossator' has no attribute {name!r}")
