"""Answers one question: search the book or read the selection, draft or quote, check, cite or abstain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from glossator.answer.cite import abstain, cite_checked, cite_checked_selection
from glossator.answer.followups import depends_on_previous, standalone_question
from glossator.core.answers import Answer, Delta, Mode
from glossator.core.errors import LanguageModelUnavailable, RecordsError
from glossator.core.ports import Drafter, Generation
from glossator.core.question import DraftRequest, Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.thresholds import is_answerable, is_draftable
from glossator.core.timing import stage
from glossator.core.types import Passage, best_score
from glossator.pipeline.drafting import DraftStream
from glossator.pipeline.extracting import extract, extract_selection
from glossator.pipeline.reading import search_book, search_in_thread
from glossator.pipeline.receipts import receipt_for
from glossator.pipeline.wiring import Engine
from glossator.retrieve import shorten
from glossator.verification.confidence import confidence

T = TypeVar("T")
AnswerIterator = AsyncIterator[Delta | AnswerWithReceipt]
"""An answer as it is written: deltas, then the whole answer."""


async def answer_without_session(engine: Engine, question: Question, drafter: Drafter | None = None) -> AnswerIterator:
    """An answer outside any conversation; its receipt is stored."""
    async with aclosing(answer_question(engine, question, drafter)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            yield piece if isinstance(piece, Delta) else await _with_stored_receipt(engine, piece)


async def answer_question(engine: Engine, question: Question, drafter: Drafter | None = None) -> AnswerIterator:
    """An answer whose receipt is not stored yet.

    Earlier questions are used only if this one depends on them; answers that used them are not cached.
    """
    if not depends_on_previous(question.text):
        question = replace(question, past=())
    cacheable = not question.past and drafter is None
    drafter = drafter or await engine.load_drafter()
    if question.selection is None:
        book: Generation | None = engine.generation_if_open() or await asyncio.to_thread(engine.generation)
    else:
        book = None
    # The first call of `current` asks the server of the index.
    generation = book.manifest.generation if book else await asyncio.to_thread(engine.generations.current)
    key = _cache_key(engine, drafter, generation, question)
    if cacheable and (cached := engine.cache.get(key)) is not None:
        yield Delta.of(cached.answer)
        yield cached
        return
    pieces = _from_selection(engine, question, drafter) if book is None else _from_book(engine, book, question, drafter)
    async for piece in pieces:
        if cacheable and isinstance(piece, AnswerWithReceipt) and not piece.answer.degraded:
            engine.cache.put(key, piece)
        yield piece


def _cache_key(
    engine: Engine, drafter: Drafter | None, generation: int | None, question: Question
) -> tuple[object, ...]:
    """Everything that determines an answer."""
    written_by = (drafter.name, drafter.prompt_hash, tuple(drafter.settings.items())) if drafter else ()
    asked = (generation, question.text, question.selection, question.top_k, question.filters)
    return (written_by, engine.embedder.fingerprint, engine.verifier.version, *asked)


async def _with_stored_receipt(engine: Engine, result: AnswerWithReceipt) -> AnswerWithReceipt:
    """Store the receipt; if that fails, the answer is returned without a receipt id."""
    try:
        with stage("records"):
            await engine.records.store_receipt(result.receipt)
    except RecordsError:
        return result.with_answer(replace(result.answer, receipt_id=""))
    return result


async def _from_book(engine: Engine, book: Generation, question: Question, drafter: Drafter | None) -> AnswerIterator:
    """Search and answer from one generation, even if another is ingested meanwhile."""

    async def search_more(query: str, limit: int) -> tuple[Passage, ...]:
        more = Question(query, filters=question.filters, top_k=min(limit, question.top_k))
        return (await asyncio.to_thread(search_book, engine, book, more)).passages

    standalone = standalone_question(question.text, [asked for asked, _ in question.past])
    searched = replace(question, text=shorten(standalone))  # joined questions may be longer than one may be
    found, reading = await search_in_thread(engine, book, searched)
    passages: Sequence[Passage] = found.passages
    threshold = engine.settings.similarity_threshold
    answerable = is_answerable(found.relevance, threshold)
    answer: Answer | None = None
    written_by: Drafter | None = None
    draft: DraftStream | None = None
    if drafter is not None and is_draftable(found.relevance, threshold, was_read=bool(reading.passages)):
        draft = DraftStream(engine, drafter, DraftRequest(question, found.passages, search_more))
        with stage("generation"):
            async for delta in draft.deltas():
                yield delta
        passages = draft.passages
        if draft.checked.sentences:
            score = _confidence(best_score(passages), draft)
            answer = _with_outcome(cite_checked(draft.checked, passages, score, book.page_text), draft)
            written_by = drafter
        elif draft.declined:
            written_by = drafter
    if answer is None:
        quotes = None
        if answerable and not (draft and draft.declined):
            quotes = await _in_thread(extract, engine, standalone, found, book, reading, _claims_replaced(draft))
        answer = _quoted_or_abstained(quotes, question, found.passages, draft if answerable else None)
        yield Delta.of(answer)
    if found.query is None:
        answer = replace(answer, degraded=True, keywords_only=True)
    receipt = receipt_for(engine, question, answer, passages, book.manifest, written_by)
    yield AnswerWithReceipt(receipt, tuple(passages))


async def _from_selection(engine: Engine, question: Question, drafter: Drafter | None) -> AnswerIterator:
    """Answer from the selection only: nothing here can reach the rest of the book or earlier questions."""
    answer: Answer | None = None
    written_by: Drafter | None = None
    draft: DraftStream | None = None
    if drafter is not None:
        draft = DraftStream(engine, drafter, DraftRequest(replace(question, past=())))
        with stage("generation"):
            async for delta in draft.deltas():
                yield delta
        if draft.checked.sentences:
            answer = _with_outcome(cite_checked_selection(draft.checked, _confidence(1.0, draft)), draft)
        if answer or draft.declined:
            written_by = drafter
    if answer is None:
        quotes = None
        if not (draft and draft.declined):
            quotes = await _in_thread(extract_selection, engine, question, _claims_replaced(draft))
        answer = _quoted_or_abstained(quotes, question, (), draft)
        yield Delta.of(answer)
    yield AnswerWithReceipt(receipt_for(engine, question, answer, (), None, written_by))


def _with_outcome(answer: Answer, draft: DraftStream) -> Answer:
    """An answer from a draft, which says whether the draft was cut short or rejected as a whole."""
    return replace(answer, degraded=draft.degraded, draft_rejected=draft.rejected)


def _quoted_or_abstained(
    quotes: Answer | None, question: Question, nearest: Sequence[Passage], draft: DraftStream | None
) -> Answer:
    """Quotes from the book, or an abstention: the only place that decides to abstain.

    Quotes are used without a draft, or if none of it may be shown. If the model declined to answer, so do we. If it
    failed and there is nothing to quote either, whether the answer is there is unknown: the passages found are all
    there is, and for a selection that is an error.
    """
    failed = draft is not None and draft.degraded and not draft.declined
    if question.selection is not None and failed and not quotes:
        raise LanguageModelUnavailable("The language model failed, and the selection has nothing to quote instead.")
    mode = Mode.SELECTED_TEXT if question.selection is not None else Mode.NO_RESULTS
    if failed and question.selection is None:
        mode = Mode.RETRIEVAL_ONLY
    answer = quotes if quotes and quotes.sentences else abstain(nearest, mode)
    if draft is None:
        return answer
    answer = replace(answer, unsupported_claims=draft.checked.unsupported_claims)
    if failed:
        return replace(answer, mode=mode, degraded=True)
    return replace(answer, draft_rejected=draft.rejected)


def _claims_replaced(draft: DraftStream | None) -> int:
    """How many claims of a model quotes replace: a draft of which nothing may be shown counts as one at least."""
    if draft is None or draft.degraded:
        return 0
    return max(1, len(draft.checked.unsupported_claims))


async def _in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Choose and check quotes outside the event loop, as it takes CPU time."""
    with stage("generation"):
        return await asyncio.to_thread(function, *arguments)


def _confidence(relevance: float, draft: DraftStream) -> float:
    scores = [verdict.score for verdict in draft.checked.verdicts if verdict.supported]
    return confidence(relevance, scores, len(draft.checked.unsupported_claims))
