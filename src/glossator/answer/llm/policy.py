"""When a call to a language model is retried, and when it is abandoned."""

from __future__ import annotations

from dataclasses import dataclass

from glossator.core.resilience.retry import Backoff

_BACKOFF = Backoff(first_seconds=0.5, max_seconds=5.0, attempts=3)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries of calls to a language model."""

    backoff: Backoff = _BACKOFF
    """A provider whose Retry-After asks for more than the longest delay is not tried again."""
    stall_timeout_seconds: float = 10.0
    """A stream without an event for this long is aborted."""
    silence_timeout_seconds: float = 3.0
    """A call that is cancelled after this time without any output counts as a failure of the provider."""


DEFAULT_RETRY_POLICY = RetryPolicy()
