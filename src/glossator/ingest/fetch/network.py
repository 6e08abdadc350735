"""Connections to checked addresses: a host is resolved once, and connections use only the checked addresses."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from httpcore2 import ConnectError, ConnectTimeout, NetworkBackend, NetworkStream, ReadTimeout, SyncBackend

from glossator.core.errors import FetchRefused, SourceUnreachable
from glossator.core.resilience.deadline import call_within

if TYPE_CHECKING:
    import ssl

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
RESOLVE_SECONDS = 10.0


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, as is every IPv4 address inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not (address.is_multicast or address.is_reserved)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(address.packed[-4:]))
    inside = [address.sixtofour] if address.sixtofour else list(address.teredo or ())
    own = address.is_global and not (address.is_multicast or address.is_reserved or address.is_site_local)
    return own and all(is_public(each) for each in inside)


def resolve(host: str, port: int, *, allow_private: bool, seconds: float = RESOLVE_SECONDS) -> tuple[str, ...]:
    """The addresses of a host, every one of them checked."""
    try:
        found = call_within(seconds, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except TimeoutError:
        raise SourceUnreachable(f"{host} cannot be reached (the name server does not respond).") from None
    except (OSError, UnicodeError):
        raise SourceUnreachable(f"{host} cannot be reached (unknown host).", "Check the URL.") from None
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private:
        for address in addresses:
            if not is_public(ipaddress.ip_address(address.partition("%")[0])):
                raise FetchRefused(
                    f"{host} is not on the public internet (its address is {address}).",
                    "Pass --allow-private to allow it for this source.",
                )
    return addresses


class CheckedBackend(NetworkBackend):
    """Opens connections to checked addresses only; everything on them ends at the deadline of the calling thread."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._backend = SyncBackend()
        self._thread = threading.local()

    @contextmanager
    def deadline(self, at: float) -> Iterator[None]:
        """Let all connections of this thread end at a time of the monotonic clock."""
        self._thread.at = at
        try:
            yield
        finally:
            self._thread.at = None

    def remaining(self, timeout: float | None, error: type[Exception]) -> float | None:
        """The timeout, or what is left until the deadline."""
        at = getattr(self._thread, "at", None)
        if at is None:
            return timeout
        left = float(at) - time.monotonic()
        if left <= 0:
            raise error("the request took too long")
        return left if timeout is None else min(timeout, left)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        """A connection to the first address that accepts one."""
        seconds = self.remaining(RESOLVE_SECONDS, ConnectTimeout) or RESOLVE_SECONDS
        failure: Exception = ConnectError("the host has no address")
        for address in resolve(host.strip("[]"), port, allow_private=self._allow_private, seconds=seconds):
            try:
                left = self.remaining(timeout, ConnectTimeout)
                return _TimedStream(self._backend.connect_tcp(address, port, left, local_address, socket_options), self)
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise failure


class _TimedStream(NetworkStream):
    """A connection that ends at the deadline of the calling thread, however slowly data arrives."""

    def __init__(self, stream: NetworkStream, backend: CheckedBackend) -> None:
        self._stream = stream
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._backend.remaining(timeout, ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._backend.remaining(timeout, ReadTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        left = self._backend.remaining(timeout, ConnectTimeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
