"""Long passages are read in parts of whole sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from glossator.core.inference.reading import SourceText, split_source
from glossator.core.types import Span


def source_of(lengths: list[int]) -> SourceText:
    """Sentences of so many characters, with a space between them."""
    spans, at = [], 0
    for length in lengths:
        spans.append(Span(at, at + length))
        at += length + 1
    return SourceText(("Chapter",), " ".join("x" * length for length in lengths), tuple(spans))


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 100))
def test_parts_have_every_sentence_in_order_and_fit(lengths: list[int], max_tokens: int) -> None:
    source = source_of(lengths)
    parts = split_source(source, lengths, max_tokens)
    covered: set[int] = set()
    for first, part in parts:
        numbers = range(first, first + len(part.sentences))
        covered |= set(numbers)
        assert sum(lengths[n] for n in numbers) <= max_tokens or len(numbers) == 1
        for n, span in zip(numbers, part.sentences, strict=True):
            whole = source.sentences[n]
            assert part.text[span.start : span.end] == source.text[whole.start : whole.end]
    assert covered == set(range(len(lengths)))
    assert [first for first, _ in parts] == sorted({first for first, _ in parts})


def test_a_short_passage_is_one_part() -> None:
    assert [first for first, _ in split_source(source_of([5, 6, 7]), [5, 6, 7], 18)] == [0]


def test_parts_overlap_by_a_sentence() -> None:
    parts = split_source(source_of([10, 10, 10, 10]), [10, 10, 10, 10], 20)
    assert [(first, len(part.sentences)) for first, part in parts] == [(0, 2), (1, 2), (2, 2)]
