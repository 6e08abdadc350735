"""The number of CPU cores that a process may use, on every platform."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Cores this process may run on; where the platform has no CPU affinity (macOS, Windows), all cores."""
    process_cpu_count = getattr(os, "process_cpu_count", None)  # Python 3.13
    if process_cpu_count is not None:
        return process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
