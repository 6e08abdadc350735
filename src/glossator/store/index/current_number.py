"""The number of the current generation on a shared server, read once a second in the background."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from threading import Event, Lock, Thread

from glossator.core.errors import GlossatorError

POLL_SECONDS = 1.0
_log = logging.getLogger(__name__)


class CurrentNumber:
    """Reads the number on first use, then in a thread: no request waits for it, and no switch is missed."""

    def __init__(self, read: Callable[[], int | None], poll_seconds: float = POLL_SECONDS) -> None:
        self._read = read
        self._poll_seconds = poll_seconds
        self._value: int | None = None
        self._stop: Event | None = None
        self._lock = Lock()

    def get(self) -> int | None:
        """The number as it was read last."""
        if self._stop is None:
            with self._lock:
                if self._stop is None:
                    self._value = self._read()
                    self._stop = Event()
                    poll = (weakref.ref(self), self._stop, self._poll_seconds)
                    Thread(target=_poll, args=poll, name="index-generation", daemon=True).start()
        return self._value

    def refresh(self) -> int | None:
        """Read the number now."""
        self._value = self._read()
        return self._value

    def close(self) -> None:
        """Stop reading; the next `get` starts again."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None


def _poll(reference: weakref.ref[CurrentNumber], stop: Event, seconds: float) -> None:
    while not stop.wait(seconds):
        number = reference()
        if number is None:
            return
        try:
            number.refresh()
        except GlossatorError as error:  # searches report it; this thread tries again
            _log.debug("the current generation is not known: %s", error)
        del number
