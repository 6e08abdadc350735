"""Thread pools that start all their threads in advance."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def started_pool(threads: int, name: str = "") -> ThreadPoolExecutor:
    """A pool that starts no thread later: Python waits forever for a thread that finds no memory to start with."""
    pool = ThreadPoolExecutor(threads, name)
    running = Barrier(threads + 1)
    for _ in range(threads):
        pool.submit(running.wait)
    running.wait()
    return pool
