"""Features from the reader model: whether the source supports a claim, and which words it does not support.

The model judges a claim twice: against the part of the passage around its window, and read together with the sentences
of the passage that share its words. A claim that is not short is also read together with its window alone, the best
sentence with the claim, and each clause of a long one with the sentences that share its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from glossator.core.inference.evidence import evidence_for, excerpt
from glossator.core.inference.reading import Reading, ReadSource, SourceText, split_source, stretch, stretches
from glossator.core.ports import Reader
from glossator.core.types import Span
from glossator.verification.budget import Allowance, judgement_cost, reading_cost
from glossator.verification.compare.windows import TokenizedPassage, Window
from glossator.verification.reading.clauses import split_clauses
from glossator.verification.reading.tokenizer import TokenizedText, tokenize

MAX_PART_TOKENS = 250
"""Of a passage that the model reads at once; a longer passage is read in parts."""

MAX_LOGIT = 6.0

_MODEL_TOKEN = re.compile(r"[A-Za-z]{1,6}|[^\sA-Za-z]")
"""Roughly a token of the models."""


@dataclass(frozen=True, slots=True)
class _PassagePart:
    first: int
    source: SourceText
    tokens: int


@dataclass(frozen=True, slots=True)
class _SplitPassage:
    """A passage with the length of each sentence in tokens, and its parts."""

    whole: SourceText
    lengths: Sequence[int]
    parts: Sequence[_PassagePart]


@dataclass(frozen=True, slots=True)
class ClaimReadings:
    """Predictions for a claim given a part of a passage, and read together with the sentences that share its words.

    If it is read closely, also together with its window alone, for the best sentence given the claim (None if that is
    too long), and for each clause.
    """

    in_part: Reading
    together: Reading
    in_window: Reading | None = None
    converse: Reading | None = None
    clauses: Sequence[Reading] = ()


Pair = tuple[str, SourceText]
"""A text and the short source that it is read together with."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What is read together for a claim; the last three only if it is read closely."""

    evidence: Pair
    window: Pair | None = None
    converse: Pair | None = None
    clauses: Sequence[Pair] = ()

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in (self.evidence, self.window, self.converse, *self.clauses) if pair)


@dataclass(slots=True)
class ReadPassages:
    """The passages of an answer that the reader model has encoded so far, and its predictions."""

    reader: Reader
    allowance: Allowance
    _split: dict[int, _SplitPassage] = field(default_factory=dict)
    _read: dict[SourceText, ReadSource] = field(default_factory=dict)
    _together: dict[Pair, Reading] = field(default_factory=dict)
    _said: dict[tuple[str, int, int, int], ClaimReadings | None] = field(default_factory=dict)

    def judge(
        self,
        claim: TokenizedText,
        number: int,
        headings: tuple[str, ...],
        passage: TokenizedPassage,
        window: Window,
        *,
        closely: bool = False,
    ) -> ClaimReadings | None:
        """The predictions for a claim and a window of a passage; None beyond the budget."""
        key = (claim.text, number, window.first, window.last)
        if key not in self._said:
            if number not in self._split:
                self._split[number] = self._split_passage(SourceText(headings, passage.content.text, passage.sentences))
            self._said[key] = self._judge_once(claim, self._split[number], passage, window, closely)
        return self._said[key]

    def _judge_once(
        self, claim: TokenizedText, split: _SplitPassage, passage: TokenizedPassage, window: Window, closely: bool
    ) -> ClaimReadings | None:
        part = [part for n, part in enumerate(split.parts) if n == 0 or part.first <= window.seed][-1]
        pairs = _pairs(claim, split, passage, window, closely)
        cost = judgement_cost(count_tokens(claim.text), part.tokens)
        if part.source not in self._read:
            cost += reading_cost(part.tokens)
        cost += sum(
            reading_cost(count_tokens(text) + count_tokens(source.text))
            for text, source in {*pairs} - self._together.keys()  # many are the same for every window of a passage
        )
        return self._read_all(claim.text, part.source, pairs) if self.allowance.take(cost) else None

    def _read_all(self, claim: str, part: SourceText, pairs: _Pairs) -> ClaimReadings | None:
        """The predictions; None if the claim is too long to be judged."""
        if part not in self._read:
            self._read[part] = self.reader.read([part])[0]
        in_part = self.reader.judge(claim, [self._read[part]])
        if not in_part:
            return None
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._together]
        for text, group in groupby(missing, key=itemgetter(0)):
            sources = [source for _, source in group]
            found = self.reader.judge_together(text, sources)  # nothing, if the text is too long
            self._together |= {(text, source): reading for source, reading in zip(sources, found, strict=False)}
        return ClaimReadings(
            in_part[0],
            self._together[pairs.evidence],
            self._together[pairs.window] if pairs.window else None,
            self._together.get(pairs.converse) if pairs.converse else None,
            [self._together[pair] for pair in pairs.clauses],
        )

    def _split_passage(self, whole: SourceText) -> _SplitPassage:
        lengths = self.reader.count_tokens(stretches(whole))
        parts = split_source(whole, lengths, MAX_PART_TOKENS)
        return _SplitPassage(
            whole, lengths, [_PassagePart(n, part, sum(lengths[n : n + len(part.sentences)])) for n, part in parts]
        )


def _pairs(
    claim: TokenizedText, split: _SplitPassage, passage: TokenizedPassage, window: Window, closely: bool
) -> _Pairs:
    """What is read together for a claim and a window."""

    def evidence(text: TokenizedText) -> SourceText:
        words = sorted({token.stem for token in text.tokens if token.weight})  # the same sums in every process
        return evidence_for(split.whole, passage.sentences_with, words, split.lengths)

    own = (claim.text, evidence(claim))
    if not closely:
        return _Pairs(own)
    clauses = split_clauses(claim)
    return _Pairs(
        own,
        (claim.text, excerpt(split.whole, range(window.first, window.last + 1))),
        (stretch(split.whole, window.seed).strip(), SourceText((), claim.text, (Span(0, len(claim.text)),))),
        [(each, evidence(tokenize(each, claim.language))) for each in clauses] if len(clauses) > 1 else (),
    )


def count_tokens(text: str) -> int:
    """Roughly the number of tokens of a text."""
    return len(_MODEL_TOKEN.findall(text))


def reading_features(said: ClaimReadings, claim: TokenizedText) -> dict[str, float]:
    """Features of a claim from the predictions of the reader model."""
    in_part, together = _doubts(said.in_part, claim), _doubts(said.together, claim)
    values = {
        "read_support": _clamp(said.in_part.supported),
        "read_contradiction": _clamp(said.in_part.contradicted),
        "read_doubt": max(in_part, default=0.0),
        "read_doubts": float(sum(in_part)),
        "together_support": _clamp(said.together.supported),
        "together_contradiction": _clamp(said.together.contradicted),
        "together_doubt": max(together, default=0.0),
    }
    if said.in_window:
        values |= {
            "window_support": _clamp(said.in_window.supported),
            "converse_support": _clamp(said.converse.supported) if said.converse else 0.0,
            "clause_support": min(_clamp(each.supported) for each in said.clauses or [said.together]),
        }
    return values


def _doubts(reading: Reading, claim: TokenizedText) -> list[float]:
    """For each word of a claim, the probability that the source does not support it."""
    words = [token for token in claim.tokens if token.weight or token.family]
    return [
        max((p for span, p in reading.unsupported if span.start < word.end and span.end > word.start), default=0.0)
        for word in words
    ]


def _clamp(logit: float) -> float:
    return max(-MAX_LOGIT, min(MAX_LOGIT, logit))
