"""`make bench`: every number in the docs; runs one script at a time, so that none disturbs another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALL = (
    "golden",
    "cold",
    "search",
    "ingest",
    "anchors",
    "retrieval",
    "answers",
    "verify",
    "records",
    "agent",
    "injections",
    "serve",
    "widget",
)


def main() -> None:
    for name in sys.argv[1:] or ALL:
        print(f"\n== {name}", flush=True)
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=True)


if __name__ == "__main__":
    main()
