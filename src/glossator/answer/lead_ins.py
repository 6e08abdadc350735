"""Lead-ins: the code block or list that follows a sentence such as "Run this command:"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from glossator.core.types import Block, BlockKind, Chunk, Span

MAX_LENGTH = 1500
"""In characters, of all that one sentence introduces; more is left to the page that the citation opens."""

_FENCED = re.compile(
    r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]{0,20})[^\n]*\n(?P<code>.*)\n(?P=fence)[`~]*", re.DOTALL
)

MAX_SHORT_LEAD_IN = 30
"""In characters. A lead-in as short as "For example:" also belongs to the sentence before it."""


class QuoteLayout(StrEnum):
    """How a quote is set."""

    PROSE = "prose"
    ITEM = "item"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Introduced:
    """A part of a chunk that a sentence introduces; the span counts from the start of the chunk."""

    span: Span
    layout: QuoteLayout
    marker: str = ""
    """The number or bullet of a list item, with its indentation; the language of code."""


def is_lead_in(text: str) -> bool:
    """Whether a sentence introduces what follows it."""
    return text.endswith((":", "："))


def introduced_by(
    sentence: Span, chunk: Chunk, blocks: Sequence[Block], *, is_answer: bool = False
) -> list[Introduced]:
    """The code block or list items after a lead-in, whole, with a short lead-in between; empty if they are too long.

    The sentence that answers also brings the code block right after it: in documentation, that shows how.
    """
    found: list[Introduced] = []
    if not is_lead_in(chunk.text[sentence.start : sentence.end]):
        following = _sentence_after(sentence, chunk)
        if following is not None:
            found, sentence = [Introduced(following, QuoteLayout.PROSE)], following
        elif not (is_answer and _precedes_code(sentence, chunk, blocks)):
            return []
    after = [block for block in blocks if block.start >= sentence.end]
    run = list(_run(chunk.text, sentence.end, after))
    length = sum(part.span.end - part.span.start for part in run)
    return [*found, *run] if 0 < length <= MAX_LENGTH else []


def nearest_code(sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> list[Introduced]:
    """The code block after a sentence, or else the last before it, with its lead-in; empty if it is too long."""
    code = [block for block in blocks if block.kind is BlockKind.CODE]
    after = [block for block in code if block.start >= sentence.end]
    before = [block for block in code if block.end <= sentence.start]
    block = after[0] if after else before[-1] if before else None
    if block is None or block.end - block.start > MAX_LENGTH:
        return []
    lead_ins = [
        span for span in chunk.sentences if span.end <= block.start and not chunk.text[span.end : block.start].strip()
    ]
    is_introduced = bool(lead_ins) and is_lead_in(chunk.text[lead_ins[-1].start : lead_ins[-1].end])
    return [*([Introduced(lead_ins[-1], QuoteLayout.PROSE)] if is_introduced else []), _code(chunk.text, block)]


def _sentence_after(sentence: Span, chunk: Chunk) -> Span | None:
    """The sentence that follows, if it is a short lead-in."""
    following = next((span for span in chunk.sentences if span.start >= sentence.end), None)
    if following is None or following.end - following.start > MAX_SHORT_LEAD_IN:
        return None
    return following if is_lead_in(chunk.text[following.start : following.end]) else None


def _precedes_code(sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> bool:
    after = next((block for block in blocks if block.start >= sentence.end), None)
    is_next = after is not None and not chunk.text[sentence.end : after.start].strip()
    return is_next and after is not None and after.kind is BlockKind.CODE


def _run(text: str, end: int, after: Sequence[Block]) -> Iterator[Introduced]:
    """One code block, or one list with the code blocks inside it."""
    if not after or after[0].kind not in (BlockKind.CODE, BlockKind.ITEM):
        return
    if after[0].kind is BlockKind.CODE:
        if not text[end : after[0].start].strip():
            yield _code(text, after[0])
        return
    listed = list(takewhile(lambda block: block.kind in (BlockKind.ITEM, BlockKind.CODE), after))
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.kind is BlockKind.ITEM:
            marker = text[text.rfind("\n", 0, block.start) + 1 : block.start]
            yield Introduced(Span(block.start, block.end), QuoteLayout.ITEM, marker.rstrip())
            introduces = is_lead_in(text[block.start : block.end])
        elif introduces or (following and following.kind is BlockKind.ITEM):
            yield _code(text, block)
            introduces = False


def _code(text: str, block: Block) -> Introduced:
    """The lines of a code block between its fences, and the language that the first fence names."""
    fenced = _FENCED.fullmatch(text, block.start, block.end)
    if fenced is None:
        return Introduced(Span(block.start, block.end), QuoteLayout.CODE)
    return Introduced(Span(*fenced.span("code")), QuoteLayout.CODE, fenced["language"])
