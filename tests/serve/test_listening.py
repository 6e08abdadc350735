"""Each worker has a listening socket of its own, and the port is still the server's alone."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from commands import run_in_subprocess
from glossator.core.errors import AddressUnavailable
from glossator.core.inference.load import Load
from glossator.serve.listening import ReservedPort, check_address, reserve_port
from logged_server import (
    LoggedServer,
    accepting_worker,
    connect,
    logged_server,
    server_sockets,
    stopped,
    wait_until,
    worker_sockets,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel spreads connections on Linux only")

HOST = "127.0.0.1"
REQUEST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def worker_socket(reserved: ReservedPort) -> socket.socket:
    """What a process gets that the reserved port is sent to."""
    received = pickle.loads(pickle.dumps(reserved))  # noqa: S301 - made here
    assert isinstance(received, socket.socket)
    return received


def close_a_connection(listener: socket.socket) -> None:
    """From the side of the server, which then remembers it for a minute."""
    with socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        accepted.close()
        assert client.recv(1) == b""


def test_a_reserved_port_is_in_use_before_a_worker_listens() -> None:
    with reserve_port(HOST, 0) as reserved, pytest.raises(AddressUnavailable, match="is in use"):
        check_address(HOST, reserved.getsockname()[1])


def test_a_reserved_port_cannot_be_reserved_again() -> None:
    with reserve_port(HOST, 0) as reserved, pytest.raises(AddressUnavailable, match="is in use"):
        reserve_port(HOST, reserved.getsockname()[1])


def test_a_process_that_gets_the_reserved_port_has_a_socket_of_its_own() -> None:
    with reserve_port(HOST, 0) as reserved, ExitStack() as opened:
        workers = [opened.enter_context(worker_socket(reserved)) for _ in range(2)]
        for worker in workers:
            worker.listen()
        assert {worker.getsockname() for worker in workers} == {reserved.getsockname()}
        with socket.create_connection(reserved.getsockname()) as client:
            client.sendall(b"x")  # the reserved port itself does not listen, so one of the workers is connected


@pytest.mark.parametrize("family", ["::1", HOST])
def test_a_port_is_reserved_in_either_family(family: str) -> None:
    with reserve_port(family, 0) as reserved, worker_socket(reserved) as worker:
        assert worker.getsockname() == reserved.getsockname()


def test_closed_connections_do_not_block_the_port_for_a_later_server() -> None:
    with reserve_port(HOST, 0) as reserved:
        port = reserved.getsockname()[1]
        with worker_socket(reserved) as worker:
            worker.listen()
            close_a_connection(worker)
    with socket.create_server((HOST, port)) as alone:  # as uvicorn listens with one worker
        close_a_connection(alone)
    with reserve_port(HOST, port) as reserved:
        assert reserved.getsockname() == (HOST, port)


def test_workers_share_the_number_of_questions_that_count_as_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glossator.core.inference.load.available_cores", lambda: 2)
    alone, shared, many = Load(), Load(workers=2), Load(workers=100)
    highs = []
    for load in (alone, shared, many):
        with ExitStack() as questions:
            for count in range(1, 10):
                questions.enter_context(load)
                if load.is_high:
                    highs.append(count)
                    break
    assert highs == [9, 5, 2]


@pytest.fixture(scope="module")
def running(tides_index: Path) -> Iterator[LoggedServer]:
    with logged_server(tides_index, workers=2) as server:
        yield server


@pytest.mark.slow
def test_connections_that_open_at_once_are_spread_over_the_workers(running: LoggedServer) -> None:
    wait_until(lambda: all(worker_sockets(running)))  # a worker listens shortly after its application has started
    first, second = worker_sockets(running)
    assert len(first) == len(second) == 1
    assert first != second
    with ExitStack() as opened:
        held = [opened.enter_context(connect(running)) for _ in range(200)]
        accepted = Counter(accepting_worker(running, each.getsockname()[1]) for each in held)
    assert min(accepted[worker] for worker in running.workers) >= 50, accepted  # by chance less: one in a trillion


@pytest.mark.slow
def test_another_server_with_workers_is_refused(running: LoggedServer, tmp_path: Path) -> None:
    port = running.address.rpartition(":")[2]
    result = run_in_subprocess("serve", "--port", port, "--workers", "2", "--data-dir", tmp_path)
    assert result.failed_with(1, f"Port {port} of {HOST} is in use."), result


@pytest.mark.slow
def test_new_connections_go_to_the_workers_that_are_left(tides_index: Path) -> None:
    with logged_server(tides_index, workers=2) as server:
        first = server.workers[0]
        with stopped(server.process.pid):  # it would replace the worker
            os.kill(first, signal.SIGKILL)
            wait_until(lambda: len(server_sockets(server)) == 1)
            answered = []
            for _ in range(50):
                with connect(server) as client:
                    client.sendall(REQUEST)
                    answered.append(client.recv(15))
        assert answered == [b"HTTP/1.1 200 OK"] * 50
        wait_until(lambda: len(server_sockets(server)) == 2)
        assert httpx.get(f"{server.address}/livez", timeout=120).text == "ok"
