"""Chunking: documents are split by structure, with sizes in tokens of the embedding model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from glossator.core.text.sentences import (
    CLOSERS,
    MAX_SENTENCE_LENGTH,
    OTHER_STOPS,
    STOPS,
    WIDE_STOPS,
    split_sentences,
)
from glossator.core.types import CELL_SEPARATOR, QUOTABLE_ROW, Block, BlockKind, Chunk, Document, Span

CHUNKER_VERSION = 7


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

MAX_LABEL_WORDS = 8
"""A paragraph of so few words that is not a sentence is a label of what follows: the title of a tab, a caption."""

_LONG_TOKEN = 40
"""The tokens of a block are counted only for so many characters for each token of the limit: the rest is too much."""

_SENTENCE_END = re.compile(rf"[{STOPS}{WIDE_STOPS}{OTHER_STOPS}][{CLOSERS}]*$")


@dataclass(frozen=True, slots=True)
class _ChunkUnit:
    """Text that is never split: a code block, a table row, a formula, a short paragraph or a sentence."""

    start: int
    end: int
    tokens: int
    block: Block


@dataclass(frozen=True, slots=True)
class _HeadingSection:
    """The blocks between one heading or printed page and the next."""

    path: tuple[str, ...]
    anchor: str
    blocks: tuple[Block, ...]
    heading: Block | None = None


def chunk_document(document: Document, count_tokens: CountTokens, size: ChunkSize = BOOK_CHUNKS) -> list[Chunk]:
    """Chunks in reading order; the text of each is a slice of the document's text."""
    chunks: list[Chunk] = []
    counted = size.limit * _LONG_TOKEN
    texts = [document.text[block.start : min(block.end, block.start + counted)] for block in document.blocks]
    sizes = {block.start: tokens for block, tokens in zip(document.blocks, count_tokens(texts), strict=True)}
    for section in _join_single_words(document.text, _sections(document)):
        units = _split_units(document.text, [(b, sizes[b.start]) for b in section.blocks], count_tokens, size.limit)
        for group in _join_labels(document.text, _pack(units, size)):
            group = _without_own_heading(document.text, section, group)
            chunks.append(_chunk(document, section, group, len(chunks)))
    return chunks


def _sections(document: Document) -> Iterator[_HeadingSection]:
    stack: list[tuple[int, str]] = []
    heading: Block | None = None
    body: list[Block] = []
    for block in document.blocks:
        if body and (block.kind is BlockKind.HEADING or block.anchor != body[-1].anchor):
            yield _section(document, stack, body, heading)
            body, heading = [], None
        if block.kind is not BlockKind.HEADING:
            body.append(block)
            continue
        stack = [(level, text) for level, text in stack if level < block.level]
        stack.append((block.level, document.text[block.start : block.end]))
        heading = block
    if body:
        yield _section(document, stack, body, heading)


def _section(
    document: Document, stack: list[tuple[int, str]], body: list[Block], heading: Block | None
) -> _HeadingSection:
    """Its path is the title, then the headings; a heading that repeats the title is not repeated."""
    path = tuple(dict.fromkeys((document.title, *(text for _, text in stack))))
    anchor = body[0].anchor or (heading.anchor if heading else "")
    return _HeadingSection(path, anchor, tuple(body), heading)


def _join_single_words(text: str, sections: Iterable[_HeadingSection]) -> list[_HeadingSection]:
    """A section that has a single word is joined to the next one, or to the one before if it is the last."""
    joined: list[_HeadingSection] = []
    words: list[Block] = []
    for section in sections:
        heading = (section.heading,) if section.heading else ()
        (block, *more) = section.blocks
        if not more and _is_label(text, block) and len(text[block.start : block.end].split(maxsplit=2)) == 1:
            words += [*heading, block]
        else:
            joined.append(replace(section, blocks=(*words, *(heading if words else ()), *section.blocks)))
            words = []
    if words:
        last = joined.pop() if joined else replace(section, blocks=())
        joined.append(replace(last, blocks=(*last.blocks, *words)))
    return joined


def _is_label(text: str, block: Block) -> bool:
    """Whether a block says nothing without the one that follows."""
    if block.kind is not BlockKind.PARAGRAPH:
        return block.kind is BlockKind.HEADING
    words = text[block.start : min(block.end, block.start + 200)]
    return len(words.split()) <= MAX_LABEL_WORDS and not _SENTENCE_END.search(words)


def _split_units(
    text: str, blocks: Sequence[tuple[Block, int]], count_tokens: CountTokens, limit: int
) -> list[_ChunkUnit]:
    """The units of blocks, which are given with their sizes."""
    units: list[_ChunkUnit] = []
    for block, size in blocks:
        start = text.rfind("\n", 0, block.start) + 1 if block.kind is BlockKind.ITEM else block.start
        is_long = block.end - block.start > limit * _LONG_TOKEN
        if block.kind not in _PROSE or (size <= limit and not is_long):
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


def _join_labels(text: str, groups: Iterable[list[_ChunkUnit]]) -> list[list[_ChunkUnit]]:
    """A label at the end of a group moves to the group that it introduces; no group is only a label."""
    joined: list[list[_ChunkUnit]] = []
    for group in groups:
        if joined and _is_label(text, joined[-1][-1].block):
            group = [joined[-1].pop(), *group]
            while joined[-1] and _belongs_to_next(text, joined[-1]):
                group.insert(0, joined[-1].pop())
        if joined and not joined[-1]:
            joined.pop()
        joined.append(group)
    if len(joined) > 1 and len(joined[-1]) == 1 and _is_label(text, joined[-1][0].block):
        label = joined.pop()
        joined[-1] += label
    return joined


def _belongs_to_next(text: str, rest: Sequence[_ChunkUnit]) -> bool:
    """Whether the end of a group whose last label was moved should follow it: its heading, or a label left alone."""
    block = rest[-1].block
    return block.kind is BlockKind.HEADING or (len(rest) == 1 and _is_label(text, block))


def _without_own_heading(text: str, section: _HeadingSection, group: list[_ChunkUnit]) -> list[_ChunkUnit]:
    """A group without its section's heading at the start, which its path has already; one word keeps it."""
    if group[0].block is not section.heading or len(text[group[0].end : group[-1].end].split(maxsplit=2)) <= 1:
        return group
    return group[1:]


def _even_share(tokens: int, size: ChunkSize) -> float:
    """The size of each group if the tokens are divided evenly."""
    return tokens / -(-tokens // size.target) if tokens > size.limit else tokens


def _chunk(document: Document, section: _HeadingSection, group: list[_ChunkUnit], position: int) -> Chunk:
    start, end = group[0].start, group[-1].end
    blocks = {unit.block.start: unit.block for unit in group}.values()
    spans = [
        Span(span.start - start, span.end - start)
        for block in blocks
        for span in _sentences(document.text, block, start, end)
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


def _sentences(text: str, block: Block, start: int, end: int) -> list[Span]:
    """The sentences of a block within a chunk; a row is one if it can be quoted below the head of its table."""
    if block.kind in _PROSE:
        return split_sentences(text, max(block.start, start), min(block.end, end))
    is_row = block.kind is BlockKind.ROW and block.level == QUOTABLE_ROW
    return _row(text, block) if is_row and block.end - block.start <= MAX_SENTENCE_LENGTH else []


def _row(text: str, block: Block) -> list[Span]:
    """The span of a row without empty cells at its end; none if it continues another row: its first cell is empty."""
    end = block.end
    while text.endswith(CELL_SEPARATOR, block.start, end):
        end -= len(CELL_SEPARATOR)
    return [Span(block.start, end)] if end > block.start and not text[block.start].isspace() else []
