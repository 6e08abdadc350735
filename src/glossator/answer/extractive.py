"""Extractive answers: the book's own sentences, chosen for the question without a language model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glossator.answer.lead_ins import QuoteLayout, brings_code, introduced_by, is_lead_in, nearest_code
from glossator.core.text.words import WordFinder, content_words, is_statement
from glossator.core.types import Block, Chunk, Span, Vector

MIN_SENTENCES, USUAL_SENTENCES, MAX_SENTENCES = 2, 4, 5
"""Sentences of an answer; more than usual only if one of them depends on the sentence before it."""
MAX_PASSAGES = 5
"""How many passages the sentences may come from."""

MAX_DISTANCE = 1.5
"""How far below the best a further sentence may score: it is then at least 22 % as likely to be the answer."""

CODE = 1.0
"""If code is wanted, added to the score of a sentence that code follows."""

MAX_CODE_DISTANCE = 4.0
"""How far below the best a sentence of the same page may score whose code is quoted, if the best passage has none."""

FOLLOWING, MAX_FOLLOWING = 1.0, 2
"""Added to the score of the sentence after the best one, and half of it to the next: the answer often comes after what
matches. For how and why, where the best match often only repeats the question, these two count as much as the best."""

MAX_FRAGMENT = 60
"""In characters, of a fragment ("Defaults to 500.") that is quoted with the sentence before it."""

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

_DEPENDS_ON_PREVIOUS = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|either|neither|both|in other words|otherwise|then)\b",
    re.IGNORECASE,
)
"""A sentence that says nothing by itself; "However, …" and the like can be understood alone."""
_CROSS_REFERENCE = re.compile(r"^(?:see|read|compare|cf|siehe|voir|véase)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!…。！۔।][\"'”’»)\]」』）]*$")


Shares = Mapping[tuple[str, int], float]
"""For a sentence, by the id of its chunk and its number there, how likely it is the one that answers."""
NOT_READ: Shares = {}


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk to quote from, with the vectors of its sentences, its relevance, and its blocks.

    The blocks' offsets count from the start of the chunk, as those of its sentences do.
    """

    chunk: Chunk
    vectors: NDArray[np.float32]
    relevance: float
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a chunk, or a code block or list item that one introduces; the span counts within the chunk."""

    chunk: Chunk
    span: Span
    score: float
    layout: QuoteLayout = QuoteLayout.PROSE
    marker: str = ""
    """The number or bullet of a list item, with its indentation; the language of code."""

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
    with_code: bool = False,
    explained: bool = False,
) -> list[Quote]:
    """Two to five sentences, first the one that answers best; or `fragments`, if there is no sentence.

    `read` has the predictions of the reader model. `with_code` adds the code block nearest to the best sentence, if
    none introduces one; `explained` prefers the sentences after it.
    """
    found = candidates(weights, query, chunks, read)
    if fragments and not found:
        found = candidates(weights, query, chunks, read, _has_content)
    if not found:
        return []
    if with_code:
        saying = [candidate for candidate in found if not _only_echoes(candidate.quote.text, weights)]
        found = [_scored_for_code(candidate, chunks[candidate.chunk], bool(read)) for candidate in saying or found]
    ranked = sorted(found, key=lambda c: (-c.quote.score, c.chunk, c.sentence))
    by_place = {(c.chunk, c.sentence): c for c in found}
    ordered = _answer_first(_pick(ranked, explained=explained), by_place)
    best, items = ranked[0].quote, {item.chunk.chunk_id: item for item in chunks}
    quotes = _with_introduced(ordered, best, items)
    if with_code and not any(quote.layout is QuoteLayout.CODE for quote in quotes):
        quotes += _nearest_code(best, items[best.chunk.chunk_id], quotes) or _other_code(ranked, items, quotes)
    return quotes


def _other_code(ranked: Sequence[Candidate], items: dict[str, ScoredChunk], quotes: Sequence[Quote]) -> list[Quote]:
    """The best sentence that code follows, with that code; of another page only if it scores near the best."""
    best = ranked[0].quote
    for quote in (candidate.quote for candidate in ranked):
        item, is_same_page = items[quote.chunk.chunk_id], quote.chunk.document_id == best.chunk.document_id
        is_near = quote.score >= best.score - (MAX_CODE_DISTANCE if is_same_page else MAX_DISTANCE)
        if is_near and brings_code(quote.span, item.chunk, item.blocks):
            return _with_introduced([quote], quote, items)[quote in quotes :]
    return []


def _only_echoes(text: str, weights: dict[str, float]) -> bool:
    """Whether a label has no words but those of the question: "run environments in parallel" does not say how."""
    return not (_SENTENCE_END.search(text) or is_lead_in(text)) and weights.keys() >= set(content_words(text))


def _scored_for_code(candidate: Candidate, item: ScoredChunk, was_read: bool) -> Candidate:
    """A candidate with the score that it has if the question asks how."""
    quote = candidate.quote
    bonus = CODE if brings_code(quote.span, item.chunk, item.blocks) else 0.0
    # A sentence that begins with the words of "What is SLAM?" defines it; with those of "How to tack?", it echoes them.
    echo = candidate.signals[_SUBJECT] * (WEIGHTS if was_read else WEIGHTS_UNREAD)[_SUBJECT]
    return replace(candidate, quote=replace(quote, score=quote.score + bonus - echo))


def _nearest_code(best: Quote, item: ScoredChunk, quotes: Sequence[Quote]) -> list[Quote]:
    """The code block of a passage nearest to a sentence, with its lead-in."""
    found = nearest_code(best.span, item.chunk, item.blocks)
    quoted = {(quote.chunk.chunk_id, quote.span.start) for quote in quotes}
    return [
        Quote(best.chunk, part.span, best.score, part.layout, part.marker)
        for part in found
        if (best.chunk.chunk_id, part.span.start) not in quoted
    ]


def _with_introduced(quotes: Sequence[Quote], best: Quote, chunks: dict[str, ScoredChunk]) -> list[Quote]:
    """Quotes, each with the code or list that it introduces; nothing is quoted twice."""
    found: dict[tuple[str, int], Quote] = {}
    for quote in quotes:
        item = chunks[quote.chunk.chunk_id]
        found.setdefault((quote.chunk.chunk_id, quote.span.start), quote)
        for span in _fragments_after(quote):
            found.setdefault((quote.chunk.chunk_id, span.start), replace(quote, span=span))
        for part in introduced_by(quote.span, item.chunk, item.blocks, is_answer=quote is best):
            introduced = Quote(quote.chunk, part.span, quote.score, part.layout, part.marker)
            found.setdefault((quote.chunk.chunk_id, part.span.start), introduced)
    return list(found.values())


def _fragments_after(quote: Quote) -> Iterator[Span]:
    """The short fragments that follow a sentence in its paragraph: they say more of the same."""
    end = quote.span.end
    for span in quote.chunk.sentences:
        if span.start >= end:
            text = quote.chunk.text[span.start : span.end]
            is_fragment = len(text) <= MAX_FRAGMENT and not is_statement(text) and not _CROSS_REFERENCE.match(text)
            if "\n" in quote.chunk.text[end : span.start] or not is_fragment:
                return
            yield span
            end = span.end


def choose_summary(chunks: Sequence[ScoredChunk]) -> list[Quote]:
    """The most central sentences, or fragments if there is no sentence, in reading order."""
    return _most_central(chunks, is_statement) or _most_central(chunks, _has_content)


def _most_central(chunks: Sequence[ScoredChunk], is_quotable: Callable[[str], bool]) -> list[Quote]:
    vectors = [vector for item in chunks for vector in item.vectors]
    if not vectors:
        return []
    centre = np.mean(vectors, axis=0)
    candidates = [
        Candidate(c, s, (), Quote(item.chunk, span, float(vector @ centre) - 0.01 * s - 0.02 * c))
        for c, item in enumerate(chunks)
        for s, (span, vector) in enumerate(zip(item.chunk.sentences, item.vectors, strict=True))
        if is_quotable(item.chunk.text[span.start : span.end])
    ]
    count = max(MIN_SENTENCES, min(MAX_SENTENCES, len(candidates) // 3))
    best = sorted(candidates, key=lambda c: -c.quote.score)[:count]
    return [c.quote for c in sorted(best, key=lambda c: (c.chunk, c.sentence))]


def candidates(
    weights: dict[str, float],
    query: Vector | None,
    chunks: Sequence[ScoredChunk],
    read: Shares,
    is_quotable: Callable[[str], bool] = is_statement,
) -> list[Candidate]:
    """The sentences that may be quoted, and the lead-ins of code and lists, each scored."""
    finder = WordFinder(tuple(weights))
    seen: set[str] = set()
    found: list[Candidate] = []
    for c, item in enumerate(chunks[:MAX_PASSAGES]):
        similarities = item.vectors @ query if query is not None else np.zeros(len(item.vectors))
        in_headings = {stem for _, stem in finder.find(item.chunk.context)}
        for s, span in enumerate(item.chunk.sentences):
            text = item.chunk.text[span.start : span.end]
            introduces = is_lead_in(text) and bool(introduced_by(span, item.chunk, item.blocks))
            if text in seen or not (is_quotable(text) or introduces):
                continue
            seen.add(text)
            share = read.get((item.chunk.chunk_id, s), 0.0)
            signals = (
                *_word_signals(text, in_headings, finder, weights),
                float(similarities[s]),
                item.relevance,
                float(c),
                float(_is_subject(text, finder, weights)),
                float(_is_misshapen(text)),
                math.log(share + MIN_SHARE),
            )
            found.append(Candidate(c, s, signals, Quote(item.chunk, span, score(signals, bool(read)))))
    return found


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


def _is_misshapen(text: str) -> bool:
    """Whether a sentence is very short or very long, or has no end."""
    words = len(text.split())
    return words < 6 or words > 60 or not _SENTENCE_END.search(text)


def _is_subject(text: str, finder: WordFinder, weights: dict[str, float]) -> bool:
    """Whether a sentence begins with the words of a short question."""
    if not 0 < len(weights) <= _MAX_SUBJECT_WORDS:
        return False
    found = finder.find(_ARTICLE.sub("", text)[:_SUBJECT_LENGTH])
    return bool(found) and found[0][0] == 0 and {stem for _, stem in found} == weights.keys()


def _has_content(text: str) -> bool:
    """Whether a fragment says anything: enough for a selection, which the user chose."""
    return bool(content_words(text))


def _pick(ranked: Sequence[Candidate], *, explained: bool) -> list[Candidate]:
    """The best few candidates, without near-duplicates; the sentences after the best are preferred."""
    first, *others = ranked

    def score_in_context(candidate: Candidate) -> float:
        distance = candidate.sentence - first.sentence if candidate.chunk == first.chunk else 0
        if not 0 < distance <= MAX_FOLLOWING:
            return candidate.quote.score
        return first.quote.score if explained else candidate.quote.score + FOLLOWING / distance

    picked = [first]
    for candidate in sorted(others, key=score_in_context, reverse=True):
        close = score_in_context(candidate) >= first.quote.score - MAX_DISTANCE
        if len(picked) == USUAL_SENTENCES or (len(picked) >= MIN_SENTENCES and not close):
            break
        text = candidate.quote.text
        if not _only_refers(text) and not any(_is_near_duplicate(text, other.quote.text) for other in picked):
            picked.append(candidate)
    return picked


def _only_refers(text: str) -> bool:
    """Whether a sentence says nothing but where to read on: "See inverse kinematics."."""
    return len(text) <= MAX_FRAGMENT and bool(_CROSS_REFERENCE.match(text))


def _is_near_duplicate(one: str, other: str) -> bool:
    """Whether the shorter of two sentences has most of its words in common with the longer, and the same numbers."""
    words, others = set(content_words(one)), set(content_words(other))
    differ = any(word.isdigit() for word in words ^ others)
    return not differ and len(words & others) > 0.7 * min(len(words), len(others))


def _answer_first(picked: list[Candidate], candidates: dict[tuple[int, int], Candidate]) -> list[Quote]:
    """The sentence that answers, then the others in reading order, best passage first.

    A sentence that depends on the one before it comes with it.
    """
    first, *others = picked
    chosen: dict[tuple[int, int], Candidate] = {}
    for c in (first, *sorted(others, key=lambda c: (c.chunk != first.chunk, c.chunk, c.sentence))):
        before = (c.chunk, c.sentence - 1)
        has_room = len(chosen) + 1 < MAX_SENTENCES
        if _DEPENDS_ON_PREVIOUS.match(c.quote.text) and before in candidates and has_room:
            chosen.setdefault(before, candidates[before])
        chosen.setdefault((c.chunk, c.sentence), c)
    return [c.quote for c in chosen.values()]
