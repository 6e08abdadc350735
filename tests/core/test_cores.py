"""The number of usable CPU cores, also on platforms without CPU affinity."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from glossator.core.inference.cores import available_cores
from glossator.embed.colbert import ColbertEncoder
from glossator.embed.local import LocalEmbedder, built_in_model


@pytest.fixture
def no_affinity(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Simulates macOS and Windows, with a given result of `os.cpu_count`."""

    def simulate(cpu_count: int | None) -> None:
        for name in ("process_cpu_count", "sched_getaffinity"):
            monkeypatch.delattr(os, name, raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: cpu_count)

    return simulate


@pytest.mark.parametrize(("cpu_count", "expected"), [(6, 6), (None, 1)], ids=["known", "unknown"])
def test_all_cores_are_used_without_affinity(
    no_affinity: Callable[[int | None], None], cpu_count: int | None, expected: int
) -> None:
    no_affinity(cpu_count)
    assert available_cores() == expected


def test_affinity_limits_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 2, 3}, raising=False)
    assert available_cores() == 3


def test_process_cpu_count_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "process_cpu_count", lambda: 2, raising=False)
    assert available_cores() == 2


def test_models_run_without_affinity(no_affinity: Callable[[int | None], None]) -> None:
    no_affinity(2)
    assert LocalEmbedder(built_in_model()).embed_query("Who?").vector.shape == (384,)
    assert len(ColbertEncoder().encode("Robots walk.").vectors)
