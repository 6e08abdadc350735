"""A pool of child processes that parse files: a crash, timeout or excessive memory use affects only one file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import BinaryIO, cast

from glossator.core.errors import SourceError
from glossator.core.inference.cores import available_cores
from glossator.ingest.parsing.values import ParseContext, ParsedFile, context_to_json, file_from_values
from glossator.ingest.parsing.worker import read_message, write_message

MAX_PROCESSES = 8
_PASSED_VARIABLES = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")
"""All of the environment that a parser sees: no key and no password is among it."""


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """What one file may take; `elapsed_seconds` is the limit where a system has none for processor time."""

    cpu_seconds: int = 60
    elapsed_seconds: float = 300
    memory_bytes: int = 1_500_000_000
    result_bytes: int = 200_000_000


class ParserPool:
    """Parses files in child processes, which start with the first file; close it to end them."""

    def __init__(
        self,
        context: ParseContext,
        limits: ParserLimits = ParserLimits(),  # noqa: B008 - frozen
        parser: str = "glossator.ingest.parsing.parsers:parse_file",
    ) -> None:
        self._limits = limits
        self._settings = {
            "parser": parser,
            "context": context_to_json(context),
            "max_memory_bytes": limits.memory_bytes,
            "max_cpu_seconds": limits.cpu_seconds,
        }
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        self._executor: ThreadPoolExecutor | None = None
        self._files: dict[Path, Future[ParsedFile]] = {}
        self._closed = threading.Event()

    def start(self, paths: Iterable[Path]) -> None:
        """Begin to parse files, in this order."""
        waiting = [path for path in paths if path not in self._files]
        if not waiting:
            return
        if self._executor is None:
            count = min(available_cores(), MAX_PROCESSES, len(waiting))
            self._executor = ThreadPoolExecutor(count, "parser")
            for _ in range(count):
                self._idle.put(None)
        for path in waiting:
            self._files[path] = self._executor.submit(self._parse, path)

    def result(self, path: Path) -> ParsedFile:
        """A parsed file, which is forgotten with this call; a SourceError if it could not be parsed."""
        self.start([path])
        return self._files.pop(path).result()

    def close(self) -> None:
        """End all child processes."""
        self._closed.set()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            while not self._idle.empty():
                if (worker := self._idle.get()) is not None:
                    worker.stop()

    def __enter__(self) -> ParserPool:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _parse(self, path: Path) -> ParsedFile:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker(self._settings, self._limits)
            return worker.parse(path)
        finally:
            if worker is not None and not worker.is_running:
                worker.stop()
                worker = None
            self._idle.put(worker)


class _Worker:
    """One child process."""

    def __init__(self, settings: dict[str, object], limits: ParserLimits) -> None:
        self._limits = limits
        paths = os.pathsep.join(filter(None, sys.path))
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        # One thread: the memory that a thread reserves counts, and the pool is parallel already.
        environment |= {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "glossator.ingest.parsing.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._send(json.dumps(settings).encode())

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def parse(self, path: Path) -> ParsedFile:
        """The parsed file; a SourceError says why there is none."""
        late = threading.Event()
        timer = threading.Timer(self._limits.elapsed_seconds, self._kill, [late])
        timer.start()
        try:
            self._send(json.dumps({"path": str(path.absolute())}).encode())
            output = cast(BinaryIO, self._process.stdout)
            message = read_message(output, self._limits.result_bytes)
        except ValueError:
            self._kill()
            raise SourceError(
                f"it has more than {self._limits.result_bytes / 1e6:.0f} MB of text.", "Split the file."
            ) from None
        finally:
            timer.cancel()
        if message is None:
            raise SourceError(*self._death(late.is_set()))
        return _parsed(message)

    def stop(self) -> None:
        self._kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def _kill(self, late: threading.Event | None = None) -> None:
        if late is not None:
            late.set()
        self._process.kill()
        self._process.wait()

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # the process has ended, which is detected when its response is read
            write_message(cast(BinaryIO, self._process.stdin), message)

    def _death(self, late: bool) -> tuple[str, str]:
        """Why the process ended, and what to do."""
        code = self._process.wait()
        if late:
            return f"reading it took more than {self._limits.elapsed_seconds:.0f} seconds.", "Split the file."
        if code == -getattr(signal, "SIGXCPU", 0):
            return f"reading it took more than {self._limits.cpu_seconds} seconds.", "Split the file."
        memory = f"{self._limits.memory_bytes / 1e9:.1f} GB"
        return f"it crashed the parser: it is damaged, or needs more than {memory}.", "Repair or split the file."


def _parsed(message: bytes) -> ParsedFile:
    try:
        response = json.loads(message)
        if "file" in response:
            return file_from_values(response["file"])
        text, remedy = response["error"]
    except (ValueError, TypeError, KeyError):
        raise SourceError("the parser returned no valid result.", "Check that the file is not damaged.") from None
    raise SourceError(str(text), str(remedy))
