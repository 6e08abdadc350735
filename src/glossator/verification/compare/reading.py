"""Features from the reader model: whether the source supports a claim, and which words it does not support.

The model judges a claim twice: against the part of the passage around its window, and read together with the sentences
of the passage that share its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from glossator.core.inference.evidence import evidence_for
from glossator.core.inference.reading import (
    Reading,
    ReadSource,
    SourceText,
    extended_sentences,
    split_source,
)
from glossator.core.ports import Reader
from glossator.verification.budget import Allowance, judgement_cost, reading_cost
from glossator.verification.compare.windows import TokenizedPassage, Window
from glossator.verification.reading.tokenizer import TokenizedText

MAX_PART_TOKENS = 250
"""Of a passage that the model reads at once; a longer passage is read in parts."""

MAX_LOGIT = 6.0

PAIR_COST = 2
"""What reading a token together with a claim costs, compared with a passage: it takes twice as many layers."""

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
    """Predictions for a claim given a part of a passage, and read together with the sentences that share its words."""

    in_part: Reading
    together: Reading


@dataclass(slots=True)
class ReadPassages:
    """The passages of an answer that the reader model has encoded so far, and its predictions."""

    reader: Reader
    allowance: Allowance
    _split: dict[int, _SplitPassage] = field(default_factory=dict)
    _read: dict[SourceText, ReadSource] = field(default_factory=dict)
    _together: dict[tuple[str, SourceText], Reading] = field(default_factory=dict)
    _said: dict[tuple[str, int, int, int], ClaimReadings | None] = field(default_factory=dict)

    def judge(
        self,
        claim: TokenizedText,
        number: int,
        headings: tuple[str, ...],
        passage: TokenizedPassage,
        window: Window,
    ) -> ClaimReadings | None:
        """The predictions for a claim and a window of a passage; None beyond the budget."""
        key = (claim.text, number, window.first, window.last)
        if key not in self._said:
            if number not in self._split:
                self._split[number] = self._split_passage(SourceText(headings, passage.content.text, passage.sentences))
            self._said[key] = self._judge(claim, self._split[number], passage, window)
        return self._said[key]

    def _judge(
        self, claim: TokenizedText, split: _SplitPassage, passage: TokenizedPassage, window: Window
    ) -> ClaimReadings | None:
        part = [part for n, part in enumerate(split.parts) if n == 0 or part.first <= window.seed][-1]
        words = sorted({token.stem for token in claim.tokens if token.weight})  # the same sums in every process
        evidence = evidence_for(split.whole, passage.sentences_with, words, split.lengths)
        length = count_tokens(claim.text)
        cost = judgement_cost(length, part.tokens)
        if part.source not in self._read:
            cost += reading_cost(part.tokens)
        if (claim.text, evidence) not in self._together:  # the same for every window of a passage
            cost += PAIR_COST * reading_cost(count_tokens(evidence.text) + length)
        return self._read_both(claim.text, part.source, evidence) if self.allowance.take(cost) else None

    def _read_both(self, claim: str, part: SourceText, evidence: SourceText) -> ClaimReadings | None:
        """The predictions; None if the claim is too long to be judged."""
        if part not in self._read:
            self._read[part] = self.reader.read([part])[0]
        in_part = self.reader.judge(claim, [self._read[part]])
        if not in_part:
            return None
        if (claim, evidence) not in self._together:
            self._together[claim, evidence] = self.reader.judge_together(claim, [evidence])[0]
        return ClaimReadings(in_part[0], self._together[claim, evidence])

    def _split_passage(self, whole: SourceText) -> _SplitPassage:
        lengths = self.reader.count_tokens(extended_sentences(whole))
        parts = split_source(whole, lengths, MAX_PART_TOKENS)
        return _SplitPassage(
            whole, lengths, [_PassagePart(n, part, sum(lengths[n : n + len(part.sentences)])) for n, part in parts]
        )


def count_tokens(text: str) -> int:
    """Roughly the number of tokens of a text."""
    return len(_MODEL_TOKEN.findall(text))


def reading_features(said: ClaimReadings, claim: TokenizedText) -> dict[str, float]:
    """Features of a claim from the predictions of the reader model."""
    in_part, together = _doubts(said.in_part, claim), _doubts(said.together, claim)
    return {
        "read_support": _clamp(said.in_part.supported),
        "read_contradiction": _clamp(said.in_part.contradicted),
        "read_doubt": max(in_part, default=0.0),
        "read_doubts": float(sum(in_part)),
        "together_support": _clamp(said.together.supported),
        "together_contradiction": _clamp(said.together.contradicted),
        "together_doubt": max(together, default=0.0),
    }


def _doubts(reading: Reading, claim: TokenizedText) -> list[float]:
    """For each word of a claim, the probability that the source does not support it."""
    words = [token for token in claim.tokens if token.weight or token.family]
    return [
        max((p for span, p in reading.unsupported if span.start < word.end and span.end > word.start), default=0.0)
        for word in words
    ]


def _clamp(logit: float) -> float:
    return max(-MAX_LOGIT, min(MAX_LOGIT, logit))
