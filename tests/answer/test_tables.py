"""Table rows are searched, read and quoted like sentences, below the head of their table."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

import glossator
from glossator import Answer
from glossator.answer.table_rows import is_about
from glossator.core.inference.reading import SourceText, read_out_rows
from glossator.core.types import Span
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source

FILLER = "".join(f"\n## Topic {n}\n\nThe harbour number {n} lies in the north of the island.\n" for n in range(6))
TABLE = """\
| Option | Default | Description |
| --- | --- | --- |
| `--port` | 3000 | The port of the harbour server. |
| `--include` | `**/*.{md,mdx}` | The charts that are read, as a pattern of their names. |
| `--quiet` | false | Print no messages while the charts are read. |
"""


def answer_from(folder: Path, page: str, question: str) -> Answer:
    (folder / "book").mkdir()
    (folder / "book" / "page.md").write_text(f"# Command line\n\n{page}\n{FILLER}", "utf-8")
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book", base_url="https://x.org")
        return book.ask(question)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("What is the default port?", "--port | 3000 | The port of the harbour server."),
        ("Which option prints no messages?", "--quiet | false | Print no messages while the charts are read."),
    ],
)
def test_row_answers_a_question_below_the_head_of_its_table(tmp_path: Path, question: str, row: str) -> None:
    answer = answer_from(tmp_path, TABLE, question)
    assert answer.text.startswith(f"| Option | Default | Description |\n| --- | --- | --- |\n| {row} [1] |")
    assert answer.citations[0].quote == answer.sentences[0].text == row
    assert answer.sentences[0].verdict is not None
    assert answer.sentences[0].verdict.supported


def test_link_of_a_row_opens_the_page_at_its_longest_cell(tmp_path: Path) -> None:
    answer = answer_from(tmp_path, TABLE, "What is the default port?")
    assert unquote(answer.citations[0].url).endswith(":~:text=The port of the harbour server.")


def test_head_of_a_table_is_never_the_answer(tmp_path: Path) -> None:
    answer = answer_from(tmp_path, TABLE, "Which option has a default and a description?")
    assert "Option | Default | Description" not in [sentence.text for sentence in answer.sentences]


def test_row_does_not_answer_about_a_name_that_the_book_lacks(tmp_path: Path) -> None:
    assert answer_from(tmp_path, TABLE, "What is the default of --frigate?").abstained


def test_row_of_an_option_with_two_names_answers_about_each() -> None:
    row = "-p, --port | 3000 | The port."
    assert is_about(row, ["port", "default"])
    assert not is_about(row, ["default"])


IRREGULAR = {
    "no head": "<tr><td>--port</td><td>3000</td></tr>",
    "rowspan": '<tr><th>Option</th><th>Default</th></tr><tr><td rowspan="2">--port</td><td>3000</td></tr>',
    "colspan": '<tr><th>Option</th><th>Default</th></tr><tr><td colspan="2">--port and 3000</td></tr>',
    "other columns": "<tr><th>Option</th><th>Default</th></tr><tr><td>--port</td><td>3000</td><td>5</td></tr>",
    "pipe": "<tr><th>Option</th><th>Default</th></tr><tr><td>--port</td><td>number | null</td></tr>",
    "list": "<tr><th>Option</th><th>Default</th></tr><tr><td>--port</td><td><ul><li>3000</li></ul></td></tr>",
    "one column": "<tr><th>Option</th></tr><tr><td>The default port is 3000.</td></tr>",
}


@pytest.mark.parametrize("rows", IRREGULAR.values(), ids=IRREGULAR)
def test_row_that_does_not_fit_below_a_head_is_not_quoted(tmp_path: Path, rows: str) -> None:
    (tmp_path / "page.html").write_text(f"<h1>Ports</h1><p>Words.</p><table>{rows}</table>", "utf-8")
    document = read_source(str(tmp_path), "https://x.org", 1_000_000).documents[0]
    (chunk,) = chunk_document(document, lambda texts: [len(text.split()) for text in texts])
    assert [chunk.text[span.start : span.end] for span in chunk.sentences] == ["Words."]


def test_rows_of_a_second_table_stay_below_their_own_head(tmp_path: Path) -> None:
    second = "| Rope | Load |\n| --- | --- |\n| Hawser of the harbour | eight tonnes |\n"
    page = f"The harbour server has these options of its command line:\n\n{TABLE}\n{second}"
    answer = answer_from(tmp_path, page, "Which options does the command line of the harbour server have?")
    assert "Hawser" not in answer.text


def test_lead_in_brings_its_table(tmp_path: Path) -> None:
    page = f"The harbour server has these options of its command line:\n\n{TABLE}"
    answer = answer_from(tmp_path, page, "Which options does the command line of the harbour server have?")
    lines = answer.text.splitlines()
    assert lines[0] == "The harbour server has these options of its command line: [1]"
    assert lines[2:7] == [
        "| Option | Default | Description |",
        "| --- | --- | --- |",
        "| --port | 3000 | The port of the harbour server. [1] |",
        "| --include | **/*.{md,mdx} | The charts that are read, as a pattern of their names. [1] |",
        "| --quiet | false | Print no messages while the charts are read. [1] |",
    ]


def test_rows_are_read_out_with_the_names_of_their_columns() -> None:
    text = "Before.\n\nOption | Default\n--port | 3000\n--host | \n\nAfter."
    rows = (Span(26, 39), Span(40, 49))
    assert [text[row.start : row.end] for row in rows] == ["--port | 3000", "--host | "]
    source = SourceText(("Heading",), text, (Span(0, 7), *rows, Span(51, 57)))
    read = read_out_rows(source, dict.fromkeys((26, 40), "Option | Default"))
    assert [read.text[span.start : span.end] for span in read.sentences] == [
        "Before.",
        "Option: --port. Default: 3000.",
        "Option: --host.",
        "After.",
    ]
    assert read_out_rows(source, {}) == source
