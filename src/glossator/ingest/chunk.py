"""Chunking: documents are split by structure, with sizes in tokens of the embedding model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Block, BlockKind, Chunk, Document, Span

CHUNKER_VERSION = 3


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """Target and maximum size of a chunk, in tokens."""

    target: int
    limit: int


BOOK_CHUNKS = ChunkSize(350, 400)
SELECTION_CHUNKS = ChunkSize(60, 90)
"""Smaller chunks locate an answer more precisely within a selection."""


CountTokens = Callable[[Sequence[str]], list[int]]
_PROSE = (BlockKind.PARAGRAPH, BlockKind.ITEM)


@dataclass(frozen=True, slots=True)
class _ChunkUnit:
    """Text that is never split: a code block, a table row, a formula, a short paragraph or a sentence."""

    start: int
    end: int
    tokens: int
    block: Block


@dataclass(frozen=True, slots=True)
class _HeadingSection:
    """The blocks between one heading and the next."""

    path: tuple[str, ...]
    anchor: str
    blocks: tuple[Block, ...]


def chunk_document(document: Document, count_tokens: CountTokens, size: ChunkSize = BOOK_CHUNKS) -> list[Chunk]:
    """Chunks in reading order; the text of each is a slice of the document's text."""
    chunks: list[Chunk] = []
    for section in _sections(document):
        for group in _pack(_split_units(document.text, section.blocks, count_tokens, size.limit), size):
            chunks.append(_chunk(document, section, group, len(chunks)))
    return chunks


def _sections(document: Document) -> Iterator[_HeadingSection]:
    stack: list[tuple[int, str]] = []
    anchor = ""
    body: list[Block] = []
    for block in document.blocks:
        if block.kind is not BlockKind.HEADING:
            body.append(block)
            continue
        if body:
            yield _HeadingSection(_heading_path(document, stack), anchor, tuple(body))
            body = []
        stack = [(level, text) for level, text in stack if level < block.level]
        stack.append((block.level, document.text[block.start : block.end]))
        anchor = block.anchor
    if body:
        yield _HeadingSection(_heading_path(document, stack), anchor, tuple(body))


def _heading_path(document: Document, stack: list[tuple[int, str]]) -> tuple[str, ...]:
    """The title, then the headings; a heading that repeats the title is not repeated."""
    return tuple(dict.fromkeys((document.title, *(text for _, text in stack))))


def _split_units(text: str, blocks: Sequence[Block], count_tokens: CountTokens, limit: int) -> list[_ChunkUnit]:
    sizes = count_tokens([text[block.start : block.end] for block in blocks])
    units: list[_ChunkUnit] = []
    for block, size in zip(blocks, sizes, strict=True):
        start = text.rfind("\n", 0, block.start) + 1 if block.kind is BlockKind.ITEM else block.start
        if size <= limit or block.kind not in _PROSE:
            units.append(_ChunkUnit(start, block.end, size, block))
            continue
        spans = split_sentences(text, block.start, block.end)
        counts = count_tokens([text[span.start : span.end] for span in spans])
        starts = [start, *(span.start for span in spans[1:])]
        units += [_ChunkUnit(s, span.end, n, block) for s, span, n in zip(starts, spans, counts, strict=True)]
    return units


def _pack(units: Sequence[_ChunkUnit], size: ChunkSize) -> Iterator[list[_ChunkUnit]]:
    """Groups of even size near the target: a section just over the limit becomes two halves of equal size."""
    remaining = sum(unit.tokens for unit in units)
    goal = _even_share(remaining, size)
    group: list[_ChunkUnit] = []
    tokens = 0
    for unit in units:
        if group and (tokens + unit.tokens > size.limit or tokens + unit.tokens / 2 > goal):
            yield group
            remaining -= tokens
            goal = _even_share(remaining, size)
            group, tokens = [], 0
        group.append(unit)
        tokens += unit.tokens
    if group:
        yield group


def _even_share(tokens: int, size: ChunkSize) -> float:
    """The size of each group if the tokens are divided evenly."""
    return tokens / -(-tokens // size.target) if tokens > size.limit else tokens


def _chunk(document: Document, section: _HeadingSection, group: list[_ChunkUnit], position: int) -> Chunk:
    start, end = group[0].start, group[-1].end
    blocks = dict.fromkeys(unit.block for unit in group if unit.block.kind in _PROSE)
    spans = [
        Span(span.start - start, span.end - start)
        for block in blocks
        for span in split_sentences(document.text, max(block.start, start), min(block.end, end))
    ]
    return Chunk(
        chunk_id=f"{document.document_id}#{position}",
        document_id=document.document_id,
        url=document.url,
        title=document.title,
        chapters=document.chapters,
        section=section.path[-1],
        heading_path=section.path,
        anchor=section.anchor,
        position=position,
        start=start,
        end=end,
        text=document.text[start:end],
        sentences=tuple(spans),
    )
