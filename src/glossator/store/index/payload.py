"""A chunk as a payload: plain values that every index can store."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from glossator.core.types import Chunk, Filters, Span


def to_payload(chunk: Chunk, row: int, created_at: str) -> dict[str, Any]:
    """The values of a chunk; `row` locates its sentence vectors."""
    return {
        "content": chunk.text,
        "url": chunk.url,
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "title": chunk.title,
        "chunk_index": chunk.position,
        "created_at": created_at,
        "path": urlsplit(chunk.url).path,
        "section": chunk.section,
        "sections": list(chunk.heading_path),
        "chapters": list(chunk.chapters),
        "anchor": chunk.anchor,
        "start": chunk.start,
        "end": chunk.end,
        "content_hash": chunk.content_hash,
        "sentences": [n for span in chunk.sentences for n in (span.start, span.end)],
        "row": row,
        "versions": list(chunk.versions),
    }


def to_chunk(payload: dict[str, Any]) -> Chunk:
    """The chunk of a payload."""
    offsets = payload["sentences"]
    return Chunk(
        chunk_id=payload["chunk_id"],
        document_id=payload["document_id"],
        url=payload["url"],
        title=payload["title"],
        chapters=tuple(payload["chapters"]),
        section=payload["section"],
        heading_path=tuple(payload["sections"]),
        anchor=payload["anchor"],
        position=payload["chunk_index"],
        start=payload["start"],
        end=payload["end"],
        text=payload["content"],
        sentences=tuple(Span(a, b) for a, b in zip(offsets[::2], offsets[1::2], strict=True)),
        row=payload["row"],
        versions=tuple(payload.get("versions", ())),
    )


def exact_conditions(filters: Filters) -> list[tuple[str, str]]:
    """The lists of a payload that must contain a value."""
    wanted = {"sections": filters.section, "chapters": filters.chapter, "versions": filters.version}
    return [(field, value) for field, value in wanted.items() if value]


def prefix_condition(filters: Filters) -> tuple[str, str] | None:
    """The field that must start with a value: a prefix that starts with a slash is one of the URL's path."""
    prefix = filters.source_url_prefix
    return ("path" if prefix.startswith("/") else "url", prefix) if prefix else None
