"""How long each stage of an answer takes: told to whoever watches, and to nobody else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Times = dict[str, float]
"""Seconds by the name of a stage."""
_times: ContextVar[Times | None] = ContextVar("times", default=None)
_span: list[Callable[[str], AbstractContextManager[object]]] = [nullcontext]


def watch() -> Times:
    """From here on, what runs in this context and in the threads it starts adds its times to these."""
    times: Times = {}
    _times.set(times)
    return times


def trace_with(span: Callable[[str], AbstractContextManager[object]]) -> None:
    """Open a span for every stage, too."""
    _span[0] = span


@contextmanager
def stage(name: str) -> Iterator[None]:
    """One stage of an answer."""
    times = _times.get()
    started = time.perf_counter()
    try:
        with _span[0](name):
            yield
    finally:
        if times is not None:
            times[name] = times.get(name, 0.0) + time.perf_counter() - started
