"""A time limit for a call that cannot be cancelled."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call, or TimeoutError; a call that takes longer is left behind."""
    return start(call).result(seconds)


def start(call: Callable[[], T]) -> Future[T]:
    """A call in a separate thread.

    The threads of a pool are few, and the end of the process waits for them; this one does neither harm. Nor is it
    waited for here, as `Thread.start` does, forever if the thread finds no memory to start with.
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
