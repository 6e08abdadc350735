"""The Python interface: `glossator.open(folder)` gives a book to ingest into, search and ask."""

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
from glossator.core.conversations import Exchange, Rating, session_key
from glossator.core.errors import BadInput, QuestionError
from glossator.core.ports import Progress, silent
from glossator.core.question import Question
from glossator.core.receipts import Replay
from glossator.core.settings import load_settings
from glossator.core.types import Document, Filters, IngestReport, Passage
from glossator.pipeline import conversations
from glossator.pipeline.wiring import Engine, make_verifier, wire
from glossator.verification.judge import Verifier

T = TypeVar("T")


class _Loop:
    """Runs async work in a thread of its own, where the connections live that the work opens."""

    def __init__(self) -> None:
        self._opening = Lock()
        self._portal: BlockingPortal | None = None
        self._open = ExitStack()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for some work, also where another loop is running already (a notebook)."""
        with self._opening:
            if self._portal is None:
                self._portal = self._open.enter_context(start_blocking_portal())

        async def wait() -> T:
            return await work

        return self._portal.call(wait)

    def close(self) -> None:
        """End the thread."""
        with self._opening:
            self._open.close()
            self._portal = None


def _close(engine: Engine, loop: _Loop) -> None:
    """Also done for a book that nobody closed, when it is no longer used or the program ends."""
    loop.run(engine.close())
    loop.close()


class Book:
    """A book in a data directory; the async pipeline behind it is `glossator.pipeline`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._loop = _Loop()
        self._close = weakref.finalize(self, _close, engine, self._loop)

    def ingest(
        self,
        *sources: str | Path,
        base_url: str | None = None,
        only: bool = False,
        progress: Progress = silent,
    ) -> IngestReport:
        """Index folders or files; what has not changed is not embedded again."""
        paths = [str(source) for source in sources]
        return self._run(pipeline.ingest(self.engine, paths, base_url, only, progress))

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
        """A cited answer from the book, or only from a selection; or an abstention.

        With the id of a session it becomes part of that conversation, which a new id begins.
        """
        session = None if session_id is None else session_key(session_id)
        asked = Question(question, selected_text, _filters(filters), top_k, session=session)
        return self._run(pipeline.ask(self.engine, asked))

    def history(self, session_id: str) -> list[Exchange]:
        """All that was asked and answered in a conversation, oldest first."""
        return self._run(conversations.whole_history(self.engine, session_key(session_id)))[1]

    def delete(self, session_id: str) -> None:
        """Forget a conversation, with its receipts and what was said of its answers."""
        self._run(conversations.delete(self.engine, session_key(session_id)))

    def feedback(self, receipt_id: str, rating: Literal["up", "down"], reason: str = "", text: str = "") -> None:
        """Say what an answer was worth."""
        if rating not in list(Rating):
            raise BadInput(f"The rating is {rating!r}.", "Say up or down.")
        self._run(self.engine.records.give_feedback(receipt_id, Rating(rating), reason, text))

    def verify(self, draft: str, passages: Sequence[Passage | str] | None = None) -> CheckedDraft:
        """Every claim of a text, checked against passages or against the book."""
        return self._run(pipeline.verify(self.engine, draft, passages))

    def replay(self, receipt_id: str) -> Replay:
        """An old answer, checked against today's book."""
        return self._run(pipeline.replay(self.engine, receipt_id))

    def document(self, document_id: str) -> Document | None:
        """A document as it was ingested; passages and citations point into its `text`."""
        return self.engine.generation().documents.get(document_id)

    def documents(self) -> Sequence[Document]:
        """All documents in reading order."""
        return list(self.engine.generation().documents.all())

    def close(self) -> None:
        """Let go of all files."""
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
