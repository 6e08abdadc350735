"""The Python interface: `glossator.open(folder)` gives a book to ingest into, search and ask."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from glossator import pipeline
from glossator.core.errors import QuestionError
from glossator.core.ports import Progress, silent
from glossator.core.settings import load_settings
from glossator.core.types import Answer, Checked, Document, Filters, IngestReport, Passage, Replay, Verdict
from glossator.parts import Parts, make_verifier, wire
from glossator.verification.judge import Verifier

T = TypeVar("T")


class Book:
    """A book in a data directory; the async pipeline behind it is `glossator.pipeline`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def ingest(
        self,
        *sources: str | Path,
        base_url: str | None = None,
        only: bool = False,
        progress: Progress = silent,
    ) -> IngestReport:
        """Index folders or files; what has not changed is not embedded again."""
        paths = [str(source) for source in sources]
        return _run(pipeline.ingest(self.parts, paths, base_url, only, progress))

    def search(self, question: str, top_k: int = 5, filters: Filters | dict[str, str] | None = None) -> list[Passage]:
        """The best passages for a question."""
        return list(_run(pipeline.search(self.parts, question, top_k, _filters(filters))).passages)

    def ask(
        self,
        question: str,
        selected_text: str | None = None,
        top_k: int = 5,
        filters: Filters | dict[str, str] | None = None,
    ) -> Answer:
        """A cited answer from the book, or only from a selection; or an abstention."""
        return _run(pipeline.ask(self.parts, question, selected_text, top_k, _filters(filters)))

    def verify(self, draft: str, passages: Sequence[Passage | str] | None = None) -> Checked:
        """Every claim of a text, checked against passages or against the book."""
        return _run(pipeline.verify(self.parts, draft, passages))

    def replay(self, receipt_id: str) -> Replay:
        """An old answer, checked against today's book."""
        return _run(pipeline.replay(self.parts, receipt_id))

    def document(self, document_id: str) -> Document | None:
        """A document as it was ingested; passages and citations point into its `text`."""
        return self.parts.generation().documents.get(document_id)

    def documents(self) -> Sequence[Document]:
        """All documents in reading order."""
        return list(self.parts.generation().documents.all())

    def close(self) -> None:
        """Let go of all files."""
        self.parts.close()

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def open_book(data_dir: str | Path | None = None) -> Book:
    """The book in a data directory; it need not hold anything yet."""
    return Book(wire(load_settings(data_dir=data_dir)))


def verify(claim: str, passages: str | Passage | Sequence[str | Passage]) -> Verdict:
    """Whether some passages say what a claim says; needs no book."""
    given = [passages] if isinstance(passages, str | Passage) else list(passages)
    verifier = _verifier()
    return verifier.judge(claim, verifier.prepare(given))


@lru_cache(maxsize=1)
def _verifier() -> Verifier:
    return make_verifier(load_settings())


def _filters(given: Filters | dict[str, str] | None) -> Filters:
    if not isinstance(given, dict):
        return given or Filters()
    known = [field.name for field in fields(Filters)]
    if unknown := given.keys() - set(known):
        raise QuestionError(f"There is no filter {', '.join(sorted(unknown))}.", f"Use {', '.join(known)}.")
    return Filters(**given)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for async work, also where a loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
