"""Inputs and outputs of the reader model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from glossator.core.types import CELL_SEPARATOR, Span

MAX_EXTENDED_CHARACTERS = 4000
"""Characters whose tokens are counted: more than the model reads at once."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text to read, with the headings above it and the spans of its sentences."""

    headings: tuple[str, ...]
    text: str
    sentences: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A text that the model has read: what it needs to judge any number of claims and questions against it."""

    tokens: int
    keys_values: NDArray[np.float16]
    sentences: NDArray[np.float32]
    """A vector for each sentence that was read, for comparison with the vector of a question; the rest was cut off."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The predictions for a claim or a question; logits unless noted otherwise."""

    supported: float
    contradicted: float
    answered: float
    unsupported: tuple[tuple[Span, float], ...]
    """The words of a claim, with the probability that the source does not support them."""
    sentences: tuple[float, ...]
    """For each sentence of the source, the probability that it is the relevant one."""


def read_out_rows(source: SourceText, heads: Mapping[int, str]) -> SourceText:
    """A text in which table rows, given by their starts with the heads of their tables, name the column of each cell.

    "--port | 3000" below "Option | Default" becomes "Option: --port. Default: 3000.", which the model understands.
    """
    parts: list[str] = []
    spans: list[Span] = []
    position = length = 0
    for span in source.sentences:
        sentence = source.text[span.start : span.end]
        if head := heads.get(span.start):
            named = zip_longest(head.split(CELL_SEPARATOR), sentence.split(CELL_SEPARATOR), fillvalue="")
            sentence = " ".join(f"{name}: {cell.rstrip('.')}." for name, cell in named if cell)
        before = source.text[position : span.start]
        spans.append(Span(length + len(before), length + len(before) + len(sentence)))
        parts += [before, sentence]
        position, length = span.end, spans[-1].end
    return SourceText(source.headings, "".join([*parts, source.text[position:]]), tuple(spans))


def extended_sentences(source: SourceText) -> list[str]:
    """Every sentence of a text, each with what follows it."""
    return [extended_sentence(source, number) for number in range(len(source.sentences))]


def extended_sentence(source: SourceText, number: int) -> str:
    """The text of a sentence with what follows it, such as code, up to the next; a very long one is cut off."""
    start = source.sentences[number].start
    is_last = number + 1 == len(source.sentences)
    end = len(source.text) if is_last else source.sentences[number + 1].start
    return source.text[start : min(end, start + MAX_EXTENDED_CHARACTERS)]


def split_source(source: SourceText, lengths: Sequence[int], max_tokens: int) -> list[tuple[int, SourceText]]:
    """A text in parts of whole sentences, given the length of each in tokens; with the number of the first sentence.

    Parts overlap by a sentence, so that one that depends on the sentence before it is read together with that.
    """
    parts: list[tuple[int, SourceText]] = []
    first, size = 0, 0
    for number, length in enumerate(lengths):
        if number > first and size + length > max_tokens:
            parts.append((first, _part(source, first, number)))
            first = number - 1 if number - 1 > first and lengths[number - 1] + length <= max_tokens else number
            size = sum(lengths[first:number])
        size += length
    return [*parts, (first, _part(source, first, len(lengths)))] if lengths else []


def _part(source: SourceText, first: int, last: int) -> SourceText:
    spans = source.sentences[first:last]
    start = spans[0].start
    moved = tuple(Span(span.start - start, span.end - start) for span in spans)
    return SourceText(source.headings, source.text[start : spans[-1].end], moved)
