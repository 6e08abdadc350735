"""Runs `glossator` commands for tests: in this process where that is enough, else in one of their own."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from glossator.cli.main import main

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder that only this test run sees is made in it
START = [sys.executable, "-c", "from glossator.cli.main import main; main()"]


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    def failed_with(self, code: int, *words: str) -> bool:
        """Whether it failed with this exit code and one line that holds these words."""
        return (
            self.code == code
            and self.out == ""
            and self.err.startswith("glossator: ")
            and self.err.count("\n") == 1
            and all(word in self.err for word in words)
        )


def run(*arguments: object, stdin: bytes = b"") -> Outcome:
    """A command in this process."""
    out, err = _stream(), _stream()
    before = signal.getsignal(signal.SIGINT)
    argv = ["glossator", *map(str, arguments)]
    with patch("sys.argv", argv), patch("sys.stdin", _stream(stdin)), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            signal.signal(signal.SIGINT, before)
    return Outcome(code, _written(out), _written(err))


def run_alone(*arguments: Any, env: dict[str, str] | None = None, cwd: Path | None = None) -> Outcome:
    """A command in a process of its own."""
    done = subprocess.run(
        [*START, *arguments], capture_output=True, check=False, env={**os.environ, **(env or {})}, cwd=cwd, timeout=120
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory where there is room: an ingest waits for the disk most of its time."""
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2_000_000_000
    with tempfile.TemporaryDirectory(dir=MEMORY if in_memory else None) as folder:
        yield Path(folder)


def _stream(data: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), "utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
