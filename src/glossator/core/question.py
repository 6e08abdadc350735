"""A question and everything that travels with it, validated once, when it is created."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from glossator.core.conversations import ContextMode, SessionKey
from glossator.core.types import Filters, Passage
from glossator.core.validation import checked_question, checked_selection, checked_text, checked_top_k

DEFAULT_TOP_K = 5
"""Passages that an answer is drawn from unless the caller asks for another number."""

NO_FILTERS = Filters()
Past = tuple[tuple[str, str], ...]
"""Earlier questions and answers of a conversation, oldest first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader asks.

    With a `selection`, only that text is answered from. With a `session`, the answer becomes part of that conversation;
    a request repeated under the same `idempotency_key` gets the stored answer. `deadline` is a `time.monotonic()` value
    by which a language model must have written.
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
        object.__setattr__(self, "text", checked_question(self.text))
        if self.selection is not None:
            checked_selection(self.selection)
        checked_top_k(self.top_k)
        for value in self.active_filters.values():
            checked_text(value, "filter")

    @property
    def active_filters(self) -> dict[str, str]:
        """The filters that are set, by name."""
        return {name: value for name, value in asdict(self.filters).items() if value is not None}

    @property
    def context_mode(self) -> ContextMode:
        """Whether the book or the reader's own text is answered from."""
        return ContextMode.RETRIEVAL_PIPELINE if self.selection is None else ContextMode.USER_PROVIDED

    @property
    def fingerprint(self) -> str:
        """Identifies the request: a retry under the same idempotency key must have the same one."""
        asked = (self.text, self.selection, sorted(self.active_filters.items()))
        return hashlib.sha256(repr(asked).encode()).hexdigest()


Search = Callable[[str, int], Awaitable[tuple[Passage, ...]]]
"""Finds passages for a query, at most as many as the number says."""


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a drafter is given: a question, the passages found for it, and a way to search for more.

    `search` keeps to the question's filters. A question about a selection comes without passages and without search.
    """

    question: Question
    passages: tuple[Passage, ...] = ()
    search: Search | None = None
