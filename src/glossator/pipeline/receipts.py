"""Creates receipts, and checks earlier answers against the current book."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.core.answers import Answer, Citation, Mode, Policy, Sentence, Status
from glossator.core.book.manifest import Manifest, timestamp
from glossator.core.ports import Drafter, Generation
from glossator.core.question import Question
from glossator.core.receipts import Receipt, Replay, ReplayedSentence, SourceState, UsedPassage
from glossator.core.types import Passage, Span
from glossator.pipeline.wiring import Engine
from glossator.verification.judge import Verifier, quote_spans

PageText = Callable[[str], str]
"""Returns the current text of a document by its id; empty if it was removed."""

_CONTEXT_LENGTH = 1500
"""Characters on either side of a changed quote that a sentence is checked against."""


_UNCHANGED_SOURCES = (SourceState.UNCHANGED, SourceState.SELECTION)
"""Sources that the same verifier would judge a sentence by in the same way."""


def make_receipt(
    question: str,
    answer: Answer,
    passages: Sequence[Passage],
    created: str,
    *,
    generation: int,
    corpus_hash: str,
    embedder: str,
    answerer: str,
    verifier: str,
    prompt_hash: str = "",
    settings: dict[str, str] | None = None,
) -> Receipt:
    """The receipt of an answer; the same answer made in the same way has the same id."""
    used = tuple(UsedPassage(p.chunk_id, p.document_id, p.start, p.end, _hash(p.text)) for p in passages)
    draft = Receipt(
        *("", created, question, answer, used, generation, corpus_hash, embedder, answerer, prompt_hash),
        *(settings or {}, verifier, Policy.STRICT),
    )
    digest = hashlib.sha256(
        repr(replace(draft, created="", answer=replace(answer, receipt_id=""))).encode()
    ).hexdigest()
    return replace(draft, receipt_id=digest[:24], answer=replace(answer, receipt_id=digest[:24]))


def receipt_for(
    engine: Engine,
    question: Question,
    answer: Answer,
    passages: Sequence[Passage],
    book: Manifest | None,
    drafter: Drafter | None,
) -> Receipt:
    """The receipt of a new answer; without a drafter, the answer is made of quotes."""
    return make_receipt(
        question.text,
        answer,
        passages,
        timestamp(),
        generation=book.generation if book else 0,
        corpus_hash=book.corpus_hash if book else "",
        embedder=engine.embedder.fingerprint,
        answerer=drafter.name if drafter else "extractive",
        prompt_hash=drafter.prompt_hash if drafter else "",
        settings=_version(question, book)
        | ((drafter.settings | ({"judge": engine.judge} if engine.judge else {})) if drafter else {}),
        verifier=engine.verifier.version,
    )


def _version(question: Question, book: Manifest | None) -> dict[str, str]:
    """The version of the book that was searched, if it has versions."""
    if book is None or not book.versions:
        return {}
    named = question.filters.version
    (current, *_), found = book.versions, [version for version in book.versions if named in version.names]
    return {"version": (found[0] if found else current).name}


def replay_receipt(receipt: Receipt, book: Generation, verifier: Verifier) -> Replay:
    """Check every sentence of an earlier answer against the current book."""
    citations = {citation.number: citation for citation in receipt.answer.citations}
    sentences = tuple(
        _check_again(
            sentence, [citations[n] for n in sentence.citations if n in citations], receipt, book.page_text, verifier
        )
        for sentence in receipt.answer.sentences
    )
    return Replay(
        receipt_id=receipt.receipt_id,
        question=receipt.question,
        created=receipt.created,
        holds=all(s.holds for s in sentences if s.before in (None, Status.SUPPORTED)),
        generation=(receipt.generation, book.manifest.generation),
        corpus_changed=receipt.corpus_hash != book.manifest.corpus_hash,
        verifier_changed=receipt.verifier != verifier.version,
        sentences=sentences,
    )


def _check_again(
    sentence: Sentence, cited: Sequence[Citation], receipt: Receipt, page_text: PageText, verifier: Verifier
) -> ReplayedSentence:
    states, texts = [], []
    for citation in cited:
        state, text = _current_source(_own_words(sentence, citation), receipt, page_text, verifier)
        states.append(state)
        texts += [text] if text else []
    worst = max(states, key=list(SourceState).index, default=SourceState.GONE)
    before = sentence.verdict.status if sentence.verdict else None
    if sentence.verdict and worst in _UNCHANGED_SOURCES and receipt.verifier == verifier.version:
        return ReplayedSentence(sentence.text, before, sentence.verdict, worst)
    prepared = verifier.prepare(texts)
    verdict = verifier.judge(sentence.text, prepared)
    code = verdict if verdict.supported else verifier.judge_code(sentence.text, prepared)
    return ReplayedSentence(sentence.text, before, code if code.supported else verdict, worst)


def _own_words(sentence: Sentence, citation: Citation) -> Citation:
    """The citation of the words that support this sentence: several sentences may cite one passage."""
    evidence = sentence.verdict.evidence if sentence.verdict else None
    if evidence is None:
        return citation
    start = evidence.start if evidence.document_start is None else evidence.document_start
    document_id = evidence.document_id or citation.document_id
    return replace(
        citation, quote=evidence.quote, start=start, end=start + len(evidence.quote), document_id=document_id
    )


def _current_source(
    citation: Citation, receipt: Receipt, page_text: PageText, verifier: Verifier
) -> tuple[SourceState, str]:
    """What happened to a quote, and the text to check against now."""
    if receipt.answer.mode is Mode.SELECTED_TEXT:
        return SourceState.SELECTION, citation.quote
    page = page_text(citation.document_id)
    if not page:
        return SourceState.GONE, ""
    if _is_passage_unchanged(citation, receipt, page):
        return SourceState.UNCHANGED, citation.quote
    found = quote_spans(citation.quote, verifier.prepare([page]), 1)
    if found:
        unmoved = Span(citation.start, citation.end) in found
        return SourceState.UNCHANGED if unmoved else SourceState.MOVED, citation.quote
    return SourceState.CHANGED, page[max(0, citation.start - _CONTEXT_LENGTH) : citation.end + _CONTEXT_LENGTH]


def _is_passage_unchanged(citation: Citation, receipt: Receipt, page: str) -> bool:
    """Whether the passage around a quote is where it was, word for word."""
    return any(
        used.chunk_id == citation.chunk_id and used.text_hash == _hash(page[used.start : used.end])
        for used in receipt.passages
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
