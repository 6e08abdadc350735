"""A server of the small book on a machine that fails: its disk, its limits, its clock."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clients import Outcome, ask_together, count, count_stored, wait_until_complete
from counters import MAX_RECOVERY_SECONDS, Counters
from server_process import ServerProcess, server_process

REQUEST_SECONDS = 20.0
SLACK_SECONDS = 15.0
"""The machine is busy: a server may take this much longer."""
SETTINGS: dict[str, Any] = {
    "verify_models": False,
    "reader": "off",
    "cache_answers": 0,
    "answer_seconds": 5,
    "request_seconds": REQUEST_SECONDS,
    "rate_per_minute": 1_000_000,
    "threads": 1,
}


@contextmanager
def book_server(data: Path, **options: Any) -> Iterator[ServerProcess]:
    with server_process(data, **SETTINGS, **options) as server:
        yield server


def stored_in(data: Path) -> list[tuple[str, str]]:
    """The key and the question of every exchange in a data directory."""
    with closing(sqlite3.connect(data / "records.sqlite")) as db:
        return list(db.execute("SELECT request_key, query FROM conversations"))


class Trial:
    """Faults of one kind: what was asked during them, and what was stored."""

    def __init__(self, faults: str, clients: int) -> None:
        self.counters = Counters(faults)
        self._clients = clients
        self._outcomes: list[Outcome] = []

    def before(self, server: ServerProcess) -> None:
        """A server that answers."""
        self.keep(asyncio.run(wait_until_complete(server.url))[1])

    def during(
        self, server: ServerProcess, begin: Callable[[], None], end: Callable[[], None], *, may_break: bool = False
    ) -> list[Outcome]:
        """Let clients ask while a fault begins and ends; the outcomes while it lasted."""
        outcomes = asyncio.run(self._ask_while(server.url, begin))
        end()
        self.counters.tried += 1
        self.keep(outcomes, may_break=may_break)
        return outcomes

    async def _ask_while(self, url: str, begin: Callable[[], None]) -> list[Outcome]:
        asking = asyncio.create_task(ask_together(url, self._clients))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(begin)
        return [*await asking, *await ask_together(url, self._clients)]

    def after(self, server: ServerProcess) -> None:
        """The fault is over: how long it takes until a question is answered as before."""
        seconds, outcomes = asyncio.run(wait_until_complete(server.url))
        self.counters.recovered_in(seconds)
        self.keep(outcomes)

    def keep(self, outcomes: list[Outcome], *, may_break: bool = False) -> None:
        count(self.counters, outcomes, REQUEST_SECONDS + SLACK_SECONDS, may_break=may_break)
        self._outcomes += outcomes

    def end(self, data: Path) -> None:
        """Compare with the records, and report."""
        count_stored(self.counters, self._outcomes, stored_in(data))
        self.counters.report()
        assert (self.counters.recovery_seconds or 0.0) < MAX_RECOVERY_SECONDS + SLACK_SECONDS


def compile_shared(source: Path, target: Path) -> bool:
    """Compile a C file to a library; whether there is a compiler."""
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", target, source], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
