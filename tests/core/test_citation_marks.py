"""Citation marks in texts."""

from __future__ import annotations

import pytest

from glossator.core.text.marks import as_source_marks, split_marks, strip_marks

CODE = "```python\nx = [1]\n```"


@pytest.mark.parametrize(
    ("text", "stripped", "as_sources"),
    [
        ("A. [1] B. [2]", "A. B.", "A. [Source 1] B. [Source 2]"),
        ("A. [1] [2]", "A.", "A. [Source 1] [Source 2]"),
        ("A. [1][2]", "A.", "A. [Source 1][Source 2]"),
        (f"{CODE}\n[1]", CODE, f"{CODE}\n[Source 1]"),
        ("a[1] is code. [2]", "a[1] is code.", "a[1] is code. [Source 2]"),
        ("a[0][1] is code. [2]", "a[0][1] is code.", "a[0][1] is code. [Source 2]"),
        ("See [a page][3]. [1]", "See [a page][3].", "See [a page][3]. [Source 1]"),
        ("A. [20] B. [21]", "A. B.", "A. [Source 20] B. "),
    ],
)
def test_marks_are_stripped_or_rewritten_outside_code(text: str, stripped: str, as_sources: str) -> None:
    assert strip_marks(text) == stripped
    assert as_source_marks(text, 20) == as_sources


def test_text_is_split_at_its_marks() -> None:
    pieces = list(split_marks(f"a[0][1]. [1][2] [b][3]\n{CODE}\n[3]"))
    assert [number for _, number in pieces if number] == [1, 2, 3]
    assert "".join(piece for piece, _ in pieces) == f"a[0][1]. [1][2] [b][3]\n{CODE}\n[3]"
