"""A time limit for a call that cannot be cancelled."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call, or TimeoutError; a call that takes longer goes on in its thread, and its result is lost."""
    return start_in_thread(call).result(seconds)


def start_in_thread(call: Callable[[], T]) -> Future[T]:
    """A call in a separate thread.

    It occupies no thread of a pool, and the process does not wait for it at exit. `Thread.start` is not used: it waits
    until the thread runs, forever if there is no memory for it.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    try:
        start_new_thread(run, ())
    except RuntimeError as error:
        raise MemoryError("No thread can be started.") from error
    return result
