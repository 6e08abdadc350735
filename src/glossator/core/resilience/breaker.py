"""A circuit breaker: after repeated failures a provider gets no calls for a while, then one probe."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from threading import Lock

COOLDOWN_SECONDS = 3.0
"""A provider that works again is used within 5 s; while it hangs, one request at a time waits for it."""


class BreakerState(StrEnum):
    """Closed lets all calls through, open lets none through, half-open lets one probe through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Counts the consecutive failures of one provider; threads may share it."""

    def __init__(
        self,
        max_failures: int = 5,
        cooldown_seconds: float = COOLDOWN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_failures, self._cooldown_seconds, self._clock = max_failures, cooldown_seconds, clock
        self._failures = 0
        self._opened_at = 0.0
        self._probing = False
        self._lock = Lock()

    @property
    def state(self) -> BreakerState:
        if self._failures < self._max_failures:
            return BreakerState.CLOSED
        cooled_down = self._clock() - self._opened_at >= self._cooldown_seconds
        return BreakerState.HALF_OPEN if cooled_down else BreakerState.OPEN

    def allow_call(self) -> bool:
        """Whether a call may be made now; while half-open, one at a time."""
        with self._lock:
            state = self.state
            if state is BreakerState.HALF_OPEN and not self._probing:
                self._probing = True
                return True
            return state is BreakerState.CLOSED

    def record_success(self) -> None:
        """The call succeeded: close the circuit."""
        with self._lock:
            self._failures, self._probing = 0, False

    def record_failure(self) -> None:
        """The call failed; one failure too many opens the circuit."""
        with self._lock:
            self._failures += 1
            self._probing = False
            self._opened_at = self._clock()

    def record_cancelled(self) -> None:
        """The call ended in a way that says nothing about the provider."""
        self._probing = False
