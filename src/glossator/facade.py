"""The Python interface: `glossator.open(folder)` returns a book to ingest into, search and ask."""

from __future__ import annotations

import weakref
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from glossator import pipeline
from glossator.core.answers import Answer, CheckedDraft, Verdict
from glossator.core.book.names import validate_book_name
from glossator.core.book.sources import SourceOptions, SourceSummary, parse_layout
from glossator.core.conversations import Exchange, Rating, session_key
from glossator.core.errors import BadInput, QuestionError
from glossator.core.ports import Progress, no_progress
from glossator.core.question import Question
from glossator.core.receipts import Replay
from glossator.core.settings import load_settings
from glossator.core.types import Document, Filters, IngestReport, Passage, RollbackReport
from glossator.pipeline import conversations
from glossator.pipeline.sources import book_name, list_sources
from glossator.pipeline.wiring import Engine, make_verifier, wire
from glossator.verification.judge import Verifier

T = TypeVar("T")


class _BackgroundLoop:
    """Runs coroutines in an event loop in a separate thread, which also owns their connections."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for it; works inside another running loop, such as a notebook's."""
        with self._lock:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal())

        async def wait() -> T:
            return await work

        return self._portal.call(wait)

    def close(self) -> None:
        """Stop the thread."""
        with self._lock:
            self._stack.close()
            self._portal = None


def _close(engine: Engine, loop: _BackgroundLoop) -> None:
    """Also called for a book that was not closed, when it is garbage collected or the program ends."""
    loop.run(engine.close())
    loop.close()


class Book:
    """A book in a data directory; the async pipeline behind it is `glossator.pipeline`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._loop = _BackgroundLoop()
        self._close = weakref.finalize(self, _close, engine, self._loop)

    def ingest(
        self,
        *sources: str | Path,
        base_url: str | None = None,
        only: bool = False,
        progress: Progress = no_progress,
        name: str | None = None,
        layout: str | None = None,
        snippets: str | Path | None = None,
        ref: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        allow_private: bool | None = None,
        versions: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> IngestReport:
        """Index folders, files, live sites or git repositories; without any, those of the index again.

        Unchanged text is not embedded again, and options that are not given stay. A dry run only reports.
        """
        options = SourceOptions(
            base_url=base_url,
            layout=parse_layout(layout) if layout else None,
            name=name,
            snippets=str(snippets) if snippets else None,
            ref=ref,
            include=None if include is None else tuple(include),
            exclude=None if exclude is None else tuple(exclude),
            allow_private=allow_private,
            versions=None if versions is None else tuple(versions),
        )
        paths = [str(source) for source in sources]
        return self._run(pipeline.ingest(self.engine, paths, options, only, progress, dry_run=dry_run))

    def rollback(self) -> RollbackReport:
        """Return to the generation that served before the last ingest; a second rollback returns to this one."""
        return self._run(pipeline.rollback(self.engine))

    @property
    def name(self) -> str:
        """The name of the book; empty if nothing has been ingested."""
        return book_name(self.engine)

    def sources(self) -> list[SourceSummary]:
        """The sources in the index."""
        return list(list_sources(self.engine))

    def remove_source(self, name_or_path: str | Path) -> IngestReport:
        """Remove a source from the index; the others stay as they are."""
        return self._run(pipeline.remove_source(self.engine, str(name_or_path)))

    def search(self, question: str, top_k: int = 5, filters: Filters | dict[str, str] | None = None) -> list[Passage]:
        """The best passages for a question."""
        asked = Question(question, filters=_filters(filters), top_k=top_k)
        return list(self._run(pipeline.search(self.engine, asked)).passages)

    def ask(
        self,
        question: str,
        selected_text: str | None = None,
        top_k: int = 5,
        filters: Filters | dict[str, str] | None = None,
        session_id: str | None = None,
    ) -> Answer:
        """A cited answer from the book, or from the selected text only; or an abstention.

        With a session id, it becomes part of that conversation; a new id starts one.
        """
        session = None if session_id is None else session_key(session_id)
        asked = Question(question, selected_text, _filters(filters), top_k, session=session)
        return self._run(pipeline.ask(self.engine, asked))

    def history(self, session_id: str) -> list[Exchange]:
        """The exchanges of a conversation, oldest first."""
        return self._run(conversations.full_history(self.engine, session_key(session_id)))[1]

    def delete(self, session_id: str) -> None:
        """Delete a conversation with its receipts and feedback."""
        self._run(conversations.delete(self.engine, session_key(session_id)))

    def feedback(self, receipt_id: str, rating: Literal["up", "down"], reason: str = "", text: str = "") -> None:
        """Rate an answer."""
        if rating not in list(Rating):
            raise BadInput(f"Unknown rating {rating!r}.", "Use up or down.")
        self._run(self.engine.records.add_feedback(receipt_id, Rating(rating), reason, text))

    def verify(
        self, draft: str, passages: Sequence[Passage | str] | None = None, version: str | None = None
    ) -> CheckedDraft:
        """Every claim of a text, checked against passages or against the book in one version."""
        return self._run(pipeline.verify(self.engine, draft, passages, version))

    def replay(self, receipt_id: str) -> Replay:
        """An earlier answer, checked against the current book."""
        return self._run(pipeline.replay(self.engine, receipt_id))

    def document(self, document_id: str) -> Document | None:
        """A document as it was ingested; passages and citations point into its `text`."""
        return self.engine.generation().documents.get(document_id)

    def documents(self) -> Sequence[Document]:
        """All documents, in reading order."""
        return list(self.engine.generation().documents.all())

    def close(self) -> None:
        """Close all files and connections."""
        self._close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._close.alive:
            self._close = weakref.finalize(self, _close, self.engine, self._loop)
        return self._loop.run(work)

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def open_book(data_dir: str | Path | None = None, book: str | None = None) -> Book:
    """Open the book in a data directory, which may be empty; `book` names one of several."""
    return Book(wire(load_settings(data_dir=data_dir, book=None if book is None else validate_book_name(book))))


def verify(claim: str, passages: str | Passage | Sequence[str | Passage]) -> Verdict:
    """Check a claim against passages; needs no book."""
    sources = [passages] if isinstance(passages, str | Passage) else list(passages)
    verifier = _verifier()
    return verifier.judge(claim, verifier.prepare(sources))


@lru_cache(maxsize=1)
def _verifier() -> Verifier:
    return make_verifier(load_settings())


def _filters(filters: Filters | dict[str, str] | None) -> Filters:
    if not isinstance(filters, dict):
        return filters or Filters()
    known = [field.name for field in fields(Filters)]
    if unknown := filters.keys() - set(known):
        raise QuestionError(f"Unknown filter: {', '.join(sorted(unknown))}.", f"Use {', '.join(known)}.")
    return Filters(**filters)
