"""A small book about tides, and the conversations that tests have about it; a pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import glossator
from commands import quick_folder
from data_dirs import book_data, copy_data
from glossator.core.conversations import SessionKey, session_key
from glossator.core.question import Question
from glossator.facade import Book

PAGE = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range of all tides.
"""
SPRING_TIDES = "When do spring tides occur?"
MOON = "What causes tides?"
OUT_OF_SCOPE = "Who won the football match in Lisbon yesterday evening?"
KEY = session_key("tides")
MALFORMED_IDS = {
    "empty": "",
    "space": "a b",
    "path": "../x",
    "too long": "x" * 201,
    "not ASCII": "é",
    "line end": "tides\n",
}


@pytest.fixture(scope="session")
def tides_index() -> Iterator[Path]:
    """A data directory with the book in it; treat it as read-only."""
    with book_data({"tides.md": PAGE}, "https://example.org/book") as data:
        yield data


@pytest.fixture
def tides_data(tides_index: Path) -> Iterator[Path]:
    """A copy of the data directory that a test may change; it has no conversations yet."""
    with quick_folder() as folder:
        yield copy_data(tides_index, folder / "data")


@pytest.fixture
def tides_book(tides_data: Path) -> Iterator[Book]:
    with glossator.open(tides_data) as book:
        yield book


def in_session(text: str = SPRING_TIDES, key: SessionKey = KEY, **more: Any) -> Question:
    return Question(text, session=key, **more)


def stored_questions(book: Book) -> list[str]:
    return [exchange.question for exchange in book.history("tides")]
