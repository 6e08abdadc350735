"""Listening sockets: an address that cannot be used is reported, and each worker gets a socket of its own."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from glossator.core.errors import AddressUnavailable

if TYPE_CHECKING:
    import uvicorn

_log = logging.getLogger("uvicorn.error")


def check_address(host: str, port: int) -> None:
    """Report an address that cannot be listened on now, in one line; uvicorn would only find out after the start."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise AddressUnavailable(f"The host {host!r} cannot be resolved.", "Choose another --host.") from None
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":  # as uvicorn does: a port of closed connections is free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as error:
            # One of several addresses of a name may be missing, such as ::1 of localhost.
            if error.errno == errno.EADDRINUSE or len(found) == 1:
                raise _unavailable(host, port, error) from None


def _unavailable(host: str, port: int, error: OSError) -> AddressUnavailable:
    if error.errno == errno.EADDRINUSE:
        return AddressUnavailable(
            f"Port {port} of {host} is in use.", "Stop the other program, or choose another --port."
        )
    reason = error.strerror or type(error).__name__
    return AddressUnavailable(
        f"The server cannot listen on port {port} of {host} ({reason}).", "Choose another --host or --port."
    )


class ReservedPort(socket.socket):
    """Keeps a port for the workers, and does not listen: a process that it is sent to gets a socket of its own.

    The kernel spreads connections over the sockets of the workers. From one shared socket, the worker that wakes up
    first may accept nearly all connections that open at once. If a worker dies, its socket is closed with it, and
    new connections go to the others.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _worker_socket, (self.family, self.getsockname())


def bind_for_workers(config: uvicorn.Config) -> socket.socket:
    """A socket for the workers: where the kernel spreads connections, the reserved port, otherwise a shared one."""
    if sys.platform != "linux":  # elsewhere, SO_REUSEPORT is missing or gives all connections to one socket
        return config.bind_socket()
    reserved = reserve_port(config.host, config.port)
    host = f"[{config.host}]" if ":" in config.host else config.host
    _log.info("Uvicorn running on http://%s:%d (Press CTRL+C to quit)", host, reserved.getsockname()[1])
    return reserved


def reserve_port(host: str, port: int) -> ReservedPort:
    """Reserve a port that no other server uses: with SO_REUSEPORT alone, two servers would share it unnoticed."""
    check_address(host, port)
    try:
        # Without SO_REUSEADDR, other servers see that the port is in use before the first worker listens.
        return _reserve(host, port, socket.SO_REUSEPORT)
    except OSError:  # closed connections of a server with one worker
        try:
            return _reserve(host, port, socket.SO_REUSEPORT, socket.SO_REUSEADDR)
        except OSError as error:
            raise _unavailable(host, port, error) from None


def _reserve(host: str, port: int, *options: int) -> ReservedPort:
    reserved = ReservedPort(socket.AF_INET6 if ":" in host else socket.AF_INET)
    _bind(reserved, (host, port), options)
    return reserved


def _worker_socket(family: int, address: tuple[Any, ...]) -> socket.socket:
    """In a worker: SO_REUSEADDR, so that a later server is not kept from the port by closed connections of this one."""
    listener = socket.socket(family)
    _bind(listener, address, (socket.SO_REUSEPORT, socket.SO_REUSEADDR))
    return listener


def _bind(opened: socket.socket, address: tuple[Any, ...], options: Sequence[int]) -> None:
    try:
        for option in options:
            opened.setsockopt(socket.SOL_SOCKET, option, 1)
        opened.bind(address)
    except OSError:
        opened.close()
        raise
