"""The simulation that docs/scaling.md quotes reproduces what was measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paths import ROOT


@pytest.fixture(scope="module")
def rows() -> list[str]:
    command = [sys.executable, "bench/simulate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    found = [line for line in done.stdout.splitlines() if line.startswith(("| one worker", "| workers: "))]
    assert found, done.stdout + done.stderr
    return found


MEASURED = (
    "one worker, two cores, before the reader model",
    "workers: 1, cores: 1",
    "workers: 1, cores: 2",
    "workers: 2, cores: 2",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_simulation_reproduces_a_measured_load(name: str, rows: list[str]) -> None:
    assert [row.endswith("| yes |") for row in rows if row.startswith(f"| {name} |")] == [True], rows
