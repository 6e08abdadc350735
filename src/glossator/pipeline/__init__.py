"""The whole product on one screen: a book goes in, cited answers come out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from glossator.answer.cite import abstain, cite_checked, cite_checked_selection
from glossator.answer.extractive import PASSAGES
from glossator.answer.followups import leans, standing_alone
from glossator.core.errors import RecordsProblem
from glossator.core.ports import Drafter, Progress, silent
from glossator.core.receipts import Receipt, Replay, Told
from glossator.core.timing import stage
from glossator.core.types import (
    Answer,
    Brief,
    Checked,
    DocumentCounts,
    EmbeddingCounts,
    Filters,
    IngestReport,
    Mode,
    Passage,
    Policy,
    Retrieved,
    Skip,
    Words,
)
from glossator.core.validation import MAX_QUESTION, checked_question, checked_selection, checked_top_k
from glossator.embed.cache import KEPT_GENERATIONS, EmbeddingCache, embed_with_cache
from glossator.evaluate.golden import Golden, Outcome, run_golden
from glossator.ingest.changes import corpus_hash, plan_ingest
from glossator.ingest.chunk import CHUNKER_VERSION, chunk_document
from glossator.ingest.read import read_source
from glossator.pipeline.drafting import Drafting
from glossator.pipeline.extracting import ABSTAIN_BELOW, extract, extract_selection
from glossator.pipeline.receipts import make_receipt
from glossator.pipeline.receipts import replay as replayed
from glossator.pipeline.wiring import Parts
from glossator.retrieve import retrieve
from glossator.store.index.generations import FORMAT, Generation, Manifest, SourceRecord, now
from glossator.verify.claims.split import Kind, split_claims
from glossator.verify.confidence import confidence
from glossator.verify.gate import MOST_CLAIMS, check

EVERYTHING = Filters()
Past = tuple[tuple[str, str], ...]
"""Earlier questions and answers, oldest first."""
VERIFY_PASSAGES = 5
"""Passages of the book that a claim without sources is checked against."""


async def ingest(
    parts: Parts, sources: Sequence[str], base_url: str | None = None, only: bool = False, progress: Progress = silent
) -> IngestReport:
    """Read the sources, embed what is new, build the next generation beside the current one, and switch."""
    return await asyncio.to_thread(_ingest, parts, sources, base_url, only, progress)


def _ingest(parts: Parts, sources: Sequence[str], base_url: str | None, only: bool, progress: Progress) -> IngestReport:
    started = time.monotonic()
    max_bytes = int(parts.settings.max_file_mb * 1_000_000)
    books = {os.path.realpath(source): read_source(source, base_url, max_bytes) for source in sources}
    skipped = tuple(skip for book in books.values() for skip in book.skipped)
    with parts.generations.ingesting():
        before = parts.generations.latest()
        indexed = {source.root: source.documents for source in before.sources} if before else {}
        plan = plan_ingest(books, indexed, only)
        kept = [] if only or not before else [s for s in before.sources if s.root not in books]
        read = [
            SourceRecord(root, books[root].layout, base_url, {d.document_id: d.content_hash for d in found})
            for root, found in plan.documents.items()
        ]
        corpus = corpus_hash([source.documents for source in (*kept, *read)])
        recipe = (parts.embedder.fingerprint, CHUNKER_VERSION, corpus)
        if before and recipe == (before.fingerprint, before.chunker, before.corpus_hash):
            return _report(before.generation, plan.counts, before.chunks, 0, started, skipped)

        documents = [*parts.generations.documents_of(kept), *(d for found in plan.documents.values() for d in found)]
        chunks = [chunk for document in documents for chunk in chunk_document(document, parts.embedder.count_tokens)]
        number = parts.generations.next_number()
        with EmbeddingCache(parts.settings.data_dir / "cache" / "embeddings.sqlite") as cache:
            embeddings, made = embed_with_cache(parts.embedder, cache, chunks, number, progress)
            manifest = Manifest(number, FORMAT, *recipe, parts.embedder.dimension, len(chunks), now(), (*kept, *read))
            parts.generations.build(manifest, documents, chunks, embeddings)
            cache.forget_before(number - KEPT_GENERATIONS)
    return _report(number, plan.counts, len(chunks), made, started, skipped)


async def search(parts: Parts, question: str, top_k: int = 5, filters: Filters = EVERYTHING) -> Retrieved:
    """The best passages for a question."""
    return await asyncio.to_thread(_search, parts, checked_question(question), checked_top_k(top_k), filters)


def _search(parts: Parts, question: str, top_k: int, filters: Filters, book: Generation | None = None) -> Retrieved:
    book = book or parts.generation()
    return retrieve(parts.embedder, book.index, book.documents, question, top_k, filters, book.manifest.generation)


async def ask(
    parts: Parts,
    question: str,
    selected_text: str | None = None,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
) -> Answer:
    """Sentences that answer a question, each checked and cited; or an abstention."""
    pieces = [piece async for piece in answering(parts, question, selected_text, top_k, filters)]
    return (await kept(parts, told_in(pieces))).answer


def told_in(pieces: Sequence[str | Told]) -> Told:
    """What comes last of an answer."""
    return next(piece for piece in reversed(pieces) if isinstance(piece, Told))


async def stream(
    parts: Parts,
    question: str,
    drafter: Drafter | None = None,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
    policy: Policy = Policy.STRICT,
) -> AsyncIterator[str | Answer]:
    """An answer as it is written: every piece was checked before it is given out; the whole answer comes last."""
    async for piece in answering(parts, question, None, top_k, filters, (), policy, drafter):
        yield piece if isinstance(piece, str) else (await kept(parts, piece)).answer


async def answering(
    parts: Parts,
    question: str,
    selected_text: str | None = None,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
    past: Past = (),
    policy: Policy = Policy.STRICT,
    drafter: Drafter | None = None,
    seconds: float | None = None,
) -> AsyncIterator[str | Told]:
    """The same with all that made it, of which nobody has kept the receipt yet, in the place of the answer.

    `past` are earlier questions and answers. A question that stands alone is answered alone, and only such answers are
    kept in memory for whoever asks the same.
    """
    question, top_k = checked_question(question), checked_top_k(top_k)
    past = past if leans(question) else ()
    cached = not past and drafter is None
    drafter = drafter or await parts.ready_drafter()
    book = None if selected_text is not None else parts.at_hand() or await asyncio.to_thread(parts.generation)
    selection = None if selected_text is None else checked_selection(selected_text)
    generation = book.manifest.generation if book else parts.generations.current()
    key = _cache_key(parts, drafter, generation, question, selection, top_k, filters, policy)
    if cached and (known := parts.cache.get(key)) is not None:
        yield Words.of(known.answer)
        yield known
        return
    if book is None:
        pieces = _from_selection(parts, question, selection or "", policy, drafter, seconds)
    else:
        pieces = _from_book(parts, book, question, top_k, filters, past, policy, drafter, seconds)
    async for piece in pieces:
        if cached and not isinstance(piece, str) and not piece.answer.degraded:
            parts.cache.put(key, piece)
        yield piece


async def kept(parts: Parts, told: Told) -> Told:
    """The answer, which names its receipt only if that could be kept: an answer need not fail over it."""
    receipt_id = told.receipt.receipt_id
    if told.answer.cached and parts.cache.is_stored(receipt_id):
        return told
    try:
        with stage("records"):
            await parts.records.keep(told.receipt)
        parts.cache.stored(receipt_id)
    except RecordsProblem:
        return told.telling(replace(told.answer, receipt_id=""))
    return told


async def _from_book(
    parts: Parts,
    book: Generation,
    question: str,
    top_k: int,
    filters: Filters,
    past: Past,
    policy: Policy,
    drafter: Drafter | None,
    seconds: float | None,
) -> AsyncIterator[str | Told]:
    """Search and answer from one generation, whatever is ingested meanwhile."""

    async def search_more(query: str, limit: int) -> tuple[Passage, ...]:
        return (await asyncio.to_thread(_search, parts, query, limit, filters, book)).passages

    alone = standing_alone(question, [asked for asked, _ in past])
    found = await asyncio.to_thread(_search, parts, alone, top_k, filters, book)
    passages = list(found.passages)
    if drafter is not None and found.relevance >= ABSTAIN_BELOW:
        brief = Brief(question, found.passages, None, past, search_more)
        drafting = Drafting(parts.verifier, drafter, brief, policy, seconds or parts.settings.answer_seconds)
        with stage("generation"):
            async for shown in drafting.words():
                yield Words(shown, drafting.cited)
        passages, checked = drafting.passages, drafting.gate.checked
        if checked.sentences:
            sure = _confidence(found.relevance, checked)
            answer = replace(cite_checked(checked, passages, sure, book.page_text), degraded=drafting.degraded)
        else:
            answer = await _in_thread(extract, parts, alone, found, book)
            answer = _instead(answer, drafting, abstain(found.passages, Mode.NO_RESULTS, found.relevance))
            drafter = drafter if drafting.declined else None
            yield Words.of(answer)
    else:
        drafter = None
        answer = await _in_thread(extract, parts, alone, found, book)
        yield Words.of(answer)
    receipt = _receipt(parts, question, answer, passages, book.manifest, drafter, policy)
    yield Told(receipt, tuple(passages))


async def _from_selection(
    parts: Parts, question: str, selection: str, policy: Policy, drafter: Drafter | None, seconds: float | None
) -> AsyncIterator[str | Told]:
    """Only the selection is read: nothing here can reach the rest of the book, nor what was said before."""
    if drafter is None:
        answer = await _in_thread(extract_selection, parts, question, selection)
        yield Words.of(answer)
    else:
        brief = Brief(question, selection=selection)
        drafting = Drafting(parts.verifier, drafter, brief, policy, seconds or parts.settings.answer_seconds)
        with stage("generation"):
            async for shown in drafting.words():
                yield shown
        checked = drafting.gate.checked
        if checked.sentences:
            answer = replace(cite_checked_selection(checked, _confidence(1.0, checked)), degraded=drafting.degraded)
        else:
            answer = await _in_thread(extract_selection, parts, question, selection)
            answer = _instead(answer, drafting, abstain((), Mode.SELECTED_TEXT, 0.0))
            drafter = drafter if drafting.declined else None
            yield Words.of(answer)
    yield Told(_receipt(parts, question, answer, (), None, drafter, policy))


async def _in_thread(write: Callable[..., Answer], *given: object) -> Answer:
    """An answer of the book's own sentences, which are chosen and checked beside the event loop."""
    with stage("generation"):
        return await asyncio.to_thread(write, *given)


def _instead(answer: Answer, drafting: Drafting, refusal: Answer) -> Answer:
    """The book's own sentences in the place of a draft of which nothing stood; a model that declined is believed."""
    withheld = drafting.gate.checked.unsupported_claims
    if drafting.declined:
        return replace(refusal, unsupported_claims=withheld)
    mode = Mode.RETRIEVAL_ONLY if drafting.degraded and answer.mode is Mode.FULL else answer.mode
    return replace(answer, mode=mode, degraded=drafting.degraded, unsupported_claims=withheld)


def _confidence(relevance: float, checked: Checked) -> float:
    scores = [verdict.score for verdict in checked.verdicts if verdict.supported]
    return confidence(relevance, scores, len(checked.unsupported_claims))


def _cache_key(parts: Parts, drafter: Drafter | None, *asked: object) -> tuple[object, ...]:
    """Everything that shapes an answer."""
    by = (drafter.name, drafter.prompt_hash, tuple(drafter.settings.items())) if drafter else ()
    return (by, parts.embedder.fingerprint, parts.verifier.version, *asked)


def _receipt(
    parts: Parts,
    question: str,
    answer: Answer,
    passages: Sequence[Passage],
    book: Manifest | None,
    drafter: Drafter | None = None,
    policy: Policy = Policy.STRICT,
) -> Receipt:
    """The answer and all that made it."""
    return make_receipt(
        question,
        answer,
        passages,
        now(),
        generation=book.generation if book else 0,
        corpus_hash=book.corpus_hash if book else "",
        embedder=parts.embedder.fingerprint,
        answerer=drafter.name if drafter else "extractive",
        prompt_hash=drafter.prompt_hash if drafter else "",
        settings=drafter.settings if drafter else {},
        verifier=parts.verifier.version,
        policy=policy,
    )


async def verify(parts: Parts, draft: str, passages: Sequence[Passage | str] | None = None) -> Checked:
    """Every claim of a draft against some passages, or each against what the book says nearest to it."""
    return await asyncio.to_thread(_verify, parts, draft, passages)


def _verify(parts: Parts, draft: str, passages: Sequence[Passage | str] | None) -> Checked:
    if passages is None:
        claims = [piece.text for piece in split_claims(draft) if piece.kind is Kind.CLAIM][:MOST_CLAIMS]
        found = [_search(parts, text[:MAX_QUESTION], VERIFY_PASSAGES, EVERYTHING).passages for text in claims]
        passages = list({passage.chunk_id: passage for each in found for passage in each}.values())
    return check(parts.verifier, draft, parts.verifier.prepare(passages), Policy.FLAG)


async def replay(parts: Parts, receipt_id: str) -> Replay:
    """An old answer, checked against today's book."""
    return await asyncio.to_thread(_replay, parts, await parts.records.receipt(receipt_id))


def _replay(parts: Parts, receipt: Receipt) -> Replay:
    book = parts.generation()
    return replayed(receipt, book.page_text, parts.verifier, book.manifest.generation, book.manifest.corpus_hash)


async def evaluate(parts: Parts, questions: list[Golden]) -> list[Outcome]:
    """What becomes of a book's golden questions."""

    async def found(question: str) -> tuple[Passage, ...]:
        return (await search(parts, question)).passages

    async def answered(question: str, selection: str | None) -> Answer:
        return await ask(parts, question, selection)

    return await run_golden(questions, found, answered)


def _report(
    generation: int, counts: DocumentCounts, chunks: int, made: int, started: float, skipped: tuple[Skip, ...]
) -> IngestReport:
    embeddings = EmbeddingCounts(made, chunks - made)
    return IngestReport(generation, counts, chunks, embeddings, round(time.monotonic() - started, 3), skipped)
