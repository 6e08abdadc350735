"""Features from the reader model: whether the source supports a claim, and which words it does not support."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from glossator.core.inference.reading import Reading, ReadSource, SourceText, split_source, stretches
from glossator.core.ports import Reader
from glossator.verification.budget import Allowance, judgement_cost, reading_cost
from glossator.verification.compare.windows import TokenizedPassage
from glossator.verification.reading.tokenizer import TokenizedText

MAX_PART_TOKENS = 250
"""Of a passage that the model reads at once; a longer passage is read in parts."""

MAX_READ_TOKENS = 2000
"""Of passages, per answer; claims beyond it are judged by the word comparison only, so that no text takes long."""

MAX_JUDGEMENTS = 80
"""Per answer, for the same reason; a claim takes one for each part of a passage that it is compared with."""

MAX_LOGIT = 6.0

_MODEL_TOKEN = re.compile(r"[A-Za-z]{1,6}|[^\sA-Za-z]")
"""Roughly a token of the models."""


@dataclass(frozen=True, slots=True)
class _PassagePart:
    first: int
    source: SourceText
    tokens: int


@dataclass(slots=True)
class ReadPassages:
    """The passages of an answer that the reader model has encoded so far, and its predictions."""

    reader: Reader
    allowance: Allowance
    readable_tokens: int = MAX_READ_TOKENS
    judgeable: int = MAX_JUDGEMENTS
    _parts: dict[int, list[_PassagePart]] = field(default_factory=dict)
    _read: dict[tuple[int, int], ReadSource | None] = field(default_factory=dict)
    _said: dict[tuple[str, int, int], Reading | None] = field(default_factory=dict)

    def judge(
        self, claim: str, number: int, headings: tuple[str, ...], passage: TokenizedPassage, sentence: int
    ) -> Reading | None:
        """The prediction for a claim against the part of a passage that has a sentence; None beyond the budget."""
        if number not in self._parts:
            self._parts[number] = self._split(headings, passage)
        part = max(n for n, part in enumerate(self._parts[number]) if n == 0 or part.first <= sentence)
        key = (claim, number, part)
        if key not in self._said:
            self._said[key] = self._judge_once(claim, self._source(number, part))
            self.judgeable -= 1
        return self._said[key]

    def _judge_once(self, claim: str, source: ReadSource | None) -> Reading | None:
        if source is None or self.judgeable <= 0:
            return None
        if not self.allowance.take(judgement_cost(count_tokens(claim), source.tokens)):
            return None
        readings = self.reader.judge(claim, [source])
        return readings[0] if readings else None

    def _split(self, headings: tuple[str, ...], passage: TokenizedPassage) -> list[_PassagePart]:
        text = passage.content.text
        whole = SourceText(headings, text, passage.sentences)
        lengths = self.reader.count_tokens(stretches(whole))
        parts = split_source(whole, lengths, MAX_PART_TOKENS)
        return [_PassagePart(n, part, sum(lengths[n : n + len(part.sentences)])) for n, part in parts]

    def _source(self, number: int, part: int) -> ReadSource | None:
        if (number, part) not in self._read:
            wanted = self._parts[number][part]
            fits = wanted.tokens <= self.readable_tokens and self.allowance.take(reading_cost(wanted.tokens))
            self._read[number, part] = self.reader.read([wanted.source])[0] if fits else None
            self.readable_tokens -= wanted.tokens if fits else 0
        return self._read[number, part]


def count_tokens(text: str) -> int:
    """Roughly the number of tokens of a text."""
    return len(_MODEL_TOKEN.findall(text))


def reading_features(reading: Reading, claim: TokenizedText) -> dict[str, float]:
    """Features of a claim from the prediction of the reader model."""
    words = [token for token in claim.tokens if token.weight or token.family]
    doubts = [
        max((p for span, p in reading.unsupported if span.start < word.end and span.end > word.start), default=0.0)
        for word in words
    ]
    return {
        "read_support": _clamp(reading.supported),
        "read_contradiction": _clamp(reading.contradicted),
        "read_doubt": max(doubts, default=0.0),
        "read_doubts": float(sum(doubts)),
    }


def _clamp(logit: float) -> float:
    return max(-MAX_LOGIT, min(MAX_LOGIT, logit))
