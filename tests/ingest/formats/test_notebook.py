"""Jupyter notebooks: cells of Markdown and code with the text of their outputs, bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glossator.core.errors import SourceError
from glossator.ingest.formats.notebook import MAX_OUTPUT_CHARACTERS, read_notebook
from glossator.ingest.read import read_source


def markdown(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(lines)}


def code(source: str, *outputs: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": list(outputs)}


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": list(cells), "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4})


def text_of(*cells: dict[str, Any]) -> str:
    return read_notebook(notebook(*cells), "plain").text


def test_a_notebook_is_a_page_with_the_anchors_of_jupyter(tmp_path: Path) -> None:
    cells = [
        markdown("# Of Tides\n", "\n", "They *rise*."),
        markdown("## Low Water\n", "\n- ebb"),
        code("x = 1\n\ny = 2"),
    ]
    (tmp_path / "tides.ipynb").write_text(notebook(*cells), "utf-8")
    (document,) = read_source(str(tmp_path), "https://b.example", 10**6).documents
    assert (document.url, document.title) == ("https://b.example/tides.html", "Of Tides")
    assert document.text == "Of Tides\n\nThey rise.\n\nLow Water\n\n- ebb\n\n```python\nx = 1\n\ny = 2\n```"
    assert [block.anchor for block in document.blocks if block.anchor] == ["Of-Tides", "Low-Water"]


OUTPUTS = {
    "a stream": ({"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]}, "a\nb"),
    "a result": ({"output_type": "execute_result", "data": {"text/plain": "42", "text/html": "<b>42</b>"}}, "42"),
    "an error": (
        {"output_type": "error", "ename": "ValueError", "evalue": "\x1b[31mbad\x1b[0m", "traceback": ["Traceback"]},
        "ValueError: bad",
    ),
    "markup": ({"output_type": "stream", "name": "stdout", "text": "<script>a</script> *b*"}, "<script>a</script> *b*"),
}


@pytest.mark.parametrize(("output", "expected"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_outputs_are_text(output: dict[str, Any], expected: str) -> None:
    assert text_of(code("run()", output)) == f"```python\nrun()\n```\n\n```\n{expected}\n```"


WITHOUT_TEXT = {
    "a picture": {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure size 640x480>"}},
    "an object": {"output_type": "execute_result", "data": {"text/plain": "<a.B object at 0x7f00>"}},
    "warnings": {"output_type": "stream", "name": "stderr", "text": "Warning: old."},
    "no output": {"output_type": "unknown"},
    "no object": "text",
}


@pytest.mark.parametrize("output", WITHOUT_TEXT.values(), ids=WITHOUT_TEXT.keys())
def test_outputs_without_text_are_left_out(output: Any) -> None:
    assert text_of(code("run()", output)) == "```python\nrun()\n```"


def test_long_outputs_are_cut_with_a_note() -> None:
    long = {"output_type": "stream", "name": "stdout", "text": "one line\n" * 1000}
    page = read_notebook(notebook(code("run()", long)), "plain")
    assert len(page.text) < MAX_OUTPUT_CHARACTERS + 100
    assert page.notes == ("outputs were cut after 2,000 characters.",)


def test_hidden_and_raw_cells_are_not_read() -> None:
    raw = {"cell_type": "raw", "source": "raw"}
    assert text_of(markdown("Words."), raw, code("x", tags=["remove-cell"]), code(" ")) == "Words."


def test_older_notebooks_are_read() -> None:
    sheet = {"cells": [{"cell_type": "heading", "level": 2, "source": ["Old"]}, {"cell_type": "code", "input": "x"}]}
    page = read_notebook(json.dumps({"worksheets": [sheet], "metadata": {}}), "plain")
    assert page.text == "Old\n\n```python\nx\n```"


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '"a"'])
def test_a_file_that_is_not_a_notebook_fails_with_a_reason(text: str) -> None:
    with pytest.raises(SourceError, match="notebook"):
        read_notebook(text, "plain")


@pytest.mark.parametrize("cells", [3, None, [None], [{"cell_type": "code", "source": 3, "outputs": 4}], [{}]])
def test_a_notebook_with_invalid_cells_is_empty(cells: Any) -> None:
    assert read_notebook(json.dumps({"cells": cells}), "plain").text == ""
