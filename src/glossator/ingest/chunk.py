"""Documents become chunks: cut by structure, sized by the embedding model's own tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from glossator.core.text.sentences import split_sentences
from glossator.core.types import Block, BlockKind, Chunk, Document, Span

CHUNKER_VERSION = 3


@dataclass(frozen=True, slots=True)
class Size:
    """How many tokens a chunk should have, and how many at most."""

    target: int
    limit: int


BOOK = Size(350, 400)
SELECTION = Size(60, 90)
"""A selection is read closely: smaller chunks tell better where in it an answer stands."""


CountTokens = Callable[[Sequence[str]], list[int]]
_PROSE = (BlockKind.PARAGRAPH, BlockKind.ITEM)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What a cut may not go through: a listing, a row, a formula, a short paragraph or a sentence."""

    start: int
    end: int
    tokens: int
    block: Block


@dataclass(frozen=True, slots=True)
class _Section:
    """The blocks below one heading, up to the next."""

    path: tuple[str, ...]
    anchor: str
    blocks: tuple[Block, ...]


def chunk_document(document: Document, count_tokens: CountTokens, size: Size = BOOK) -> list[Chunk]:
    """Chunks in reading order; each one's text is a slice of the document's."""
    chunks: list[Chunk] = []
    for section in _sections(document):
        for group in _pack(_units(document.text, section.blocks, count_tokens, size.limit), size):
            chunks.append(_chunk(document, section, group, len(chunks)))
    return chunks


def _sections(document: Document) -> Iterator[_Section]:
    stack: list[tuple[int, str]] = []
    anchor = ""
    body: list[Block] = []
    for block in document.blocks:
        if block.kind is not BlockKind.HEADING:
            body.append(block)
            continue
        if body:
            yield _Section(_path(document, stack), anchor, tuple(body))
            body = []
        stack = [(level, text) for level, text in stack if level < block.level]
        stack.append((block.level, document.text[block.start : block.end]))
        anchor = block.anchor
    if body:
        yield _Section(_path(document, stack), anchor, tuple(body))


def _path(document: Document, stack: list[tuple[int, str]]) -> tuple[str, ...]:
    """The title, then the headings; a first heading that repeats the title counts once."""
    return tuple(dict.fromkeys((document.title, *(text for _, text in stack))))


def _units(text: str, blocks: Sequence[Block], count_tokens: CountTokens, limit: int) -> list[_Unit]:
    sizes = count_tokens([text[block.start : block.end] for block in blocks])
    units: list[_Unit] = []
    for block, size in zip(blocks, sizes, strict=True):
        start = text.rfind("\n", 0, block.start) + 1 if block.kind is BlockKind.ITEM else block.start
        if size <= limit or block.kind not in _PROSE:
            units.append(_Unit(start, block.end, size, block))
            continue
        spans = split_sentences(text, block.start, block.end)
        counts = count_tokens([text[span.start : span.end] for span in spans])
        starts = [start, *(span.start for span in spans[1:])]
        units += [_Unit(s, span.end, n, block) for s, span, n in zip(starts, spans, counts, strict=True)]
    return units


def _pack(units: Sequence[_Unit], size: Size) -> Iterator[list[_Unit]]:
    """Even groups near the target: a section a little too long becomes two halves, not one and a scrap."""
    left = sum(unit.tokens for unit in units)
    goal = _share(left, size)
    group: list[_Unit] = []
    tokens = 0
    for unit in units:
        if group and (tokens + unit.tokens > size.limit or tokens + unit.tokens / 2 > goal):
            yield group
            left -= tokens
            goal = _share(left, size)
            group, tokens = [], 0
        group.append(unit)
        tokens += unit.tokens
    if group:
        yield group


def _share(tokens: int, size: Size) -> float:
    """The size of each group if so many tokens are dealt out evenly."""
    return tokens / -(-tokens // size.target) if tokens > size.limit else tokens


def _chunk(document: Document, section: _Section, group: list[_Unit], position: int) -> Chunk:
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
