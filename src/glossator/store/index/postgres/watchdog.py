"""Ends calls that take too long: closes their connection, so that the waiting thread gets an error."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Thread
from typing import Protocol


class Connected(Protocol):
    """A connection with a socket."""

    def fileno(self) -> int:
        """The descriptor of its socket."""


class Watchdog:
    """Watches calls of all threads from one thread: a thread for each call would double the time of a short one."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[float, Connected]] = {}
        self._changed = Condition()
        self._started = False
        self._last = 0

    @contextmanager
    def limit(self, connection: Connected, deadline: float) -> Iterator[None]:
        """Cut the connection if the block has not ended by the deadline."""
        with self._changed:
            self._last += 1
            call = self._last
            self._calls[call] = (deadline, connection)
            if not self._started:
                self._started = True
                Thread(target=self._watch, name="index-watchdog", daemon=True).start()
            elif len(self._calls) == 1:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._calls.pop(call, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._calls and not self._changed.wait(60.0):
                    self._started = False
                    return
                now = time.monotonic()
                # Under the lock, no call can end, and no descriptor be closed and used for something else.
                for call in [call for call, (deadline, _) in self._calls.items() if deadline <= now]:
                    _cut(self._calls.pop(call)[1])
                next_deadline = min((deadline for deadline, _ in self._calls.values()), default=now)
            time.sleep(min(0.5, max(0.05, next_deadline - now)))


def _cut(connection: Connected) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)
