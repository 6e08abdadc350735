"""`make bench`: every number in the docs; runs one script at a time, so that none disturbs another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALL = (
    "golden",
    "cold",
    "search",
    "index",
    "ingest",
    "refresh",
    "formats",
    "anchors",
    "deep_links",
    "retrieval",
    "answers",
    "verify",
    "checking",
    "reader",
    "records",
    "agent",
    "injections",
    "serve",
    "constants",
    "workers",
    "simulate",
    "widget",
)


def main() -> None:
    for name in sys.argv[1:] or ALL:
        print(f"\n== {name}", flush=True)
        script = next(HERE.rglob(f"{name}.py"))
        subprocess.run([sys.executable, str(script)], check=True, env=os.environ | {"PYTHONPATH": str(HERE)})


if __name__ == "__main__":
    main()
