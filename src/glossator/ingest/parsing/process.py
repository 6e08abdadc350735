"""One child process that parses: requests, responses, limits, and why it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from glossator.core.errors import ParserUnavailable, SourceError
from glossator.ingest.parsing.worker import read_message, write_message

_PASSED_VARIABLES = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")
"""All of the environment that a parser sees: no key and no password is among it."""
_PIPE_BYTES = 1_000_000
"""So that a process need not wait until a busy parent has read its last response; ignored where it cannot be set."""


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """What one file may take: `text_seconds` of processor time, and as many again for each megabyte of text.

    `cpu_seconds` is the most, and the limit if the size of the text is not known. `elapsed_per_cpu_second` limits the
    total time, where a system has no limit for processor time.
    """

    cpu_seconds: int = 60
    text_seconds: int = 10
    elapsed_per_cpu_second: float = 5
    memory_bytes: int = 1_500_000_000
    result_bytes: int = 200_000_000

    def cpu_seconds_for(self, size: int | None) -> int:
        """The processor time for a text of this many bytes."""
        return self.cpu_seconds if size is None else min(self.cpu_seconds, round(self.text_seconds * (1 + size / 1e6)))


@dataclass(frozen=True, slots=True)
class Item:
    """What a parser gets, and the processor time that it may take."""

    value: object
    cpu_seconds: int


class ParserProcess:
    """A child process; after each response, `is_running` tells whether there will be another one."""

    def __init__(self, settings: dict[str, object], limits: ParserLimits) -> None:
        self._limits = limits
        paths = os.pathsep.join(filter(None, sys.path))
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        # One thread: the memory that a thread reserves counts, and the pool is parallel already.
        environment |= {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = _started(environment)
        self._send(settings | {"max_memory_bytes": limits.memory_bytes})

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def request(self, items: Sequence[Item]) -> None:
        """Ask for items to be parsed, in this order; there is one response for each."""
        self._send([(item.value, item.cpu_seconds) for item in items])

    def response(self, item: Item) -> Any:
        """The next response, which is for this item; a SourceError says why there is none."""
        late = threading.Event()
        timer = threading.Timer(item.cpu_seconds * self._limits.elapsed_per_cpu_second, self._kill, [late])
        timer.start()
        try:
            message = read_message(cast(BinaryIO, self._process.stdout), self._limits.result_bytes)
        except ValueError:
            self._kill()
            raise SourceError(
                f"its text is larger than {self._limits.result_bytes / 1e6:.0f} MB.", "Split the file."
            ) from None
        finally:
            timer.cancel()
        if message is None:
            raise SourceError(*self._death(item.cpu_seconds, late=late.is_set()))
        return _value(message)

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

    def _send(self, message: object) -> None:
        with suppress(OSError):  # the process has ended, which is detected when its response is read
            write_message(cast(BinaryIO, self._process.stdin), json.dumps(message).encode())

    def _death(self, cpu_seconds: int, *, late: bool) -> tuple[str, str]:
        """Why the process ended, and what to do."""
        code = self._process.wait()
        if late or code == -getattr(signal, "SIGXCPU", 0):
            seconds = cpu_seconds * self._limits.elapsed_per_cpu_second if late else cpu_seconds
            return f"reading it took more than {seconds:.0f} seconds.", "Split or simplify the file."
        memory = f"{self._limits.memory_bytes / 1e9:.1f} GB"
        return f"it crashed the parser: it is damaged, or needs more than {memory}.", "Repair or split the file."


def _started(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "glossator.ingest.parsing.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            pipesize=_PIPE_BYTES,
        )
    except OSError as error:  # not an error of one file: skipping all files would empty the index
        raise ParserUnavailable(
            f"No process can be started to parse files ({error.strerror or type(error).__name__}).",
            "Check the limits of memory and processes, and that the user may run Python.",
        ) from error


def _value(message: bytes) -> Any:
    try:
        response = json.loads(message)
        if "value" in response:
            return response["value"]
        text, remedy = response["error"]
    except (ValueError, TypeError, KeyError):
        raise invalid_result() from None
    raise SourceError(str(text), str(remedy))


def invalid_result() -> SourceError:
    """The error for a response that is not one."""
    return SourceError("the parser returned no valid result.", "Check that the file is not damaged.")
