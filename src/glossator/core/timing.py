"""The id of the current request, and how long each stage of its answer takes, with a tracing span for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

current_request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being served, for log lines and stored exchanges."""
StageTimes = dict[str, float]
"""Seconds by stage."""
_times: ContextVar[StageTimes | None] = ContextVar("times", default=None)
SpanFactory = Callable[[str], AbstractContextManager[object]]
_span_factory: list[SpanFactory] = [nullcontext]


def collect_stage_times() -> StageTimes:
    """A new record of times, filled by every stage that runs in this context or in threads started from it."""
    times: StageTimes = {}
    _times.set(times)
    return times


def set_span_factory(factory: SpanFactory) -> None:
    """Also open a tracing span for every stage."""
    _span_factory[0] = factory


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Measure one stage of an answer."""
    times = _times.get()
    started = time.perf_counter()
    try:
        with _span_factory[0](name):
            yield
    finally:
        if times is not None:
            times[name] = times.get(name, 0.0) + time.perf_counter() - started
