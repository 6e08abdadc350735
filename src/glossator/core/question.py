"""A question with its selection, filters and session, validated once, on creation."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from glossator.core.conversations import ContextMode, SessionKey
from glossator.core.types import Filters, Passage
from glossator.core.validation import validate_question, validate_selection, validate_text, validate_top_k

DEFAULT_TOP_K = 5
"""Passages used for an answer, unless the caller asks for another number."""

NO_FILTERS = Filters()
Past = tuple[tuple[str, str], ...]
"""Earlier questions and answers of a conversation, oldest first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a user asks.

    With a `selection`, the answer comes from that text only. With a `session`, the answer becomes part of that
    conversation; a request repeated with the same `idempotency_key` gets the stored answer. `deadline` is the
    `time.monotonic()` by which a language model must have finished.
    """

    text: str
    selection: str | None = None
    filters: Filters = NO_FILTERS
    top_k: int = DEFAULT_TOP_K
    past: Past = ()
    session: SessionKey | None = None
    idempotency_key: str | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", validate_question(self.text))
        if self.selection is not None:
            validate_selection(self.selection)
        validate_top_k(self.top_k)
        for value in self.active_filters.values():
            validate_text(value, "filter")

    @property
    def active_filters(self) -> dict[str, str]:
        """The filters that are set, by name."""
        return {name: value for name, value in asdict(self.filters).items() if value is not None}

    @property
    def context_mode(self) -> ContextMode:
        """Whether the answer comes from the book or from the user's selection."""
        return ContextMode.RETRIEVAL_PIPELINE if self.selection is None else ContextMode.USER_PROVIDED

    @property
    def fingerprint(self) -> str:
        """Identifies the request: a retry with the same idempotency key must have the same fingerprint."""
        asked = (self.text, self.selection, sorted(self.active_filters.items()))
        return hashlib.sha256(repr(asked).encode()).hexdigest()


PassageSearch = Callable[[str, int], Awaitable[tuple[Passage, ...]]]
"""Finds passages for a query; the number is the maximum."""


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a drafter is given: a question, the passages found for it, and a way to search for more.

    `search` applies the question's filters. A question about a selection has neither passages nor `search`.
    """

    question: Question
    passages: tuple[Passage, ...] = ()
    search: PassageSearch | None = None
