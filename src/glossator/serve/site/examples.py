"""Example questions that the book is known to answer, from its golden questions or its headings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from glossator.core.errors import GlossatorError
from glossator.core.ports import Generation
from glossator.core.question import Question
from glossator.core.thresholds import is_answerable
from glossator.core.types import BlockKind, Document
from glossator.pipeline.contents import MAX_EXAMPLE_CHARACTERS
from glossator.pipeline.extracting import extract
from glossator.pipeline.reading import search_and_read
from glossator.pipeline.wiring import Engine

MAX_EXAMPLES = 3
MAX_TRIES = 6
"""Questions that are tried for each example, so that a book without answers costs little."""
_SECTIONS, _TITLES = (2, 3), (1,)
"""Levels of headings: of sections, and of pages."""
_TEMPLATE = "What is “{}” about?"


class ExampleQuestions:
    """Chooses the example questions of the current generation once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._chosen: tuple[int, tuple[str, ...]] | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> tuple[str, ...]:
        """Up to three questions that the book answers; none while it cannot be searched."""
        async with self._lock:
            with suppress(GlossatorError):
                book = await asyncio.to_thread(self._engine.generation)
                if self._chosen is None or self._chosen[0] != book.manifest.generation:
                    chosen = await asyncio.to_thread(choose_examples, self._engine, book)
                    self._chosen = (book.manifest.generation, chosen)
                return self._chosen[1]
            return ()


def choose_examples(engine: Engine, book: Generation) -> tuple[str, ...]:
    """Questions from the beginning, the middle and the end of the book, each with an answer."""
    golden = [question for source in book.manifest.sources for question in source.questions]
    parts = _parts(golden) if golden else _heading_questions(book)
    is_answered = _is_covered if golden else _is_answered
    examples: list[str] = []
    for part in parts:
        if len(examples) == MAX_EXAMPLES:
            break
        answered = (one for one in part[:MAX_TRIES] if one not in examples and is_answered(engine, book, one))
        examples += [question for question in [next(answered, None)] if question]
    return tuple(examples)


def _heading_questions(book: Generation) -> list[Sequence[str]]:
    """The headings of sections in three parts; then those of pages, for a book whose sections give too few examples."""
    documents = list(_current_documents(book))
    levels = [
        dict.fromkeys(question for document in documents for question in _from_headings(document, chosen))
        for chosen in (_SECTIONS, _TITLES)
    ]
    return [part for questions in levels for part in _parts(list(questions))]


def _current_documents(book: Generation) -> Iterator[Document]:
    return (document for document in book.documents.all() if book.manifest.is_current(document.url))


def _parts(candidates: Sequence[str]) -> list[Sequence[str]]:
    bounds = [len(candidates) * part // MAX_EXAMPLES for part in range(MAX_EXAMPLES + 1)]
    return [candidates[start:end] for start, end in pairwise(bounds)]


def _from_headings(document: Document, levels: tuple[int, ...]) -> Iterator[str]:
    """Headings as questions; what they ask is in the words of the book."""
    for block in document.blocks:
        if block.kind is BlockKind.HEADING and block.level in levels:
            heading = document.text[block.start : block.end]
            question = heading if heading.endswith(("?", "؟", "？")) else _TEMPLATE.format(heading)
            if len(question) <= MAX_EXAMPLE_CHARACTERS:
                yield question


def _is_covered(engine: Engine, book: Generation, text: str) -> bool:
    """Whether the book covers a question, which its author says it answers."""
    return is_answerable(search_and_read(engine, book, Question(text))[0].relevance)


def _is_answered(engine: Engine, book: Generation, text: str) -> bool:
    """Whether the book answers a question in its own words, without a language model."""
    found, reading = search_and_read(engine, book, Question(text))
    if not is_answerable(found.relevance, engine.settings.similarity_threshold):
        return False
    answer = extract(engine, text, found, book, reading)
    return bool(answer and answer.sentences)
