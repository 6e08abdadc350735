"""`glossator ask` from a cold start: seconds, and heavy imports."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import glossator
from lib.common import CACHE, ROOT

QUESTION = "What is the zero-moment point?"


def main() -> None:
    folder = CACHE / "cold"
    with glossator.open(folder) as book:
        book.ingest(ROOT / "book", only=True)
    command = [str(Path(sys.executable).with_name("glossator")), "ask", QUESTION, "--data-dir", str(folder)]
    times, bare = [], []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import onnxruntime, tokenizers, numpy"], check=True)
        bare.append(time.perf_counter() - started)
    worst, typical = max(times), statistics.median(times)
    print(
        f"glossator ask, cold: median {typical:.2f} s, worst {worst:.2f} s (limit 2 s:"
        f" {'holds' if worst <= 2 else 'DOES NOT HOLD'}); importing the model's runtime alone"
        f" {statistics.median(bare):.2f} s, ratio {typical / statistics.median(bare):.1f}"
    )
    code = f"import sys; sys.argv = ['glossator', 'ask', {QUESTION!r}, '--data-dir', {str(folder)!r}]\n" + (
        "from glossator.cli.main import main\ntry:\n    main()\nfinally:\n"
        "    print(sorted({'openai', 'agents', 'fastapi', 'torch'} & set(sys.modules)), file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    print(f"of openai, agents, fastapi and torch it imports: {out.stderr.strip().splitlines()[-1]}")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
