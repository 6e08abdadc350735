"""Lead-ins: the code block, list or table that follows a sentence such as "Run this command:"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from glossator.core.types import QUOTABLE_ROW, TABLE_HEAD, Block, BlockKind, Chunk, Span

MAX_LENGTH = 1500
"""In characters, of all that one sentence introduces; more is left to the page that the citation opens."""

_FENCED = re.compile(
    r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]{0,20})[^\n]*\n(?P<code>.*)\n(?P=fence)[`~]*", re.DOTALL
)

MAX_SHORT_LEAD_IN = 30
"""In characters. A lead-in as short as "For example:" also belongs to the sentence before it."""

MAX_LABEL_WORDS = 4
"""Of a paragraph that only names the code after it, such as the title of a tab or the name of a file."""

_NAME = re.compile(r"\w*[A-Z_]\w*|--?[a-z][\w-]+|\w+(?=\()")
"""A word that may be a name in code: with a capital letter or underscore, an option, or a call."""

_SENTENCE_END = re.compile(r"[.!?:…。！？：][\"'”’)\]]*$")


class QuoteLayout(StrEnum):
    """How a quote is set."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Introduced:
    """A part of a chunk that a sentence introduces; the span counts from the start of the chunk."""

    span: Span
    layout: QuoteLayout
    marker: str = ""
    """The number or bullet of a list item, with its indentation; the head of a row's table; the language of code."""


def is_lead_in(text: str) -> bool:
    """Whether a sentence introduces what follows it."""
    return text.endswith((":", "："))


def introduces_code(text: str) -> bool:
    """Whether a sentence introduces the code after it; "You can also turn it off..." does too."""
    return is_lead_in(text) or text.endswith(("...", "…"))


def brings_code(sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> bool:
    """Whether a code block that can be quoted follows a sentence, or a short lead-in after it."""
    parts = introduced_by(sentence, chunk, blocks, is_answer=True)
    return any(part.layout is QuoteLayout.CODE for part in parts)


def introduced_by(
    sentence: Span, chunk: Chunk, blocks: Sequence[Block], *, is_answer: bool = False
) -> list[Introduced]:
    """The code block, list or table after a lead-in, whole, with a short lead-in between; empty if it is too long.

    The sentence that answers also brings the code block right after it: in documentation, that shows how.
    """
    found: list[Introduced] = []
    text = chunk.text[sentence.start : sentence.end]
    if not is_lead_in(text):
        following = _sentence_after(sentence, chunk)
        if following is not None:
            found, sentence = [Introduced(following, QuoteLayout.PROSE)], following
        elif not ((is_answer or introduces_code(text)) and _code_after(sentence, chunk, blocks)):
            return []
    code = _code_after(sentence, chunk, blocks)
    after = [block for block in blocks if block.start >= sentence.end]
    run = [_code(chunk.text, code)] if code else [*_listed(chunk.text, after), *_rows(chunk.text, after)]
    length = sum(part.span.end - part.span.start for part in run)
    return [*found, *run] if 0 < length <= MAX_LENGTH else []


def nearest_code(sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> list[Introduced]:
    """The code block of a chunk that has most of a sentence's names and rare words, with its lead-in.

    Of several, it is the first after the sentence, or else the last before it. Code before a label or heading that
    precedes the sentence is about something else.
    """
    code = [b for b in blocks if b.kind is BlockKind.CODE and b.end - b.start <= MAX_LENGTH]
    after = [block for block in code if block.start >= sentence.end]
    before = [block for block in code if block.end <= sentence.start]
    if before and _is_separated(before[-1], sentence, chunk, blocks):
        before = []
    if not (after or before):
        return []
    names = _names(chunk, sentence)
    block = max([*after, *reversed(before)], key=lambda b: _shared(names, chunk.text[b.start : b.end]))
    item = _item_before(block, chunk, blocks)
    if item is not None and item.span.start != sentence.start:
        return [item, _code(chunk.text, block)]
    lead_in = _lead_in_of(block, chunk, blocks)
    return [*([Introduced(lead_in, QuoteLayout.PROSE)] if lead_in else []), _code(chunk.text, block)]


def _item_before(code: Block, chunk: Chunk, blocks: Sequence[Block]) -> Introduced | None:
    """The list item that a code block belongs to, such as a step of several."""
    before = next((block for block in reversed(blocks) if block.end <= code.start), None)
    if before is None or before.kind is not BlockKind.ITEM:
        return None
    return _item(chunk.text, before)


def _is_separated(code: Block, sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> bool:
    between = [block for block in blocks if code.end <= block.start and block.end <= sentence.start]
    return any(block.kind is BlockKind.HEADING or _is_label(block, chunk.text) for block in between)


def _lead_in_of(code: Block, chunk: Chunk, blocks: Sequence[Block]) -> Span | None:
    """The sentence that introduces a code block."""
    before = [span for span in chunk.sentences if span.end <= code.start]
    for span in reversed(before[-2:]):
        if introduces_code(chunk.text[span.start : span.end]) and _code_after(span, chunk, blocks) == code:
            return span
    return None


def _is_label(block: Block, text: str) -> bool:
    """Whether a paragraph is a few words that are no sentence."""
    words = text[block.start : block.end]
    is_short = block.kind is BlockKind.PARAGRAPH and len(words.split(maxsplit=MAX_LABEL_WORDS)) <= MAX_LABEL_WORDS
    return is_short and not _SENTENCE_END.search(words)


def _sentence_after(sentence: Span, chunk: Chunk) -> Span | None:
    """The sentence that follows, if it is a short lead-in."""
    following = next((span for span in chunk.sentences if span.start >= sentence.end), None)
    if following is None or following.end - following.start > MAX_SHORT_LEAD_IN:
        return None
    if chunk.text[sentence.end : following.start].strip():
        return None
    return following if introduces_code(chunk.text[following.start : following.end]) else None


def _code_after(sentence: Span, chunk: Chunk, blocks: Sequence[Block]) -> Block | None:
    """The code block that follows a sentence; of several with labels, such as tabs, the one with most of its names."""
    found: list[tuple[int, Block]] = []
    start = end = sentence.end
    for block in (block for block in blocks if block.start >= sentence.end):
        if chunk.text[end : block.start].strip() or not (block.kind is BlockKind.CODE or _is_label(block, chunk.text)):
            break
        if block.kind is BlockKind.CODE:
            found.append((start, block))
            if start == sentence.end and not chunk.text[start : block.start].strip():
                break
            start = block.end
        end = block.end
    names = _names(chunk, sentence)
    return max(found, key=lambda each: _shared(names, chunk.text[each[0] : each[1].end]), default=(0, None))[1]


def _names(chunk: Chunk, sentence: Span) -> set[str]:
    return set(_NAME.findall(chunk.text[sentence.start : sentence.end]))


def _shared(names: set[str], code: str) -> int:
    """How many names occur in code."""
    return len(names & set(_NAME.findall(code)))


def _listed(text: str, after: Sequence[Block]) -> Iterator[Introduced]:
    """The items of one list, with the code blocks inside it."""
    if not after or after[0].kind is not BlockKind.ITEM:
        return
    listed = list(takewhile(lambda block: block.kind in (BlockKind.ITEM, BlockKind.CODE), after))
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.kind is BlockKind.ITEM:
            yield _item(text, block)
            introduces = is_lead_in(text[block.start : block.end])
        elif introduces or (following and following.kind is BlockKind.ITEM):
            yield _code(text, block)
            introduces = False


def _item(text: str, block: Block) -> Introduced:
    marker = text[text.rfind("\n", 0, block.start) + 1 : block.start]
    return Introduced(Span(block.start, block.end), QuoteLayout.ITEM, marker.rstrip())


def _rows(text: str, after: Sequence[Block]) -> Iterator[Introduced]:
    """The rows of one table, if all can be quoted below its head."""
    if not after or after[0].kind is not BlockKind.ROW or after[0].level != TABLE_HEAD:
        return
    head, *others = takewhile(lambda block: block.kind is BlockKind.ROW, after)
    rows = list(takewhile(lambda row: row.level != TABLE_HEAD, others))
    if all(row.level == QUOTABLE_ROW for row in rows):
        for row in rows:
            yield Introduced(Span(row.start, row.end), QuoteLayout.ROW, text[head.start : head.end])


def _code(text: str, block: Block) -> Introduced:
    """The lines of a code block between its fences, and the language that the first fence names."""
    fenced = _FENCED.fullmatch(text, block.start, block.end)
    if fenced is None:
        return Introduced(Span(block.start, block.end), QuoteLayout.CODE)
    return Introduced(Span(*fenced.span("code")), QuoteLayout.CODE, fenced["language"])
