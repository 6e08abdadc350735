"""Runs every target under atheris, each in a process of its own, and counts.

Usage: python fuzz.py RUNS; names of targets as further arguments choose among them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from counters import Counters
from fuzz_inputs import write_seeds

FUZZ = "import fuzz, sys; fuzz.fuzz(sys.argv[1], int(sys.argv[2]), sys.argv[3])"
MAX_BYTES = 4000


def fuzz(name: str, runs: int, corpus: str) -> None:
    """Fuzz one target with coverage feedback, from the files of a folder; does not return."""
    import atheris

    with atheris.instrument_imports(include=["glossator"]):
        from fuzz_targets import TARGETS
    limits = [f"-runs={runs}", f"-max_len={MAX_BYTES}", "-len_control=0", "-timeout=60", "-verbosity=0"]
    atheris.Setup(["fuzz", *limits, corpus], TARGETS[name])
    atheris.Fuzz()


def main(runs: int, *chosen: str) -> None:
    from fuzz_targets import TARGETS

    counters = Counters("any input (atheris)")
    for name in chosen or TARGETS:
        with tempfile.TemporaryDirectory() as corpus:
            write_seeds(Path(corpus), name)
            command = [sys.executable, "-c", FUZZ, name, str(runs), corpus]
            done = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parent)
        counters.tried += runs
        counters.checked += runs
        if done.returncode:
            counters.wrong += 1
            sys.stderr.write(f"{name}: {done.stderr.decode(errors='replace')[-3000:]}\n")
    counters.report()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
