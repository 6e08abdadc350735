"""Chunks are exact slices of the document, split by structure, with sizes in tokens of the model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import glossator
from glossator.core.text.sentences import split_sentences
from glossator.core.types import BlockKind, Chunk, Document
from glossator.ingest.chunk import BOOK_CHUNKS, chunk_document
from glossator.ingest.read import read_source

CountTokens = Callable[[Sequence[str]], list[int]]
PROSE = (BlockKind.PARAGRAPH, BlockKind.ITEM)


@pytest.fixture(scope="module")
def count_tokens(tmp_path_factory: pytest.TempPathFactory) -> CountTokens:
    """The real tokenizer."""
    return glossator.open(tmp_path_factory.mktemp("data")).engine.embedder.count_tokens


def thirty_tokens_per_word(texts: Sequence[str]) -> list[int]:
    """Thirty tokens per word, so that short texts are long enough to split."""
    return [30 * len(text.split()) for text in texts]


def read_markdown(markdown: str) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "page.md").write_text(f"Start.\n\n{markdown}", "utf-8")
        return read_source(folder, "https://x.org", 10_000_000).documents[0]


def assert_valid_chunks(document: Document, chunks: list[Chunk]) -> None:
    """Properties of the chunks of every document."""
    position = 0
    for number, chunk in enumerate(chunks):
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.start >= position
        assert chunk.position == number
        position = chunk.end
        for span in chunk.sentences:
            assert chunk.text[span.start : span.end].strip() == chunk.text[span.start : span.end] != ""
    for block in document.blocks:
        if block.kind is BlockKind.HEADING:
            around = [c for c in chunks if c.start < block.end and block.start < c.end]
            assert all(c.start <= block.start and block.end <= c.end and has_single_word(document, c) for c in around)
        else:
            parts = split_sentences(document.text, block.start, block.end) if block.kind in PROSE else [block]
            for part in parts:
                assert sum(c.start <= part.start and part.end <= c.end for c in chunks) == 1


def has_single_word(document: Document, chunk: Chunk) -> bool:
    """Whether a chunk has a section of one word, which is joined to another section."""
    headings = [b for b in document.blocks if b.kind is BlockKind.HEADING and chunk.start <= b.start < chunk.end]
    ends = [chunk.start, *(heading.end for heading in headings)]
    starts = [*(heading.start for heading in headings), chunk.end]
    return any(len(document.text[end:start].split()) == 1 for end, start in zip(ends, starts, strict=True))


WORD = st.text("abcdeéßابت漢.,!?*_`[]()<>{}#|$\\~&-+:'\"0123", min_size=1, max_size=8)
LINE = st.lists(WORD, min_size=1, max_size=30).map(" ".join)
BLOCK = st.one_of(
    LINE,
    LINE.map(lambda line: f"{line}. {line}! {line}?"),
    st.tuples(st.integers(1, 6), LINE).map(lambda pair: f"{'#' * pair[0]} {pair[1]}"),
    st.lists(LINE, min_size=1, max_size=5).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(LINE, min_size=1, max_size=5).map(lambda lines: "```\n" + "\n".join(lines) + "\n```"),
    st.lists(LINE, min_size=1, max_size=5).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {r} | c |" for r in rows)
    ),
    LINE.map(lambda line: f"> {line}"),
    LINE.map(lambda line: f"$$\n{line}\n$$"),
    LINE.map(lambda line: f"![{line}](a.png)"),
    LINE.map(lambda line: f"<div>\n\n{line}\n\n</div>"),
    st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=60),
)


@settings(deadline=None)
@example("# 0 0 0 0 0 0\n\n0\n\n# 0 0 0 0\n\n0\r0\r0")
@given(st.lists(BLOCK, max_size=12).map("\n\n".join))
def test_chunks_are_slices_of_the_document_and_omit_nothing(markdown: str) -> None:
    document = read_markdown(markdown)
    assert_valid_chunks(document, chunk_document(document, thirty_tokens_per_word))


@settings(deadline=None)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=300))
def test_no_word_of_prose_is_lost(given_words: list[str]) -> None:
    paragraphs = [" ".join(given_words[i : i + 25]) for i in range(0, len(given_words), 25)]
    document = read_markdown("\n\n".join(paragraphs))
    chunks = chunk_document(document, thirty_tokens_per_word)
    assert " ".join(chunk.text for chunk in chunks).split() == ["Start.", *given_words]


def test_long_prose_is_split_into_even_chunks_of_300_to_400_tokens(count_tokens: CountTokens) -> None:
    prose = "\n\n".join(
        " ".join(f"The motor number {n} turns the wheel {m} times before it stops." for m in range(3))
        for n in range(60)
    )
    document = read_markdown(f"# Motors\n\n{prose}")
    sizes = count_tokens([chunk.text for chunk in chunk_document(document, count_tokens)])
    assert len(sizes) > 5
    assert all(BOOK_CHUNKS.target - 100 <= size <= BOOK_CHUNKS.limit for size in sizes[1:])


def test_section_just_over_the_limit_becomes_two_halves(count_tokens: CountTokens) -> None:
    document = read_markdown("## Long\n\n" + " ".join(f"Number {n} is a short sentence." for n in range(60)))
    sizes = count_tokens([chunk.text for chunk in chunk_document(document, count_tokens)][1:])
    assert len(sizes) == 2
    assert abs(sizes[0] - sizes[1]) < 30


def test_code_blocks_and_table_rows_are_never_split(count_tokens: CountTokens) -> None:
    code = "\n".join(f"value_{n} = compute({n}, {n + 1})" for n in range(200))
    row = " ".join(f"cell{n}" for n in range(600))
    document = read_markdown(f"Before.\n\n```python\n{code}\n```\n\n| a |\n|---|\n| {row} |\n\nAfter.")
    texts = [chunk.text for chunk in chunk_document(document, count_tokens)]
    assert sum(code in text for text in texts) == 1
    assert sum(row in text for text in texts) == 1


@pytest.mark.parametrize("comment", ["{/*leg*/}", "{/* #leg */}"])
def test_id_of_a_heading_may_be_a_comment(tmp_path: Path, comment: str) -> None:
    (tmp_path / "page.md").write_text(f"# Robots\n\n## Legs {comment}\n\nTwo.\n", "utf-8")
    (document,) = read_source(str(tmp_path), "https://x.org", 1_000_000).documents
    (chunk,) = chunk_document(document, thirty_tokens_per_word)
    assert (chunk.section, chunk.anchor) == ("Legs", "leg")


def test_chunks_stay_within_a_section_and_have_its_heading_path(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "# Robots\n\nIntro.\n\n## Legs {#leg}\n\nTwo.\n\n### Feet\n\nFlat.\n\n## Arms\n\nLong.\n", "utf-8"
    )
    (document,) = read_source(str(tmp_path), "https://x.org", 1_000_000).documents
    found = [(c.text, c.heading_path, c.section, c.anchor) for c in chunk_document(document, thirty_tokens_per_word)]
    assert found == [
        ("Intro.", ("Robots",), "Robots", "robots"),
        ("Two.", ("Robots", "Legs"), "Legs", "leg"),
        ("Flat.", ("Robots", "Legs", "Feet"), "Feet", "feet"),
        ("Long.", ("Robots", "Arms"), "Arms", "arms"),
    ]


def test_bullet_of_a_list_item_is_not_part_of_its_sentence() -> None:
    document = read_markdown("- First thing.\n- Second thing.\n")
    (chunk,) = chunk_document(document, lambda texts: [1 for _ in texts])
    assert chunk.text == "Start.\n\n- First thing.\n- Second thing."
    assert [chunk.text[s.start : s.end] for s in chunk.sentences] == ["Start.", "First thing.", "Second thing."]


def test_chunking_is_deterministic() -> None:
    first, second = read_markdown("## A\n\nText. More."), read_markdown("## A\n\nText. More.")
    assert chunk_document(first, thirty_tokens_per_word) == chunk_document(second, thirty_tokens_per_word)


TABS = "\n\n".join(f'=== "{language}"\n\n    ```\n    {"word " * 12}\n    ```' for language in ("C", "C++", "Go"))
LABELLED = {
    "titles of tabs": TABS,
    "a title before a heading": "# T\n\nText here.\n\n## A\n\nC++\n\n## B\n\nMore text here.",
    "a word at the end": "# T\n\nText here.\n\n## A\n\nC++",
    "a caption": f"{'word ' * 13}\n\nTeacher Support\n\n{'Words follow. ' * 6}",
}


@pytest.mark.parametrize("markdown", LABELLED.values(), ids=LABELLED.keys())
def test_no_chunk_is_only_a_label(markdown: str) -> None:
    document = read_markdown(markdown)
    chunks = chunk_document(document, thirty_tokens_per_word)
    assert_valid_chunks(document, chunks)
    assert not [chunk.text for chunk in chunks if len(chunk.text.split()) < 2 and chunk.text != "Start."]
    assert not [chunk.text for chunk in chunks[:-1] if chunk.text.endswith(("C++", "Go", "Teacher Support"))]


def test_a_page_of_one_word_is_a_chunk() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "page.md").write_text("Word", "utf-8")
        document = read_source(folder, "https://x.org", 10_000_000).documents[0]
    assert [chunk.text for chunk in chunk_document(document, thirty_tokens_per_word)] == ["Word"]


def test_rows_of_a_table_are_sentences_but_not_its_head(count_tokens: CountTokens) -> None:
    rows = "| A | B |\n|---|---|\n| one | two. Three. |\n| four | five |\n| | six |\n| 7 | |\n"
    document = read_markdown(f"Words.\n\n{rows}")
    (chunk,) = chunk_document(document, count_tokens)
    sentences = [chunk.text[span.start : span.end] for span in chunk.sentences]
    assert sentences == ["Start.", "Words.", "one | two. Three.", "four | five", "7"]
