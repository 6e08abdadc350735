"""Extractive answers: the book's own sentences, chosen for the question without a language model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from glossator.answer.lead_ins import QuoteLayout, brings_code, introduced_by, is_lead_in, nearest_code
from glossator.answer.question_kinds import ONLY_SENTENCES, ExpectedContent
from glossator.answer.sentence_forms import (
    MAX_FRAGMENT,
    depends_on_previous_sentence,
    goes_on,
    instructs,
    is_byline,
    is_cross_reference,
    is_misshapen,
    is_near_duplicate,
    only_echoes,
    only_refers,
)
from glossator.answer.table_rows import is_about, is_quotable_row
from glossator.core.text.words import WordFinder, content_words, is_statement
from glossator.core.types import Block, BlockKind, Chunk, Span, Vector

MIN_SENTENCES, USUAL_SENTENCES, MAX_SENTENCES = 2, 4, 5
"""Sentences of an answer; more than usual only if one of them depends on the sentence before it.

With code, one can be enough."""
MAX_PASSAGES = 5
"""How many passages the sentences may come from."""

MAX_DISTANCE, MAX_DISTANCE_IN_PASSAGE, MAX_DISTANCE_ELSEWHERE = 1.5, 2.5, 0.7
"""How far below the best a further sentence may score: of its page, of its passage, and of another page.

Of its page, it is then at least 22 % as likely to be the answer. Sentences of one passage belong together; but if code
is expected, they are as far as those of the page."""

BEHIND, MAX_BEHIND = 1.0, 4.0
"""Subtracted from the score of a sentence for each point that its passage ranks below the best one, up to so many."""

CODE, INSTRUCTION, CONTINUATION = 1.0, 1.0, 1.5
"""If the question asks how: added to the score of a sentence that code follows and of one that says what to do;
subtracted for one that goes on from what is before it."""

ROW_PENALTY = -1.5
"""Added to the score of a table row unless its first cell names what the question asks about: a row answers few
questions, but shares words with many."""

BYLINE = -12.0
"""Added to the score of a name with an e-mail address, so that it leads no answer that has a sentence: it often has the
words of the title, but says nothing about them."""

MAX_CODE_DISTANCE = 4.0
"""How far below the best a sentence of the same page may score whose code is quoted, if the best passage has none."""

MAX_FOLLOWING = 2
"""For how and why, where the best match often only repeats the question, so many sentences after it count as much."""

SIGNALS = ("words", "heading_words", "similarity", "relevance", "rank", "subject", "shape", "reading")
"""What the score of a sentence consists of: the question's words in it, those only in the headings above it, its
similarity to the question, the relevance and rank of its passage, whether it begins with all words of a short question
("What is SLAM?"), whether it is too short, too long or without an end, and the logarithm of the reader's share."""
_SUBJECT = SIGNALS.index("subject")
WEIGHTS = (3.64, 2.56, 28.2, 1.37, -0.13, 4.0, -0.3, 0.73)
WEIGHTS_UNREAD = (5.66, 4.26, 39.0, 0.52, -0.04, 3.0, -0.3, 0.0)
"""The weight of each signal, with and without the reader model (bench/fit/fit_answers.py); `subject` and `shape` are
set by hand: the questions used for the fit contain little information about them."""
MIN_SHARE = 0.02
"""Added to the reader model's share of a sentence, because some are not read."""
_MAX_SUBJECT_WORDS, _SUBJECT_LENGTH = 3, 60

_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


Shares = Mapping[tuple[str, int], float]
"""For a sentence, by the id of its chunk and its number there, how likely it is the one that answers."""
NOT_READ: Shares = {}


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk to quote from, with the vectors of its sentences, its relevance, its blocks and the heads of its tables.

    The blocks' offsets count from the start of the chunk, as those of its sentences do. `heads` has the head of each
    row's table, by the start of the row.
    """

    chunk: Chunk
    vectors: NDArray[np.float32]
    relevance: float
    blocks: tuple[Block, ...] = ()
    behind: float = 0.0
    """How far it ranks below the best chunk."""
    heads: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence or table row of a chunk, or code or a list item that one introduces; the span counts within it."""

    chunk: Chunk
    span: Span
    score: float
    layout: QuoteLayout = QuoteLayout.PROSE
    marker: str = ""
    """The number or bullet of a list item, with its indentation; the head of a row's table; the language of code."""

    @property
    def text(self) -> str:
        return self.chunk.text[self.span.start : self.span.end]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may be quoted, by the positions of its chunk and of itself in the chunk."""

    chunk: int
    sentence: int
    signals: tuple[float, ...]
    quote: Quote


def choose_sentences(
    weights: dict[str, float],
    query: Vector | None,
    chunks: Sequence[ScoredChunk],
    read: Shares = NOT_READ,
    *,
    fragments: bool = False,
    expected: ExpectedContent = ONLY_SENTENCES,
) -> list[Quote]:
    """Up to five sentences, first the one that answers best; or `fragments`, if there is no sentence.

    `read` has the predictions of the reader model. If code is expected and no sentence brings any, the code nearest to
    the best sentence is added.
    """
    found = candidates(weights, query, chunks, read)
    if fragments and not found:
        found = candidates(weights, query, chunks, read, has_content)
    if not found:
        return []
    if expected.code and expected.explanation:
        saying = [candidate for candidate in found if not only_echoes(candidate.quote.text, weights)]
        found = [_scored_for_code(candidate, chunks, bool(read)) for candidate in saying or found]
    best, *others = _ranked(found, expected)
    others = [other for other in others if _may_join(other.quote, best.quote, weights)]
    by_place = {(c.chunk, c.sentence): c for c in found}
    ordered = _answer_first(_pick(best, others, chunks, expected), by_place)
    items = {item.chunk.chunk_id: item for item in chunks}
    quotes = _with_introduced(ordered, best.quote, items)
    if expected.code and not any(quote.layout in (QuoteLayout.CODE, QuoteLayout.ROW) for quote in quotes):
        in_section = chain([chunks[best.chunk]], _rest_of_section(best.quote.chunk, chunks))
        code = next(filter(None, (_nearest_code(best.quote, item, quotes) for item in in_section)), [])
        quotes += code or _other_code([best, *others], items, quotes)
    return quotes


def _ranked(found: Sequence[Candidate], expected: ExpectedContent) -> list[Candidate]:
    """Candidates, the one that leads the answer first; with code, it does not go on from what is before it."""

    def rank_to_lead(candidate: Candidate) -> tuple[float, int, int]:
        needs_more = expected.code and candidate.quote.layout is QuoteLayout.PROSE and goes_on(candidate.quote.text)
        penalty = CONTINUATION if needs_more and not expected.explanation else 0.0
        return penalty - candidate.quote.score, candidate.chunk, candidate.sentence

    best = min(found, key=rank_to_lead)
    others = sorted(found, key=lambda c: (-c.quote.score, c.chunk, c.sentence))
    return [best, *(other for other in others if other is not best)]


def _may_join(quote: Quote, best: Quote, weights: dict[str, float]) -> bool:
    """Whether a quote may follow the best one: of table rows, those of its table or about what is asked."""
    tables = [(q.chunk.document_id, q.layout, q.marker) for q in (quote, best)]
    return quote.layout is not QuoteLayout.ROW or tables[0] == tables[1] or is_about(quote.text, weights)


def _other_code(ranked: Sequence[Candidate], items: dict[str, ScoredChunk], quotes: Sequence[Quote]) -> list[Quote]:
    """The best sentence that code follows, with that code; of another page only if it scores near the best."""
    best = ranked[0].quote
    for quote in (candidate.quote for candidate in ranked):
        item, is_same_page = items[quote.chunk.chunk_id], quote.chunk.document_id == best.chunk.document_id
        is_near = quote.score >= best.score - (MAX_CODE_DISTANCE if is_same_page else MAX_DISTANCE)
        if is_near and brings_code(quote.span, item.chunk, item.blocks):
            return _with_introduced([quote], quote, items)[quote in quotes :]
    return []


def _scored_for_code(candidate: Candidate, chunks: Sequence[ScoredChunk], was_read: bool) -> Candidate:
    """A candidate with the score that it has if the question asks how."""
    quote = candidate.quote
    bonus = -CONTINUATION
    if not goes_on(quote.text):
        bonus = CODE * _brings_code(candidate, chunks) + INSTRUCTION * instructs(quote.text)
    # A sentence that begins with the words of "What is SLAM?" defines it; with those of "How to tack?", it echoes them.
    echo = candidate.signals[_SUBJECT] * (WEIGHTS if was_read else WEIGHTS_UNREAD)[_SUBJECT]
    return replace(candidate, quote=replace(quote, score=quote.score + bonus - echo))


def _brings_code(candidate: Candidate, chunks: Sequence[ScoredChunk]) -> bool:
    item = chunks[candidate.chunk]
    return brings_code(candidate.quote.span, item.chunk, item.blocks)


def _rest_of_section(chunk: Chunk, chunks: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """The other chunks of its section: a long example is cut off from the sentence that introduces it."""
    section = (chunk.document_id, chunk.heading_path)
    others = [c for c in chunks if (c.chunk.document_id, c.chunk.heading_path) == section and c.chunk != chunk]
    return sorted(others, key=lambda other: abs(other.chunk.position - chunk.position))


def _nearest_code(best: Quote, item: ScoredChunk, quotes: Sequence[Quote]) -> list[Quote]:
    """The code block of a passage nearest to a sentence, or to the start of another passage, with its lead-in."""
    found = nearest_code(best.span if item.chunk == best.chunk else Span(0, 0), item.chunk, item.blocks)
    quoted = {(quote.chunk.chunk_id, quote.span.start) for quote in quotes}
    return [
        Quote(item.chunk, part.span, best.score, part.layout, part.marker)
        for part in found
        if (item.chunk.chunk_id, part.span.start) not in quoted
    ]


def _with_introduced(quotes: Sequence[Quote], best: Quote, chunks: dict[str, ScoredChunk]) -> list[Quote]:
    """Quotes, each with the code or list that it introduces; nothing is quoted twice."""
    found: dict[tuple[str, int], Quote] = {}
    for quote in quotes:
        item = chunks[quote.chunk.chunk_id]
        found.setdefault((quote.chunk.chunk_id, quote.span.start), quote)
        for span in _fragments_after(quote):
            found.setdefault((quote.chunk.chunk_id, span.start), replace(quote, span=span))
        is_row = quote.layout is QuoteLayout.ROW
        for part in [] if is_row else introduced_by(quote.span, item.chunk, item.blocks, is_answer=quote is best):
            introduced = Quote(quote.chunk, part.span, quote.score, part.layout, part.marker)
            found.setdefault((quote.chunk.chunk_id, part.span.start), introduced)
    return [quote for quote in found.values() if quote.span == best.span or not _is_repeated(quote, found.values())]


def _is_repeated(quote: Quote, quotes: Iterable[Quote]) -> bool:
    """Whether a quote is a part of another, such as a sentence of a list item."""
    return any(
        other.chunk == quote.chunk
        and other.span != quote.span
        and other.span.start <= quote.span.start
        and quote.span.end <= other.span.end
        for other in quotes
    )


def _fragments_after(quote: Quote) -> Iterator[Span]:
    """The short fragments that follow a sentence in its paragraph: they say more of the same."""
    end = quote.span.end
    for span in quote.chunk.sentences:
        if span.start >= end:
            text = quote.chunk.text[span.start : span.end]
            is_fragment = len(text) <= MAX_FRAGMENT and not is_statement(text) and not is_cross_reference(text)
            if "\n" in quote.chunk.text[end : span.start] or not is_fragment:
                return
            yield span
            end = span.end


def candidates(
    weights: dict[str, float],
    query: Vector | None,
    chunks: Sequence[ScoredChunk],
    read: Shares,
    is_quotable: Callable[[str], bool] = is_statement,
) -> list[Candidate]:
    """The sentences and table rows that may be quoted, and the lead-ins of code and lists, each scored."""
    finder = WordFinder(tuple(weights))
    seen: set[str] = set()
    found: list[Candidate] = []
    for c, item in enumerate(chunks[:MAX_PASSAGES]):
        similarities = item.vectors @ query if query is not None else np.zeros(len(item.vectors))
        in_headings = {stem for _, stem in finder.find(item.chunk.context)}
        for s, span in enumerate(item.chunk.sentences):
            text, head = item.chunk.text[span.start : span.end], item.heads.get(span.start)
            introduces = head is None and is_lead_in(text) and bool(introduced_by(span, item.chunk, item.blocks))
            if text in seen or not (introduces or (is_quotable(text) if head is None else is_quotable_row(text))):
                continue
            seen.add(text)
            above = in_headings if not head else in_headings | {stem for _, stem in finder.find(head)}
            share = read.get((item.chunk.chunk_id, s), 0.0)
            signals = (
                *_word_signals(text, above, finder, weights),
                float(similarities[s]),
                item.relevance,
                float(c),
                float(_is_subject(text, finder, weights)),
                float(head is None and is_misshapen(text)),
                math.log(share + MIN_SHARE),
            )
            total = score(signals, bool(read)) - BEHIND * min(item.behind, MAX_BEHIND) + BYLINE * is_byline(text)
            quote = Quote(item.chunk, span, total)
            found.append(Candidate(c, s, signals, quote if head is None else _as_row(quote, head, weights)))
    return found


def _as_row(quote: Quote, head: str, weights: dict[str, float]) -> Quote:
    penalty = 0.0 if is_about(quote.text, weights) else ROW_PENALTY
    return replace(quote, score=quote.score + penalty, layout=QuoteLayout.ROW, marker=head)


def score(signals: Sequence[float], was_read: bool) -> float:
    """The logit of a sentence being the one that answers, up to a constant of the question."""
    return sum(w * value for w, value in zip(WEIGHTS if was_read else WEIGHTS_UNREAD, signals, strict=True))


def _word_signals(
    text: str, in_headings: set[str], finder: WordFinder, weights: dict[str, float]
) -> tuple[float, float]:
    """The weighted share of the question's words in a sentence, and of those that only its headings have."""
    total = sum(weights.values()) or 1.0
    in_text = {stem for _, stem in finder.find(text)}
    return sum(weights[w] for w in in_text) / total, sum(weights[w] for w in in_headings - in_text) / total


def _is_subject(text: str, finder: WordFinder, weights: dict[str, float]) -> bool:
    """Whether a sentence begins with the words of a short question."""
    if not 0 < len(weights) <= _MAX_SUBJECT_WORDS:
        return False
    found = finder.find(_ARTICLE.sub("", text)[:_SUBJECT_LENGTH])
    return bool(found) and found[0][0] == 0 and {stem for _, stem in found} == weights.keys()


def has_content(text: str) -> bool:
    """Whether a fragment says anything: enough for a selection, which the user chose."""
    return bool(content_words(text))


def _pick(
    best: Candidate, others: Sequence[Candidate], chunks: Sequence[ScoredChunk], expected: ExpectedContent
) -> list[Candidate]:
    """The best candidate and a few others that belong to it, without near-duplicates."""

    def score_in_context(candidate: Candidate) -> float:
        distance = candidate.sentence - best.sentence if candidate.chunk == best.chunk else 0
        follows = expected.explanation and 0 < distance <= MAX_FOLLOWING and not _is_row(best, candidate)
        return best.quote.score if follows else candidate.quote.score

    has_code = expected.code and any(block.kind is BlockKind.CODE for block in chunks[best.chunk].blocks)
    if expected.code and _brings_code(best, chunks):
        others = [candidate for candidate in others if not _brings_code(candidate, chunks)]
    picked = [best]
    for candidate in sorted(others, key=score_in_context, reverse=True):
        if len(picked) == USUAL_SENTENCES:
            break
        is_near = score_in_context(candidate) >= best.quote.score - _max_distance(candidate, best, expected)
        is_needed = len(picked) < MIN_SENTENCES and not (has_code or _is_row(best, candidate))
        text = candidate.quote.text
        if (is_near or is_needed) and not _is_redundant(text, picked):
            picked.append(candidate)
    return picked


def _is_row(*candidates: Candidate) -> bool:
    return any(candidate.quote.layout is QuoteLayout.ROW for candidate in candidates)


def _max_distance(candidate: Candidate, best: Candidate, expected: ExpectedContent) -> float:
    """How far below the best a sentence may score that is shown with it."""
    if candidate.chunk == best.chunk:
        return MAX_DISTANCE if expected.code else MAX_DISTANCE_IN_PASSAGE
    if expected.explanation:
        return -math.inf
    is_same_page = candidate.quote.chunk.document_id == best.quote.chunk.document_id
    return MAX_DISTANCE if is_same_page else MAX_DISTANCE_ELSEWHERE


def _is_redundant(text: str, picked: Sequence[Candidate]) -> bool:
    return only_refers(text) or any(is_near_duplicate(text, other.quote.text) for other in picked)


def _answer_first(picked: list[Candidate], candidates: dict[tuple[int, int], Candidate]) -> list[Quote]:
    """The sentence that answers, then the others in reading order, best passage first.

    A sentence that depends on the one before it comes with it.
    """
    first, *others = picked
    chosen: dict[tuple[int, int], Candidate] = {}
    for c in (first, *sorted(others, key=lambda c: (c.chunk != first.chunk, c.chunk, c.sentence))):
        before = (c.chunk, c.sentence - 1)
        has_room = len(chosen) + 1 < MAX_SENTENCES
        if depends_on_previous_sentence(c.quote.text) and before in candidates and has_room:
            chosen.setdefault(before, candidates[before])
        chosen.setdefault((c.chunk, c.sentence), c)
    return [c.quote for c in chosen.values()]
