"""Content hashes of documents: three parts show whether the text, the URL or something else has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_LENGTHS = (24, 16, 24)


def content_hash(text: str, address: str, others: Iterable[str]) -> str:
    """One hash of everything that an index contains of a document."""
    parts = (text, address, "\x00".join(others))
    return "-".join(_digest(part)[:length] for part, length in zip(parts, _LENGTHS, strict=True))


def text_part(whole: str) -> str:
    """The part that is the same wherever the text is."""
    return whole.partition("-")[0]


def is_moved(old: str, new: str) -> bool:
    """Whether a document has the same text as before, at another address."""
    return old.split("-")[:1] == new.split("-")[:1] and old.split("-")[1:2] != new.split("-")[1:2]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
