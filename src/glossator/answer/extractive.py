"""Extractive answers: the book's own sentences, chosen for the question without a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glossator.answer.lead_ins import QuoteLayout, introduced_by, is_lead_in
from glossator.core.text.words import WordFinder, all_words, content_words, is_statement
from glossator.core.types import Block, Chunk, Span, Vector

MIN_SENTENCES, USUAL_SENTENCES, MAX_SENTENCES = 2, 4, 5
"""Sentences of an answer; more than usual only if one of them depends on the sentence before it."""
MAX_PASSAGES = 5
"""How many passages the sentences may come from."""

_CLOSE_TO_BEST = 0.78
"""A further sentence must score at least this share of the best one."""

_SIMILARITY_WEIGHT, _RELEVANCE_WEIGHT, _RANK_PENALTY = 4.0, 0.35, 0.2
"""What counts besides the question's words: similarity, the passage's relevance, and its rank."""
_SUBJECT_WEIGHT, _MAX_SUBJECT_WORDS, _SUBJECT_LENGTH = 0.4, 3, 60
"""A sentence that begins with all the words of a short question ("What is SLAM?") counts as its definition."""
READ_WEIGHT = 0.5
"""The share that the reader gives to a sentence: how likely it is the one that answers."""
_HEADING_WEIGHT = 0.3
"""A word of the question in a heading counts this much of one in the sentence itself."""

_DEPENDS_ON_PREVIOUS = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|however|but|so|thus|therefore|hence|then|also|and|or|both"
    r"|instead|otherwise|for example|for instance|in contrast|moreover|furthermore|similarly|as a result"
    r"|in other words|either|neither)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!…。！۔।][\"'”’»)\]」』）]*$")
_REFERS_TO_TEXT = re.compile(
    r"\b(?:this|these|those|such|here|above|the (?:text|passage|paragraph|selection))\b", re.IGNORECASE
)
_GENERIC_WORDS = frozenset(
    """
    explain this that these summarise summarize summary sum up describe clarify simplify simple simply
    terms mean meaning paragraph passage text section selection about tell me more what does is it the
    in of a please give overview gist main point points idea ideas key takeaway takeaways say saying
    here can you could help understand i don't do not get shorter short brief briefly words plain
    english like five to for and an tldr tl dr concept concepts notion term detail details easy easily language
    """.split()
)


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
class _Candidate:
    """A sentence that may be quoted, by the positions of its chunk and of itself in the chunk."""

    chunk: int
    sentence: int
    quote: Quote


def is_generic(question: str) -> bool:
    """Whether a question asks about a text as a whole ("explain this", "summarise")."""
    return all(word in _GENERIC_WORDS for word in all_words(question))


def refers_to_text(question: str) -> bool:
    """Whether a question refers to the text at hand ("this", "the passage")."""
    return bool(_REFERS_TO_TEXT.search(question))


def choose_sentences(
    weights: dict[str, float],
    query: Vector | None,
    chunks: Sequence[ScoredChunk],
    read: Shares = NOT_READ,
    *,
    fragments: bool = False,
) -> list[Quote]:
    """Two to five sentences, first the one that answers best; or `fragments`, if there is no sentence.

    `read` is what the reader says of sentences.
    """
    candidates = _candidates(weights, query, chunks, read, is_statement)
    if fragments and not candidates:
        candidates = _candidates(weights, query, chunks, read, _has_content)
    if not candidates:
        return []
    ranked = sorted(candidates, key=lambda c: (-c.quote.score, c.chunk, c.sentence))
    by_place = {(c.chunk, c.sentence): c for c in candidates}
    ordered = _answer_first(_pick(ranked), by_place)
    return _with_introduced(ordered, ranked[0].quote, {item.chunk.chunk_id: item for item in chunks})


def _with_introduced(quotes: Sequence[Quote], best: Quote, chunks: dict[str, ScoredChunk]) -> list[Quote]:
    """Quotes, each with the code or list that it introduces; nothing is quoted twice."""
    found: dict[tuple[str, int], Quote] = {}
    for quote in quotes:
        item = chunks[quote.chunk.chunk_id]
        found.setdefault((quote.chunk.chunk_id, quote.span.start), quote)
        for part in introduced_by(quote.span, item.chunk, item.blocks, is_answer=quote is best):
            introduced = Quote(quote.chunk, part.span, quote.score, part.layout, part.marker)
            found.setdefault((quote.chunk.chunk_id, part.span.start), introduced)
    return list(found.values())


def choose_summary(chunks: Sequence[ScoredChunk]) -> list[Quote]:
    """The most central sentences, or fragments if there is no sentence, in reading order."""
    return _most_central(chunks, is_statement) or _most_central(chunks, _has_content)


def _most_central(chunks: Sequence[ScoredChunk], is_quotable: Callable[[str], bool]) -> list[Quote]:
    vectors = [vector for item in chunks for vector in item.vectors]
    if not vectors:
        return []
    centre = np.mean(vectors, axis=0)
    candidates = [
        _Candidate(c, s, Quote(item.chunk, span, float(vector @ centre) - 0.01 * s - 0.02 * c))
        for c, item in enumerate(chunks)
        for s, (span, vector) in enumerate(zip(item.chunk.sentences, item.vectors, strict=True))
        if is_quotable(item.chunk.text[span.start : span.end])
    ]
    count = max(MIN_SENTENCES, min(MAX_SENTENCES, len(candidates) // 3))
    best = sorted(candidates, key=lambda c: -c.quote.score)[:count]
    return [c.quote for c in sorted(best, key=lambda c: (c.chunk, c.sentence))]


def _candidates(
    weights: dict[str, float],
    query: Vector | None,
    chunks: Sequence[ScoredChunk],
    read: Shares,
    is_quotable: Callable[[str], bool],
) -> list[_Candidate]:
    finder = WordFinder(tuple(weights))
    seen: set[str] = set()
    found: list[_Candidate] = []
    for c, item in enumerate(chunks[:MAX_PASSAGES]):
        similarities = item.vectors @ query if query is not None else np.zeros(len(item.vectors))
        in_headings = {stem for _, stem in finder.find(item.chunk.context)}
        for s, span in enumerate(item.chunk.sentences):
            text = item.chunk.text[span.start : span.end]
            introduces = is_lead_in(text) and bool(introduced_by(span, item.chunk, item.blocks))
            if text in seen or not (is_quotable(text) or introduces):
                continue
            seen.add(text)
            score = _score(text, item, float(similarities[s]), in_headings, finder, weights) - _RANK_PENALTY * c
            share = read.get((item.chunk.chunk_id, s), 0.0)
            found.append(_Candidate(c, s, Quote(item.chunk, span, score + READ_WEIGHT * share)))
    return found


def _score(
    text: str,
    item: ScoredChunk,
    similarity: float,
    in_headings: set[str],
    finder: WordFinder,
    weights: dict[str, float],
) -> float:
    """Similarity to the question, the question's words in the sentence, and the relevance of the passage."""
    total = sum(weights.values()) or 1.0
    in_text = {stem for _, stem in finder.find(text)}
    covered = (
        sum(weights[w] for w in in_text) + _HEADING_WEIGHT * sum(weights[w] for w in in_headings - in_text)
    ) / total
    words = len(text.split())
    shape = (0.85 if words < 6 or words > 60 else 1.0) * (1.0 if _SENTENCE_END.search(text) else 0.8)
    subject = _SUBJECT_WEIGHT if _is_subject(text, finder, weights) else 0.0
    return shape * (covered + subject + _SIMILARITY_WEIGHT * similarity + _RELEVANCE_WEIGHT * item.relevance)


def _is_subject(text: str, finder: WordFinder, weights: dict[str, float]) -> bool:
    """Whether a sentence begins with the words of a short question."""
    if not 0 < len(weights) <= _MAX_SUBJECT_WORDS:
        return False
    found = finder.find(_ARTICLE.sub("", text)[:_SUBJECT_LENGTH])
    return bool(found) and found[0][0] == 0 and {stem for _, stem in found} == weights.keys()


def _has_content(text: str) -> bool:
    """Whether a fragment says anything: enough for a selection, whose limits the reader chose."""
    return bool(content_words(text))


def _pick(ranked: Sequence[_Candidate]) -> list[_Candidate]:
    """The best few candidates, without near-duplicates."""
    picked: list[_Candidate] = []
    for candidate in ranked:
        close = candidate.quote.score >= _CLOSE_TO_BEST * ranked[0].quote.score
        if len(picked) == USUAL_SENTENCES or (len(picked) >= MIN_SENTENCES and not close):
            break
        if not any(_is_near_duplicate(candidate.quote.text, other.quote.text) for other in picked):
            picked.append(candidate)
    return picked


def _is_near_duplicate(one: str, other: str) -> bool:
    """Whether the shorter of two sentences has most of its words in common with the longer, and the same numbers."""
    words, others = set(content_words(one)), set(content_words(other))
    differ = any(word.isdigit() for word in words ^ others)
    return not differ and len(words & others) > 0.7 * min(len(words), len(others))


def _answer_first(picked: list[_Candidate], candidates: dict[tuple[int, int], _Candidate]) -> list[Quote]:
    """The sentence that answers, then the others in reading order, best passage first.

    A sentence that depends on the one before it comes with it.
    """
    first, *others = picked
    chosen: dict[tuple[int, int], _Candidate] = {}
    for c in (first, *sorted(others, key=lambda c: (c.chunk != first.chunk, c.chunk, c.sentence))):
        before = (c.chunk, c.sentence - 1)
        has_room = len(chosen) + 1 < MAX_SENTENCES
        if _DEPENDS_ON_PREVIOUS.match(c.quote.text) and before in candidates and has_room:
            chosen.setdefault(before, candidates[before])
        chosen.setdefault((c.chunk, c.sentence), c)
    return [c.quote for c in chosen.values()]
