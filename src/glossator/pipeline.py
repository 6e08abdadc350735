"""The whole product on one screen: a book goes in, cited answers come out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from glossator.answer.cite import abstain, cite, cite_checked, cite_selection, with_verdicts
from glossator.answer.extractive import PASSAGES, Material, choose, is_generic, points_at_text, summarise
from glossator.core.checks import checked_text
from glossator.core.errors import QuestionError, RecordsProblem
from glossator.core.ports import Drafter, Progress, silent
from glossator.core.types import (
    Answer,
    Checked,
    DocumentCounts,
    EmbeddingCounts,
    Filters,
    IngestReport,
    Mode,
    Passage,
    Policy,
    Receipt,
    Replay,
    Retrieved,
    Skip,
)
from glossator.embed.cache import KEPT_GENERATIONS, EmbeddingCache, embed_with_cache
from glossator.evaluate.golden import Golden, Outcome, run_golden
from glossator.ingest.changes import corpus_hash, plan_ingest
from glossator.ingest.chunk import CHUNKER_VERSION, SELECTION, chunk_document
from glossator.ingest.read import read_source
from glossator.ingest.selection import selection_document
from glossator.parts import Parts
from glossator.retrieve import nearest_chunks, retrieve, selection_relevance, weigh
from glossator.store.generations import FORMAT, Generation, Manifest, SourceRecord, now
from glossator.verification.confidence import confidence
from glossator.verification.draft.claims import Kind, split_claims
from glossator.verification.gate import MOST_CLAIMS, Gate, check
from glossator.verification.receipts import make_receipt
from glossator.verification.receipts import replay as replayed

ABSTAIN_BELOW = 0.3
"""Relevance under which the book is taken not to speak of a question; 0.3 to 0.5 is low confidence."""

ABSTAIN_BELOW_POINTING = 0.1
"""The same for a selection when the question points at it."""

MAX_QUESTION, MAX_SELECTION, MAX_TOP_K = 32_000, 64_000, 100
EVERYTHING = Filters()
VERIFY_PASSAGES = 5
"""Passages of the book that a claim without sources is checked against."""
SELECTION_CHUNKS = 24
"""Chunks of a selection that are embedded while the reader waits; a longer one is narrowed by its words first."""


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
    """Sentences of the book that answer a question, each cited; or an abstention."""
    return await _kept(parts, await answered(parts, question, selected_text, top_k, filters))


async def answered(
    parts: Parts,
    question: str,
    selected_text: str | None = None,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
) -> Receipt:
    """An answer in its receipt, which nobody has kept yet."""
    question = checked_question(question)
    if selected_text is not None:
        return await asyncio.to_thread(_ask_selection, parts, question, checked_selection(selected_text))
    return await asyncio.to_thread(_ask_book, parts, question, checked_top_k(top_k), filters)


async def _kept(parts: Parts, receipt: Receipt) -> Answer:
    """The answer, which names its receipt only if that could be kept: an answer need not fail over it."""
    try:
        await parts.records.keep(receipt)
    except RecordsProblem:
        return replace(receipt.answer, receipt_id="")
    return receipt.answer


def _ask_book(parts: Parts, question: str, top_k: int, filters: Filters) -> Receipt:
    """Search and answer from one generation, whatever is ingested meanwhile."""
    book = parts.generation()
    found = _search(parts, question, top_k, filters, book)
    return _receipt(parts, question, _extract(parts, question, found, book), found.passages, book.manifest)


async def stream(
    parts: Parts,
    question: str,
    drafter: Drafter,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
    policy: Policy = Policy.STRICT,
) -> AsyncIterator[str | Answer]:
    """An answer as it is drafted: every piece was checked before it is given out; the whole answer comes last."""
    async for piece in drafted(parts, question, drafter, top_k, filters, policy):
        yield piece if isinstance(piece, str) else await _kept(parts, piece)


async def drafted(
    parts: Parts,
    question: str,
    drafter: Drafter,
    top_k: int = PASSAGES,
    filters: Filters = EVERYTHING,
    policy: Policy = Policy.STRICT,
) -> AsyncIterator[str | Receipt]:
    """The same with the receipt, which nobody has kept yet, instead of the answer."""
    question, top_k = checked_question(question), checked_top_k(top_k)
    book = await asyncio.to_thread(parts.generation)
    found = await asyncio.to_thread(_search, parts, question, top_k, filters, book)
    gate = Gate(parts.verifier, parts.verifier.prepare(found.passages), policy)
    if found.relevance >= ABSTAIN_BELOW:
        async for text in drafter.draft(question, found.passages):
            if shown := await asyncio.to_thread(gate.feed, text):
                yield shown
        if shown := await asyncio.to_thread(gate.finish):
            yield shown
    checked = gate.checked
    if checked.sentences:
        sure = confidence(found.relevance, [v.score for v in checked.verdicts if v.supported], len(gate.withheld))
        answer = cite_checked(checked, found.passages, sure, book.page_text)
    else:
        extracted = await asyncio.to_thread(_extract, parts, question, found, book)
        answer = replace(extracted, unsupported_claims=checked.unsupported_claims)
        yield answer.text
    yield _receipt(parts, question, answer, found.passages, book.manifest, drafter, policy)


def _extract(parts: Parts, question: str, found: Retrieved, book: Generation) -> Answer:
    """The book's own sentences, or an abstention."""
    if found.relevance < ABSTAIN_BELOW:
        return abstain(found.passages, Mode.NO_RESULTS, found.relevance)
    vectors = book.index.sentence_vectors([item.chunk for item in found.found])
    material = [Material(f.chunk, v, f.passage.score) for f, v in zip(found.found, vectors, strict=True)]
    quotes = choose(weigh(question, book.documents).weights, found.query.sentence, material)
    if not quotes:
        return abstain(found.passages, Mode.NO_RESULTS, found.relevance)
    scores = {passage.chunk_id: passage.score for passage in found.passages}
    return _checked(parts, cite(quotes, scores, found.relevance, book.page_text), found.passages)


def _ask_selection(parts: Parts, question: str, selection: str) -> Receipt:
    """Only the selection is read: nothing here can reach the rest of the book."""
    answer = _extract_selection(parts, question, selection)
    return _receipt(parts, question, _checked(parts, answer, [selection]), (), None)


def _extract_selection(parts: Parts, question: str, selection: str) -> Answer:
    words = weigh(question, parts.word_counts())
    document = selection_document(selection)
    chunks = nearest_chunks(chunk_document(document, parts.embedder.count_tokens, SELECTION), words, SELECTION_CHUNKS)
    embedded = parts.embedder.embed_chunks(chunks, silent)
    if is_generic(question):
        quotes = summarise(
            [Material(c, e.sentences.astype("float32"), 1.0) for c, e in zip(chunks, embedded, strict=True)]
        )
        return cite_selection(quotes, 1.0)
    query = parts.embedder.embed_query(question)
    scores, overall = selection_relevance(chunks, embedded, query, words, parts.embedder.calibration.selection)
    if overall < (ABSTAIN_BELOW_POINTING if points_at_text(question) else ABSTAIN_BELOW):
        return abstain((), Mode.SELECTED_TEXT, overall)
    material = [Material(c, e.sentences.astype("float32"), s) for c, e, s in zip(chunks, embedded, scores, strict=True)]
    material.sort(key=lambda item: -item.relevance)
    quotes = choose(words.weights, query.sentence, material)
    return cite_selection(quotes, overall) if quotes else abstain((), Mode.SELECTED_TEXT, 0.0)


def _checked(parts: Parts, answer: Answer, passages: Sequence[Passage | str]) -> Answer:
    """Every sentence of an answer against the passages that it was made from; what they do not say is left out."""
    if answer.abstained:
        return answer
    prepared = parts.verifier.prepare(passages)
    checked = with_verdicts(answer, [parts.verifier.judge(sentence.text, prepared) for sentence in answer.sentences])
    return checked if checked.sentences else abstain((), answer.mode, 0.0)


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


def checked_question(question: str) -> str:
    """The question without white space around it."""
    question = question.strip()
    if not question:
        raise QuestionError("The question is empty.", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise QuestionError(f"The question has {len(question):,} characters.", f"Keep it within {MAX_QUESTION:,}.")
    return checked_text(question, "question")


def checked_selection(selection: str) -> str:
    """The selection as it is."""
    if not selection.strip():
        raise QuestionError("The selection is empty.", "Select some text, or ask the whole book.")
    if len(selection) > MAX_SELECTION:
        raise QuestionError(f"The selection has {len(selection):,} characters.", f"Keep it within {MAX_SELECTION:,}.")
    return checked_text(selection, "selection")


def checked_top_k(top_k: int) -> int:
    """How many passages, within bounds."""
    if not 1 <= top_k <= MAX_TOP_K:
        raise QuestionError(f"top_k is {top_k}.", f"Give a number from 1 to {MAX_TOP_K}.")
    return top_k
