"""A server that runs out of descriptors or memory, and one whose clock jumps."""

from __future__ import annotations

import os
import resource
import struct
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from data_dirs import copy_data
from machine import Trial, book_server, compile_shared
from paths import TESTS
from server_process import ServerProcess

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("GLOSSATOR_CLIENTS", "5"))
ROUNDS = int(os.environ.get("GLOSSATOR_ROUNDS", "1"))
EXHAUSTED_SECONDS = 2.0
MEGABYTE = 2**20
MAX_CLOCK_ERROR_SECONDS = 60.0
JUMPS = (2 * 3600, -2 * 3600, 0)
"""Less than the time after which a conversation expires."""


@pytest.mark.parametrize("spare", [0, 3])
def test_connections_are_refused_or_wait_while_there_are_no_descriptors(data: Path, tmp_path: Path, spare: int) -> None:
    trial = Trial(f"descriptors exhausted ({spare} left)", CLIENTS)
    copied = copy_data(data, tmp_path / "data")
    with book_server(copied) as server:
        trial.before(server)
        usual = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)

        def limit(number: int) -> None:
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (number, usual[1]))

        def exhaust_for_a_while() -> None:
            limit(server.files + spare)
            time.sleep(EXHAUSTED_SECONDS)
            limit(usual[0])

        for _ in range(ROUNDS):
            trial.during(server, exhaust_for_a_while, lambda: None, may_break=True)
            trial.after(server)
    trial.end(copied)


@pytest.mark.parametrize("spare", [0, 16])
def test_requests_are_answered_or_refused_while_there_is_no_memory(data: Path, tmp_path: Path, spare: int) -> None:
    trial = Trial(f"memory limit ({spare} MB left)", CLIENTS)
    copied = copy_data(data, tmp_path / "data")
    with book_server(copied) as server:
        trial.before(server)
        usual = resource.prlimit(server.process.pid, resource.RLIMIT_AS)

        def limit(size: int) -> None:
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size, usual[1]))

        for _ in range(ROUNDS):
            trial.during(server, lambda: limit(server.memory + spare * MEGABYTE), lambda: limit(usual[0]))
            trial.after(server)
    trial.end(copied)


def wait_for_clock(server: ServerProcess, shift: int) -> None:
    """Wait until the server's responses show that its clock has jumped: they are dated once a second."""
    errors = []
    for _ in range(100):
        shown = parsedate_to_datetime(httpx.get(f"{server.url}/livez").headers["Date"]).timestamp()
        errors.append(shown - time.time() - shift)
        if abs(errors[-1]) < MAX_CLOCK_ERROR_SECONDS:
            return
        time.sleep(0.1)
    raise AssertionError(errors)


def test_a_jump_of_the_clock_changes_no_answer(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, shift = tmp_path / "shifted_clock.so", tmp_path / "shift"
    if not compile_shared(TESTS / "support" / "torture" / "shifted_clock.c", library):
        pytest.skip("no C compiler here")
    shift.write_bytes(bytes(8))
    monkeypatch.setenv("CLOCK_SHIFT", str(shift))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    trial = Trial("clock jumps (2 h)", CLIENTS)
    copied = copy_data(data, tmp_path / "data")

    def jump(seconds: int) -> None:
        with shift.open("r+b") as file:
            file.write(struct.pack("l", seconds))

    with book_server(copied) as server:
        monkeypatch.delenv("LD_PRELOAD")
        trial.before(server)
        for seconds in JUMPS * ROUNDS:
            outcomes = trial.during(server, lambda seconds=seconds: jump(seconds), lambda: None)
            assert all(outcome.complete for outcome in outcomes)
            wait_for_clock(server, seconds)
            trial.after(server)
    trial.end(copied)
