"""Runs every target under atheris, each in a process of its own, and counts.

Usage: python fuzz.py RUNS; the name of a target as a second argument runs it here.
"""

from __future__ import annotations

import subprocess
import sys

RUNS_OF_FILES = 20
"""A target that writes a file is so much slower than one of text."""
FILE_TARGETS = ("Markdown", "MDX", "HTML", "reStructuredText", "AsciiDoc", "notebook", "EPUB", "PDF", "key file")


def fuzz(name: str, runs: int) -> None:
    """Fuzz one target with coverage feedback; does not return."""
    import atheris

    with atheris.instrument_imports(include=["glossator"]):
        from fuzz_targets import TARGETS
    atheris.Setup(["fuzz", f"-runs={runs}", "-max_len=2000", "-timeout=60", "-verbosity=0"], TARGETS[name])
    atheris.Fuzz()


def main(runs: int) -> None:
    from counters import Counters
    from fuzz_targets import TARGETS

    counters = Counters("any input (atheris)")
    for name in TARGETS:
        number = runs // RUNS_OF_FILES if name in FILE_TARGETS else runs
        done = subprocess.run([sys.executable, __file__, str(number), name], capture_output=True, check=False)
        counters.tried += number
        counters.checked += number
        if done.returncode:
            counters.wrong += 1
            sys.stderr.write(f"{name}: {done.stderr.decode(errors='replace')[-3000:]}\n")
    counters.report()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        fuzz(sys.argv[2], int(sys.argv[1]))
    else:
        main(int(sys.argv[1]))
