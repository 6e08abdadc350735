"""`kill -9` of a server at random moments while clients ask: what it reported as stored is stored once."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from clients import Outcome, ask_together
from data_dirs import copy_data
from machine import Trial, book_server
from server_process import ServerProcess

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("GLOSSATOR_CLIENTS", "5"))
KILLS = int(os.environ.get("GLOSSATOR_KILLS", "2"))
MAX_SECONDS = 0.5
RANDOM = random.SystemRandom()


async def ask_until_killed(server: ServerProcess) -> list[Outcome]:
    """Clients that ask again and again, until the server is killed: at a random moment after so many answers."""
    outcomes: list[Outcome] = []
    answers = RANDOM.randint(0, CLIENTS)

    async def keep_asking() -> None:
        while server.process.poll() is None:
            outcomes.extend(await ask_together(server.url, 1))

    asking = [asyncio.create_task(keep_asking()) for _ in range(CLIENTS)]
    while len(outcomes) < answers:  # noqa: ASYNC110 - the clients count
        await asyncio.sleep(0.01)
    await asyncio.sleep(RANDOM.uniform(0, MAX_SECONDS))
    server.process.kill()
    await asyncio.to_thread(server.process.wait)
    await asyncio.gather(*asking)
    return outcomes


def test_a_killed_server_has_stored_what_it_reported_and_starts_again(data: Path, tmp_path: Path) -> None:
    trial = Trial("server killed (kill -9)", CLIENTS)
    copied = copy_data(data, tmp_path / "data")
    for _ in range(KILLS):
        with book_server(copied) as server:
            trial.after(server)
            trial.counters.tried += 1
            trial.keep(asyncio.run(ask_until_killed(server)), may_break=True)
    with book_server(copied) as server:
        trial.after(server)
    trial.end(copied)
