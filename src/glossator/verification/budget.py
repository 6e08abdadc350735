"""The budget of a check: what comparing words and running the models may cost, so that no text takes long."""

from __future__ import annotations

from dataclasses import dataclass

MAX_WORD_COST, MAX_MODEL_COST = 1_180_000, 1_450_000
"""For one text, in microseconds of one core. An answer of a dozen claims about five passages costs less than either."""

_MAX_COST = 1_700_000
"""For one text, with what it cost to find its passages and to split them into words."""

_COST_PER_CHARACTER, _COST_PER_CLAIM = 25, 2_000
"""Of comparing the words of a text, roughly; the models get what is left of their budget."""

_LAST_WORD_COST = 580_000
"""When no more than this is left, claims are compared with one window each."""

_COMPARISON, _READING, _JUDGEMENT, _ENCODING = 1000, 1000, 1000, 3500
_WORD_PAIR, _READ_TOKEN, _JUDGED_TOKEN, _SOURCE_TOKEN, _ENCODED_TOKEN = 1.5, 115, 110, 10, 280
"""What each costs, with something more for each of its parts; `bench/checking.py` measures whole texts."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent on comparing the words of a text, and on the models."""

    words: int = MAX_WORD_COST
    models: int = MAX_MODEL_COST


DEFAULT_BUDGET = Budget()


def budget_for(characters: int, claims: int, spent: int) -> Budget:
    """The budget for a text with this many characters and claims, after something was spent on its passages."""
    models = MAX_MODEL_COST - _COST_PER_CHARACTER * characters - _COST_PER_CLAIM * claims - spent
    return Budget(max(0, min(MAX_WORD_COST, _MAX_COST - spent)), max(0, models))


@dataclass(slots=True)
class Allowance:
    """What is left of one part of a budget, and how often something cost more than that."""

    left: int
    refused: int = 0

    def take(self, cost: int) -> bool:
        """Spend this much, if that much is left."""
        if cost > self.left:
            self.refused += 1
            return False
        self.left -= cost
        return True

    @property
    def is_low(self) -> bool:
        """Whether claims are compared with one window each."""
        return self.left <= _LAST_WORD_COST


def comparison_cost(claim_words: int, source_words: int) -> int:
    """Of comparing a claim with a window."""
    return _COMPARISON + int(_WORD_PAIR * claim_words * source_words)


def reading_cost(tokens: int) -> int:
    """Of a part of a passage that the reader model encodes."""
    return _READING + _READ_TOKEN * tokens


def judgement_cost(claim_tokens: int, source_tokens: int) -> int:
    """Of a claim that the reader model judges against an encoded part."""
    return _JUDGEMENT + _JUDGED_TOKEN * claim_tokens + _SOURCE_TOKEN * source_tokens


def encoding_cost(tokens: int) -> int:
    """Of a text that the token model encodes."""
    return _ENCODING + _ENCODED_TOKEN * tokens
