"""A breaker: a provider that keeps failing is left alone for a while, then tried once."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum


class BreakerState(StrEnum):
    """Closed lets calls through; open lets none; half-open lets one through to find out."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Counts consecutive failures of one provider."""

    def __init__(self, failures: int = 5, rest: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._rest, self._clock = failures, rest, clock
        self._failures = 0
        self._opened = 0.0
        self._probing = False

    @property
    def state(self) -> BreakerState:
        if self._failures < self._most:
            return BreakerState.CLOSED
        rested = self._clock() - self._opened >= self._rest
        return BreakerState.HALF_OPEN if rested else BreakerState.OPEN

    @property
    def resting(self) -> float:
        """Seconds until the next try."""
        return max(0.0, self._rest - (self._clock() - self._opened)) if self.state is BreakerState.OPEN else 0.0

    def allows(self) -> bool:
        """Whether a call may be made now; while half-open, one at a time."""
        state = self.state
        if state is BreakerState.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return state is BreakerState.CLOSED

    def succeeded(self) -> None:
        """The provider answered."""
        self._failures, self._probing = 0, False

    def failed(self) -> None:
        """The provider did not."""
        self._failures += 1
        self._probing = False
        self._opened = self._clock()

    def gave_up(self) -> None:
        """Nobody waited for the outcome of a call: it says nothing about the provider."""
        self._probing = False
