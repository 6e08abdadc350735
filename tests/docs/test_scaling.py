"""The simulation that docs/scaling.md quotes reproduces what was measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paths import ROOT


@pytest.mark.slow
def test_simulation_reproduces_the_measured_load() -> None:
    command = [sys.executable, "bench/simulate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if "comes from a busy machine" in done.stdout:
        pytest.skip("bench/load.json was measured on a busy machine: `make bench ONLY=workers` measures again")
    assert "reproduced" in done.stdout
