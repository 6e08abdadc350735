"""The extractive answerer: the book's own sentences, chosen for the question, with no language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glossator.core.text.words import WordFinder, all_words, content_words
from glossator.core.types import Chunk, Span, Vector

FEWEST, USUAL, MOST = 2, 4, 5
"""Sentences of an answer; more than usual only when one leans on the one before."""
PASSAGES = 5
"""How many passages the sentences may come from."""

_CLOSE_TO_BEST = 0.78
"""A further sentence must score at least this share of the best one."""

_LIKENESS, _PASSAGE, _RANK = 4.0, 0.35, 0.2
"""What counts beside the question's words: likeness, the passage's relevance, and its place below the first."""

_LEANS = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|however|but|so|thus|therefore|hence|then|also|and|or|both"
    r"|instead|otherwise|for example|for instance|in contrast|moreover|furthermore|similarly|as a result"
    r"|in other words|either|neither)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!…。！۔।][\"'”’»)\]」』）]*$")
_POINTS = re.compile(
    r"\b(?:this|these|those|such|here|above|the (?:text|passage|paragraph|selection))\b", re.IGNORECASE
)
_GENERIC = frozenset(
    """
    explain this that these summarise summarize summary sum up describe clarify simplify simple simply
    terms mean meaning paragraph passage text section selection about tell me more what does is it the
    in of a please give overview gist main point points idea ideas key takeaway takeaways say saying
    here can you could help understand i don't do not get shorter short brief briefly words plain
    english like five to for and an tldr tl dr concept concepts notion term detail details easy easily language
    """.split()
)


@dataclass(frozen=True, slots=True)
class Material:
    """A chunk to quote from: its sentences' vectors and how relevant it is as a whole."""

    chunk: Chunk
    vectors: NDArray[np.float32]
    relevance: float


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence chosen from a chunk; the span is the chunk's."""

    chunk: Chunk
    span: Span
    score: float

    @property
    def text(self) -> str:
        return self.chunk.text[self.span.start : self.span.end]


@dataclass(frozen=True, slots=True)
class _Candidate:
    material: int
    sentence: int
    quote: Quote


def is_generic(question: str) -> bool:
    """Whether a question asks about a text as a whole ("explain this", "summarise")."""
    return all(word in _GENERIC for word in all_words(question))


def points_at_text(question: str) -> bool:
    """Whether a question points at the text before the reader ("this", "such a hand")."""
    return bool(_POINTS.search(question))


def choose(weights: dict[str, float], query: Vector, material: Sequence[Material]) -> list[Quote]:
    """Two to five sentences that answer the question, in reading order."""
    candidates = _candidates(weights, query, material)
    if not candidates:
        return []
    picked = _pick(sorted(candidates, key=lambda c: (-c.quote.score, c.material, c.sentence)))
    return _readable(picked, {(c.material, c.sentence): c for c in candidates})


def summarise(material: Sequence[Material]) -> list[Quote]:
    """The sentences nearest to the sense of the whole, in reading order."""
    everything = [vector for item in material for vector in item.vectors]
    if not everything:
        return []
    centre = np.mean(everything, axis=0)
    candidates = [
        _Candidate(m, s, Quote(item.chunk, span, float(vector @ centre) - 0.01 * s - 0.02 * m))
        for m, item in enumerate(material)
        for s, (span, vector) in enumerate(zip(item.chunk.sentences, item.vectors, strict=True))
        if _is_sentence(item.chunk.text[span.start : span.end])
    ]
    count = max(FEWEST, min(MOST, len(candidates) // 3))
    best = sorted(candidates, key=lambda c: -c.quote.score)[:count]
    return [c.quote for c in sorted(best, key=lambda c: (c.material, c.sentence))]


def _candidates(weights: dict[str, float], query: Vector, material: Sequence[Material]) -> list[_Candidate]:
    finder = WordFinder(tuple(weights))
    seen: set[str] = set()
    found: list[_Candidate] = []
    for m, item in enumerate(material[:PASSAGES]):
        likeness = item.vectors @ query
        above = {stem for _, stem in finder.find(item.chunk.context)}
        for s, span in enumerate(item.chunk.sentences):
            text = item.chunk.text[span.start : span.end]
            if text in seen or not _is_sentence(text):
                continue
            seen.add(text)
            score = _score(text, item, float(likeness[s]), above, finder, weights) - _RANK * m
            found.append(_Candidate(m, s, Quote(item.chunk, span, score)))
    return found


def _score(
    text: str, item: Material, likeness: float, headings: set[str], finder: WordFinder, weights: dict[str, float]
) -> float:
    """Likeness to the question, the question's words in the sentence, and the passage's own relevance."""
    total = sum(weights.values()) or 1.0
    here = {stem for _, stem in finder.find(text)}
    above = headings - here
    covered = (sum(weights[w] for w in here) + 0.3 * sum(weights[w] for w in above)) / total
    words = len(text.split())
    shape = (0.85 if words < 6 or words > 60 else 1.0) * (1.0 if _ENDS.search(text) else 0.8)
    return shape * (covered + _LIKENESS * likeness + _PASSAGE * item.relevance)


def _is_sentence(text: str) -> bool:
    """Headlines, labels, questions and lead-ins to a list are no answers."""
    return len(text) >= 20 and len(content_words(text)) >= 3 and not text.endswith((":", "?", "：", "؟"))


def _pick(ranked: Sequence[_Candidate]) -> list[_Candidate]:
    """The best few that say different things."""
    picked: list[_Candidate] = []
    for candidate in ranked:
        close = candidate.quote.score >= _CLOSE_TO_BEST * ranked[0].quote.score
        if len(picked) == USUAL or (len(picked) >= FEWEST and not close):
            break
        if not any(_says_the_same(candidate.quote.text, other.quote.text) for other in picked):
            picked.append(candidate)
    return picked


def _says_the_same(one: str, other: str) -> bool:
    """Whether the shorter of two sentences has most of its words in common with the longer, and the same numbers."""
    words, others = set(content_words(one)), set(content_words(other))
    differ = any(word.isdigit() for word in words ^ others)
    return not differ and len(words & others) > 0.7 * min(len(words), len(others))


def _readable(picked: list[_Candidate], everything: dict[tuple[int, int], _Candidate]) -> list[Quote]:
    """In reading order, the best passage first; a sentence that leans on the one before brings it along."""
    chosen = {(c.material, c.sentence): c for c in picked}
    for c in picked:
        before = (c.material, c.sentence - 1)
        if _LEANS.match(c.quote.text) and before in everything and len(chosen) < MOST:
            chosen.setdefault(before, everything[before])
    lead = picked[0].material
    return [chosen[key].quote for key in sorted(chosen, key=lambda key: (key[0] != lead, key))]
