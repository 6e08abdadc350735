"""PDF: paragraphs, headings, lists and code with their page numbers; headers, footers and line breaks are removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.errors import SourceError
from glossator.core.text.links import deep_link
from glossator.core.types import BlockKind
from glossator.ingest.chunk import chunk_document
from glossator.ingest.formats.html import ExtractedPage
from glossator.ingest.formats.pdf.read import read_pdf
from glossator.ingest.read import read_source
from tiny_pdf import Text, paragraph, write_pdf

LIMIT = 1_000_000
LEFT = [f"The left column has line number {word}," for word in "one two three four five six seven".split()]
RIGHT = [f"The right column has line {word} here," for word in "one two three four five six seven".split()]


def read(path: Path) -> ExtractedPage:
    return read_pdf(path, LIMIT).pages[0].page


def blocks(page: ExtractedPage) -> list[tuple[str, str, str]]:
    return [(block.kind.value, block.anchor, page.text[block.start : block.end]) for block in page.blocks]


def test_lines_become_paragraphs_and_divided_words_are_joined(tmp_path: Path) -> None:
    first = [
        "Tides are caused by the gra-",
        "vity of the Moon, whose well-",
        "known pull (and well-known it is)",
        "raises water.",
    ]
    second = ["A second paragraph follows", "after a gap."]
    path = write_pdf(tmp_path / "a.pdf", [[*paragraph(first), *paragraph(second, y=640)]])
    assert read(path).text == (
        "Tides are caused by the gravity of the Moon, whose well-known pull (and well-known it is) raises water."
        "\n\nA second paragraph follows after a gap."
    )


def test_an_indented_line_begins_a_paragraph(tmp_path: Path) -> None:
    lines = [
        *paragraph(["One line of text that is long enough,", "and then it ends."]),
        Text(90, 676, "Indented, another."),
    ]
    assert read(write_pdf(tmp_path / "a.pdf", [lines])).text.endswith("it ends.\n\nIndented, another.")


def test_lists_and_code_keep_their_form(tmp_path: Path) -> None:
    lines = [
        *paragraph(["The following is needed:"]),
        *paragraph(["• one thing", "• another thing that", "  goes on"], y=680),
        *paragraph(["def tide(hour):", "return hour"], y=630, font="mono"),
        *paragraph(["1. First step.", "2. Second step."], y=590),
    ]
    lines[5] = Text(96, 618, "return hour", font="mono")
    page = read(write_pdf(tmp_path / "a.pdf", [lines]))
    assert blocks(page) == [
        ("paragraph", "page=1", "The following is needed:"),
        ("item", "page=1", "one thing"),
        ("item", "page=1", "another thing that goes on"),
        ("code", "page=1", "```\ndef tide(hour):\n    return hour\n```"),
        ("paragraph", "page=1", "1. First step."),
        ("paragraph", "page=1", "2. Second step."),
    ]


def test_headings_come_from_the_outline(tmp_path: Path) -> None:
    first = [
        Text(72, 700, "CHAPTER"),
        Text(72, 680, "ONE"),
        Text(72, 650, "THE MOON", 10),
        *paragraph(["It shines."], y=620),
    ]
    second = [Text(72, 700, "1.1 Phases of"), Text(72, 688, "the Moon"), *paragraph(["It waxes."], y=660)]
    contents = [
        Text(72, 700, "1 The Moon . . . . . . . . 2"),
        Text(72, 680, "1.1 Phases of the Moon 3"),
        Text(72, 660, "Preface."),
    ]
    outline = [("The Moon", 0, 2), ("Phases of the Moon", 1, 3), ("Not there", 0, 3)]
    path = write_pdf(tmp_path / "a.pdf", [contents, first, second], title="Of Tides", outline=outline)
    page = read(path)
    assert page.title == "Of Tides"
    assert blocks(page) == [
        ("paragraph", "page=1", "Preface."),
        ("heading", "page=2", "The Moon"),
        ("paragraph", "page=2", "It shines."),
        ("heading", "page=3", "Phases of the Moon"),
        ("paragraph", "page=3", "It waxes."),
    ]
    assert [block.level for block in page.blocks if block.level] == [2, 3]


def test_without_an_outline_size_and_weight_make_headings(tmp_path: Path) -> None:
    lines = [
        Text(72, 720, "Of Tides", 20),
        Text(72, 680, "The Moon", 14),
        *paragraph(["Words of a paragraph,", "which goes on."], y=660),
        Text(72, 620, "Phases", 10, "bold"),
        *paragraph(["More words of a text."], y=600),
    ]
    page = read(write_pdf(tmp_path / "a.pdf", [lines], title="Microsoft Word - a.doc"))
    assert page.title == "Of Tides"
    assert [(b.level, page.text[b.start : b.end]) for b in page.blocks if b.kind is BlockKind.HEADING] == [
        (2, "Of Tides"),
        (3, "The Moon"),
        (4, "Phases"),
    ]


def test_headers_footers_and_page_numbers_are_removed(tmp_path: Path) -> None:
    words = "Alpha Beta Gamma Delta Epsilon Zeta".split()
    pages = [
        [
            Text(72, 770, f"Of Tides, Release {n}"),
            *paragraph([f"{word} is on this page."]),
            Text(72, 30, f"{n}. {word} in short {n + 8}"),
        ]
        for n, word in enumerate(words, 1)
    ]
    page = read(write_pdf(tmp_path / "a.pdf", pages))
    assert page.text.split("\n\n") == [f"{word} is on this page." for word in words]


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    rows = [
        line
        for n, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))
        for line in (Text(50, 700 - 12 * n, left), Text(320, 700 - 12 * n, right))
    ]
    page = read(
        write_pdf(
            tmp_path / "a.pdf",
            [[Text(50, 740, "A line that goes over the whole width of the page, both columns of it."), *rows]],
        )
    )
    assert page.text.split("\n\n")[1] == " ".join([*LEFT, *RIGHT])


def test_raised_numbers_are_exponents_or_notes(tmp_path: Path) -> None:
    lines = [Text(72, 700, "It is 10"), Text(101.5, 704, "6", 6), Text(108, 700, "in all"), Text(128.6, 704, "12", 6)]
    assert read(write_pdf(tmp_path / "a.pdf", [lines])).text == "It is 10⁶ in all"


def test_a_table_is_rows(tmp_path: Path) -> None:
    rows = [Text(x, 700 - 14 * n, f"{name}{n}") for n in range(3) for x, name in ((72, "a"), (200, "b"))]
    assert [block[::2] for block in blocks(read(write_pdf(tmp_path / "a.pdf", [rows])))] == [
        ("row", f"a{n} b{n}") for n in range(3)
    ]


def test_a_sentence_over_two_pages_is_on_the_first(tmp_path: Path) -> None:
    pages = [paragraph(["First sentence. The second one is di-"]), paragraph(["vided here. The third one."])]
    assert blocks(read(write_pdf(tmp_path / "a.pdf", pages))) == [
        ("paragraph", "page=1", "First sentence. The second one is divided here."),
        ("paragraph", "page=2", "The third one."),
    ]


def test_every_chunk_and_link_has_its_page(tmp_path: Path) -> None:
    pages = [
        [Text(72, 720, "The Moon", 16), *paragraph(["It shines on page one of this book."])],
        paragraph(["It wanes on page two of this book."]),
    ]
    contents = read_source(str(write_pdf(tmp_path / "moon.pdf", pages)), "https://b.example", LIMIT)
    (document,) = contents.documents
    assert document.url == "https://b.example/moon.pdf"
    chunks = chunk_document(document, lambda texts: [len(text.split()) for text in texts])
    assert [(c.anchor, c.heading_path[-1], c.text) for c in chunks] == [
        ("page=1", "The Moon", "It shines on page one of this book."),
        ("page=2", "The Moon", "It wanes on page two of this book."),
    ]
    link = deep_link(chunks[1].url, chunks[1].anchor, document.text, chunks[1].start, chunks[1].end)
    assert link.startswith("https://b.example/moon.pdf#page=2:~:text=It%20wanes")
    assert '<section id="page=2">' in document.html
    assert all(document.text[c.start : c.end] == c.text for c in chunks)


def test_scanned_pages_are_reported(tmp_path: Path) -> None:
    pages = [paragraph(["Text of page one."]), [], [], [], [], []]
    file = read_pdf(write_pdf(tmp_path / "a.pdf", pages, scanned=[2, 3, 6]), LIMIT)
    assert file.notes == (
        "pages 2-3 and 6 have no text layer, and were left out. Add a text layer (for example with `ocrmypdf`).",
    )


def test_pages_with_drawn_letters_are_reported(tmp_path: Path) -> None:
    """Not a blank page with a frame."""
    file = read_pdf(write_pdf(tmp_path / "a.pdf", [paragraph(["Text."]), [], []], shapes={2: 200, 3: 4}), LIMIT)
    assert [note.partition(" no text")[0] for note in file.notes] == ["page 2 has"]


UNREADABLE = {
    "pictures only": (
        [[]],
        [1],
        "the PDF has no text: its pages are images. Add a text layer (for example with `ocrmypdf`).",
    ),
    "blank": ([[]], [], "the PDF has no text."),
}


@pytest.mark.parametrize(("pages", "scanned", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_without_text_fails_with_a_reason(
    pages: list[list[Text]], scanned: list[int], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError) as failure:
        read_pdf(write_pdf(tmp_path / "a.pdf", pages, scanned=scanned), LIMIT)
    assert str(failure.value) == reason


DAMAGED = {"not a PDF": b"Hello", "empty": b"", "cut": b"%PDF-1.4\n1 0 obj\n<<"}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_fails_with_a_reason(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="the file is damaged, or not a PDF"):
        read_pdf(path, LIMIT)
