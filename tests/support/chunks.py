"""Chunks made from plain text, for tests of embedders."""

from __future__ import annotations

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Chunk


def make_chunk(text: str, title: str = "Page") -> Chunk:
    """A chunk with the text's sentences, below a heading with the page's title."""
    spans = tuple(split_sentences(text))
    return Chunk(f"{title}#0", title, "", title, (title,), title, (title,), "", 0, 0, len(text), text, spans)
