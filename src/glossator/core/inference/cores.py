"""The number of CPU cores that a process may use, and its priority, on every platform."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOW_PRIORITY = 10
"""Priority of a process that must not slow down others: they get nine tenths of scarce cores."""


def available_cores() -> int:
    """Cores this process may run on; where the platform has no CPU affinity (macOS, Windows), all cores."""
    process_cpu_count = getattr(os, "process_cpu_count", None)  # Python 3.13
    if process_cpu_count is not None:
        return process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def low_priority() -> Iterator[None]:
    """Lower the priority of this process; restored afterwards if the system allows it."""
    if not hasattr(os, "setpriority"):  # Windows
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(before, LOW_PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
