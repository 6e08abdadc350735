"""Threads without memory: nothing waits for one that cannot start."""

from __future__ import annotations

from threading import enumerate as all_threads

import pytest

from glossator.core.resilience import deadline
from glossator.core.resilience.pool import started_pool


def running(name: str) -> int:
    """The threads of one pool: those of other tests come and go."""
    return sum(thread.name.startswith(name) for thread in all_threads())


def test_all_threads_of_a_pool_run_before_it_is_used() -> None:
    with started_pool(5, "counted") as pool:
        assert running("counted") == 5
        assert list(pool.map(str, range(20))) == [str(number) for number in range(20)]
        assert running("counted") == 5


def test_a_call_is_reported_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(deadline, "start_new_thread", refuse)
    with pytest.raises(MemoryError):
        deadline.call_within(1.0, lambda: 1)


def test_a_thread_that_never_runs_is_waited_for_until_the_deadline_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "start_new_thread", lambda *_: 1)
    with pytest.raises(TimeoutError):
        deadline.call_within(0.01, lambda: 1)
