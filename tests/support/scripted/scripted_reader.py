"""A reader with fixed opinions, for tests."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from glossator.core.inference.reading import Reading, ReadSource, SourceText
from glossator.core.types import Span


class ScriptedReader:
    """Says the same of every text, or what is given for it: a logit of support, and of being answered."""

    fingerprint = "scripted"

    def __init__(self, support: float = 0.0, answered: float = 0.0, said: Mapping[str, float] | None = None) -> None:
        self.support, self.answered, self.said = support, answered, said or {}
        self.judged: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def read(self, sources: Sequence[SourceText], *, keep: bool = False) -> list[ReadSource]:
        return [
            ReadSource(
                len(s.text.split()), np.zeros((1, 1, 2), np.float32), np.zeros((len(s.sentences), 1), np.float32)
            )
            for s in sources
        ]

    def judge(self, text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        self.judged.append(text)
        support = self.said.get(text, self.support)
        doubt = 1 / (1 + math.exp(support))
        words = tuple((Span(word.start(), word.end()), doubt) for word in re.finditer(r"\w+", text))
        return [
            Reading(support, -support, self.answered, words, (1 / max(1, len(s.sentences)),) * len(s.sentences))
            for s in sources
        ]

    def judge_together(self, text: str, sources: Sequence[SourceText]) -> list[Reading]:
        return self.judge(text, self.read(sources))
