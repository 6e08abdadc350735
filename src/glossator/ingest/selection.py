"""Turns a user's selection into a document, so that it is chunked like a page."""

from __future__ import annotations

import hashlib
import re

from glossator.core.types import Block, BlockKind, Document

_PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\n\s*\n|\s*\Z)", re.DOTALL)


def selection_document(text: str) -> Document:
    """The unchanged selection, with a block for each paragraph; offsets refer to the selected text."""
    blocks = tuple(Block(BlockKind.PARAGRAPH, m.start(), m.end()) for m in _PARAGRAPH.finditer(text))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document("selection", "", "Your selection", (), text, blocks, digest)
