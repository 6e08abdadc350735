"""Ask a book; every sentence of the answer is cited, and each citation opens the page at the quoted words."""

from __future__ import annotations

from importlib import import_module
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

_ANSWERS, _TYPES = "glossator.core.answers", "glossator.core.types"
_LOCATIONS = {
    "Answer": (_ANSWERS, "Answer"),
    "Citation": (_ANSWERS, "Citation"),
    "Evidence": (_ANSWERS, "Evidence"),
    "Verdict": (_ANSWERS, "Verdict"),
    "Filters": (_TYPES, "Filters"),
    "IngestReport": (_TYPES, "IngestReport"),
    "Passage": (_TYPES, "Passage"),
    "Book": ("glossator.facade", "Book"),
    "open": ("glossator.facade", "open_book"),
    "verify": ("glossator.facade", "verify"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first use, so that importing the package is fast."""
    if name not in _LOCATIONS:
        raise AttributeError(f"module 'glossator' has no attribute {name!r}")
    module, attribute = _LOCATIONS[name]
    return getattr(import_module(module), attribute)
