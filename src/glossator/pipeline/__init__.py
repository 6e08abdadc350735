"""The product on one screen: ingest a book, search it, ask it, check a text against it.

ingest   sources -> documents -> chunks -> vectors -> the next generation        indexing.py, sources.py
ask      question -> passages -> draft or quotes -> checked sentences -> answer  answering.py, reading.py,
                                                                                 drafting.py, extracting.py
session  an answer becomes an exchange of a conversation                         conversations.py
receipt  what an answer was made from, so that it can be checked again later     receipts.py
engine   the parts that answering needs, built from the settings                 wiring.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from glossator.core.answers import Answer, CheckedDraft, Delta
from glossator.core.book.sources import DEFAULT_OPTIONS, SourceOptions
from glossator.core.ports import Drafter, Progress, no_progress
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt, Replay
from glossator.core.types import Filters, IngestReport, Passage, RetrievalResult, RollbackReport
from glossator.evaluate.golden import GoldenOutcome, GoldenQuestion, run_golden
from glossator.pipeline.answering import answer_without_session
from glossator.pipeline.checking import check_draft
from glossator.pipeline.conversations import converse
from glossator.pipeline.indexing import IngestRequest, build_generation, remove_and_rebuild, roll_back
from glossator.pipeline.reading import search_in_thread
from glossator.pipeline.receipts import replay_receipt
from glossator.pipeline.wiring import Engine

__all__ = [
    "Engine",
    "Question",
    "answer",
    "ask",
    "evaluate",
    "ingest",
    "remove_source",
    "replay",
    "rollback",
    "search",
    "stream",
    "verify",
]


async def ingest(
    engine: Engine,
    sources: Sequence[str] = (),
    options: SourceOptions = DEFAULT_OPTIONS,
    only: bool = False,
    progress: Progress = no_progress,
    *,
    dry_run: bool = False,
) -> IngestReport:
    """Index sources: unchanged text is not embedded again, and the new index is used only when it is complete.

    Without sources, those of the index are read again. A dry run only reports what would change.
    """
    request = IngestRequest(sources, options, only, dry_run)
    return await asyncio.to_thread(build_generation, engine, request, progress)


async def rollback(engine: Engine) -> RollbackReport:
    """Switch back to the previous generation; a second rollback undoes the first."""
    return await asyncio.to_thread(roll_back, engine)


async def remove_source(engine: Engine, name_or_path: str, progress: Progress = no_progress) -> IngestReport:
    """Remove one source from the index; the others stay as they are."""
    return await asyncio.to_thread(remove_and_rebuild, engine, name_or_path, progress)


async def search(engine: Engine, question: Question) -> RetrievalResult:
    """The best passages for a question."""
    return (await search_in_thread(engine, await asyncio.to_thread(engine.generation), question))[0]


def stream(
    engine: Engine, question: Question, drafter: Drafter | None = None
) -> AsyncIterator[Delta | AnswerWithReceipt]:
    """An answer as it is written: every piece is checked before it is sent; the whole answer comes last.

    `drafter` replaces the configured language model.
    """
    return (answer_without_session if question.session is None else converse)(engine, question, drafter)


async def answer(engine: Engine, question: Question) -> AnswerWithReceipt:
    """The whole answer, with its receipt and the passages found for it."""
    *_, whole = [piece async for piece in stream(engine, question)]
    assert isinstance(whole, AnswerWithReceipt)  # noqa: S101 - `stream` ends with it
    return whole


async def ask(engine: Engine, question: Question) -> Answer:
    """Sentences that answer a question, each checked and cited; or an abstention."""
    return (await answer(engine, question)).answer


async def verify(
    engine: Engine, draft: str, passages: Sequence[Passage | str] | None = None, version: str | None = None
) -> CheckedDraft:
    """Every claim of a draft, checked against the given passages, or against the passages nearest to each claim.

    These are of the current version of the book, unless another is named.
    """
    return await asyncio.to_thread(check_draft, engine, draft, passages, Filters(version=version))


async def replay(engine: Engine, receipt_id: str) -> Replay:
    """An earlier answer, checked against the current book."""
    receipt = await engine.records.receipt(receipt_id)
    return await asyncio.to_thread(lambda: replay_receipt(receipt, engine.generation(), engine.verifier))


async def evaluate(engine: Engine, questions: list[GoldenQuestion]) -> list[GoldenOutcome]:
    """Run a book's golden questions."""

    async def search_for(text: str) -> tuple[Passage, ...]:
        return (await search(engine, Question(text))).passages

    async def answer_to(text: str, selection: str | None) -> Answer:
        return await ask(engine, Question(text, selection))

    return await run_golden(questions, search_for, answer_to)
