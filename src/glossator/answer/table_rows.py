"""Table rows as answers."""

from __future__ import annotations

import re
from collections.abc import Collection

from glossator.core.text.words import content_words
from glossator.core.types import CELL_SEPARATOR

_OR = re.compile(r",|/| or ")


def is_quotable_row(row: str) -> bool:
    """Whether a row says something: at least two of its cells have content."""
    return sum(any(map(str.isalnum, cell)) for cell in row.split(CELL_SEPARATOR)) > 1


def is_about(row: str, question_words: Collection[str]) -> bool:
    """Whether a question asks about what the first cell of a row names: all of it, or one name of "-p, --port"."""
    first = row.split(CELL_SEPARATOR, maxsplit=1)[0]
    names = (set(content_words(name)) for name in (first, *_OR.split(first)))
    return any(name and name <= set(question_words) for name in names)
