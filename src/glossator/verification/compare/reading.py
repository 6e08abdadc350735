"""Features from the reader model: whether the source supports a claim, and which words it does not support.

The model judges a claim against the part of the passage around its window, and against the window alone; and, in the
other direction, the window's best sentence against the claim. A true paraphrase passes all three. What a claim adds
shows in the first two, what it leaves out in the third.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from glossator.core.inference.reading import Reading, ReadSource, SourceText, split_source, stretches
from glossator.core.ports import Reader
from glossator.core.types import Span
from glossator.verification.budget import Allowance, judgement_cost, reading_cost
from glossator.verification.compare.windows import TokenizedPassage, Window
from glossator.verification.reading.tokenizer import TokenizedText

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
class ClaimReadings:
    """Predictions for a claim given a part of a passage, and given its window; and for the window given the claim."""

    in_part: Reading
    in_window: Reading
    converse: Reading | None
    """None if the sentence is too long to be judged."""


@dataclass(slots=True)
class ReadPassages:
    """The passages of an answer that the reader model has encoded so far, and its predictions."""

    reader: Reader
    allowance: Allowance
    _parts: dict[int, list[_PassagePart]] = field(default_factory=dict)
    _read: dict[SourceText, ReadSource] = field(default_factory=dict)
    _said: dict[tuple[str, int, int, int], ClaimReadings | None] = field(default_factory=dict)

    def judge(
        self, claim: str, number: int, headings: tuple[str, ...], passage: TokenizedPassage, window: Window
    ) -> ClaimReadings | None:
        """The predictions for a claim and a window of a passage; None beyond the budget."""
        key = (claim, number, window.first, window.last)
        if key not in self._said:
            self._said[key] = self._judge_once(claim, number, headings, passage, window)
        return self._said[key]

    def _judge_once(
        self, claim: str, number: int, headings: tuple[str, ...], passage: TokenizedPassage, window: Window
    ) -> ClaimReadings | None:
        if number not in self._parts:
            self._parts[number] = self._split(headings, passage)
        part = [part for n, part in enumerate(self._parts[number]) if n == 0 or part.first <= window.seed][-1]
        text, best = passage.content.text, passage.sentences[window.seed]
        sentence = text[best.start : best.end]
        alone = SourceText(headings, text[window.span.start : window.span.end], _sentences(passage, window))
        own = SourceText((), claim, (Span(0, len(claim)),))
        tokens = {part.source: part.tokens, alone: count_tokens(alone.text), own: count_tokens(claim)}
        judged = dict.fromkeys((part.source, alone))  # one and the same in a short passage
        cost = sum(judgement_cost(tokens[own], tokens[source]) for source in judged)
        cost += judgement_cost(count_tokens(sentence), tokens[own])
        if not self.allowance.take(cost) or not self._read_all(tokens):
            return None
        readings = self.reader.judge(claim, [self._read[source] for source in judged])
        converse = self.reader.judge(sentence, [self._read[own]])
        return ClaimReadings(readings[0], readings[-1], converse[0] if converse else None) if readings else None

    def _split(self, headings: tuple[str, ...], passage: TokenizedPassage) -> list[_PassagePart]:
        text = passage.content.text
        whole = SourceText(headings, text, passage.sentences)
        lengths = self.reader.count_tokens(stretches(whole))
        parts = split_source(whole, lengths, MAX_PART_TOKENS)
        return [_PassagePart(n, part, sum(lengths[n : n + len(part.sentences)])) for n, part in parts]

    def _read_all(self, wanted: dict[SourceText, int]) -> bool:
        """Read those of the sources that were not read yet, given their lengths; False beyond the budget."""
        missing = [source for source in wanted if source not in self._read]
        if not self.allowance.take(sum(reading_cost(wanted[source]) for source in missing)):
            return False
        self._read |= dict(zip(missing, self.reader.read(missing), strict=True))
        return True


def _sentences(passage: TokenizedPassage, window: Window) -> tuple[Span, ...]:
    """The sentences of a window; their offsets count from its start."""
    spans: Sequence[Span] = passage.sentences[window.first : window.last + 1]
    return tuple(Span(span.start - window.span.start, span.end - window.span.start) for span in spans)


def count_tokens(text: str) -> int:
    """Roughly the number of tokens of a text."""
    return len(_MODEL_TOKEN.findall(text))


def reading_features(said: ClaimReadings, claim: TokenizedText) -> dict[str, float]:
    """Features of a claim from the predictions of the reader model."""
    in_part, in_window = _doubts(said.in_part, claim), _doubts(said.in_window, claim)
    converse = said.converse
    return {
        "read_support": _clamp(said.in_part.supported),
        "read_contradiction": _clamp(said.in_part.contradicted),
        "read_doubt": max(in_part, default=0.0),
        "read_doubts": float(sum(in_part)),
        "window_support": _clamp(said.in_window.supported),
        "window_doubt": max(in_window, default=0.0),
        "converse_support": _clamp(converse.supported) if converse else 0.0,
        "converse_doubt": max((doubt for _, doubt in converse.unsupported), default=0.0) if converse else 0.0,
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
