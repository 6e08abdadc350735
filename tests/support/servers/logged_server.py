"""A server in a process of its own, started by `glossator serve`, with its log."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import httpcore
import httpx

from commands import COMMAND
from doors import (
    Body,
    is_uuid4,
)

LISTENING, _ESTABLISHED = "0A", "01"
"""States of sockets in /proc/net/tcp."""
SECRET_WORD = "hushhush"  # noqa: S105 - a word that must not appear in logs


class LoggedServer:
    """A server process; `lines` is its log so far."""

    def __init__(self, folder: Path, *options: str, workers: int = 1, **env: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GLOSSATOR_", "OTEL_"))}
        command = [*COMMAND, "serve", "--port", "0", "--workers", str(workers), "--data-dir", str(folder), *options]
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            encoding="utf-8",
            env=clean | env,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = Thread(target=self._read)
        self._reader.start()
        wait_until(lambda: self._started(workers))
        self.address = "".join(self.lines).partition("Uvicorn running on ")[2].split()[0]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def _started(self, workers: int) -> bool:
        log = "".join(self.lines)
        assert self.process.poll() is None, log
        return "Uvicorn running on" in log and log.count("startup complete") >= workers

    @property
    def workers(self) -> list[int]:
        return [int(pid) for pid in re.findall(r"Started server process \[(\d+)\]", "".join(self.lines))]

    def stop(self) -> list[Body]:
        """Stop it and return its log, of which every line must be a JSON object."""
        self.process.terminate()
        self.process.wait(120)
        self._reader.join()
        found = [json.loads(line) for line in self.lines]
        assert all(isinstance(line, dict) and line["level"] and line["message"] for line in found)
        return found

    def kill(self) -> None:
        """Kill it and its workers, if they still run."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def logged_server(folder: Path, *options: str, workers: int = 1, **env: str) -> Iterator[LoggedServer]:
    running = LoggedServer(folder, *options, workers=workers, **env)
    try:
        yield running
    finally:
        running.kill()


def connect(running: LoggedServer, worker: int | None = None) -> socket.socket:
    """A connection; if a worker is named, one that it has accepted: connections of others are closed again."""
    host, _, port = running.address.removeprefix("http://").partition(":")
    opened = socket.create_connection((host, int(port)), timeout=120)
    while worker is not None and accepting_worker(running, opened.getsockname()[1]) != worker:
        opened.close()
        opened = socket.create_connection((host, int(port)), timeout=120)
    return opened


class _WorkerBackend(httpcore.SyncBackend):
    """Opens connections that one worker accepts."""

    def __init__(self, running: LoggedServer, worker: int) -> None:
        self._running, self._worker = running, worker

    def connect_tcp(self, *given: Any, **options: Any) -> httpcore.NetworkStream:
        while True:
            stream = super().connect_tcp(*given, **options)
            if accepting_worker(self._running, stream.get_extra_info("client_addr")[1]) == self._worker:
                return stream
            stream.close()


def client_of(running: LoggedServer, worker: int) -> httpx.Client:
    """A client whose requests all reach one worker."""
    transport = httpx.HTTPTransport()
    transport._pool = httpcore.ConnectionPool(network_backend=_WorkerBackend(running, worker))
    return httpx.Client(base_url=running.address, timeout=120, transport=transport)


def accepting_worker(running: LoggedServer, client_port: int) -> int:
    """The worker that has accepted a connection; waits until one has."""
    found: list[int] = []

    def is_accepted() -> bool:
        sockets = worker_sockets(running, _ESTABLISHED, client_port)
        found.extend(worker for worker, names in zip(running.workers, sockets, strict=True) if names)
        return bool(found)

    wait_until(is_accepted)
    return found[0]


def worker_sockets(running: LoggedServer, state: str = LISTENING, client_port: int = 0) -> list[set[str]]:
    """Which of the server's sockets each worker has."""
    names = server_sockets(running, state, client_port)
    return [names & _open_files(pid) for pid in running.workers]


def server_sockets(running: LoggedServer, state: str = LISTENING, client_port: int = 0) -> set[str]:
    """The sockets at the port of the server: those that listen, or the connection of a client."""
    ports = [f"{int(running.address.rpartition(':')[2]):04X}", f"{client_port:04X}"]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        f"socket:[{row[9]}]" for row in rows if row[3] == state and [row[n].partition(":")[2] for n in (1, 2)] == ports
    }


def _open_files(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):  # the process, or one of its files, may be gone
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(str(file.readlink()))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for a condition that will become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Suspend a process, so that another one gets all requests."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def has_logged(running: LoggedServer, name: str) -> bool:
    return any(name in line for line in running.lines)


def send_request(running: LoggedServer, method: str, path: str, **more: Any) -> str:
    """Send a request, and return its id."""
    response = httpx.request(method, running.address + path, timeout=120, **more)
    assert is_uuid4(response.headers["x-request-id"])
    return str(response.headers["x-request-id"])
