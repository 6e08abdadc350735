"""Runs `glossator` commands for tests, in this process or in one of their own."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from glossator.cli.main import main

MEMORY = Path("/dev/shm")  # noqa: S108 - only used to create private temporary folders
COMMAND = [sys.executable, "-c", "from glossator.cli.main import main; main()"]


@dataclass(frozen=True)
class CommandResult:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    def failed_with(self, code: int, *words: str) -> bool:
        """Whether it failed with this exit code and one line of error output that contains these words."""
        return (
            self.code == code
            and self.out == ""
            and self.err.startswith("glossator: ")
            and self.err.count("\n") == 1
            and all(word in self.err for word in words)
        )


def run(*arguments: object, stdin: bytes = b"") -> CommandResult:
    """Run a command in this process."""
    out, err = _stream(), _stream()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    argv = ["glossator", *map(str, arguments)]
    with patch("sys.argv", argv), patch("sys.stdin", _stream(stdin)), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return CommandResult(code, _written(out), _written(err))


def run_in_subprocess(*arguments: Any, env: dict[str, str] | None = None, cwd: Path | None = None) -> CommandResult:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=120,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory if there is enough: an ingest mostly waits for the disk."""
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2_000_000_000
    folder = tempfile.TemporaryDirectory(dir=MEMORY if in_memory else None)
    try:
        yield Path(folder.name)
    finally:
        _delete(folder)


def _delete(folder: tempfile.TemporaryDirectory[str], attempts: int = 100) -> None:
    """Delete a folder; an ingest job, which outlives its server, may still write to it for a moment."""
    for left in reversed(range(attempts)):
        try:
            folder.cleanup()
            return
        except OSError:
            if not left:
                raise
            time.sleep(0.1)


def _stream(data: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), "utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
