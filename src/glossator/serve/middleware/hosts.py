"""Checks the Host header: other names are rejected, to prevent DNS rebinding."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from glossator.core.errors import SettingsError
from glossator.core.settings import Settings
from glossator.core.validation import is_loopback
from glossator.serve.problems import RequestRejected

ANY_HOST = "*"
_NAME = r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}"
_HOST = re.compile(rf"({_NAME}|\[[0-9a-f:.]{{2,45}}\])\.?(?::[0-9]{{0,5}})?")
_PATTERN = re.compile(rf"(?:\*\.)?{_NAME}")
_MAX_HEADER_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The names of a server: those of the loopback interface, and `names`, where `*.name` stands for all below it.

    `any_address` allows every IP address. That is safe: a browser sends an address only for a URL that contains it,
    and such a page comes from that address, however names are resolved.
    """

    names: frozenset[str] = frozenset()
    any_address: bool = False

    @classmethod
    def of(cls, names: Iterable[str], *, any_address: bool = False) -> AllowedHosts:
        """The hosts with these names; IPv6 addresses may be without brackets."""
        return cls(frozenset(_normalised(name.strip()) for name in names if name.strip()), any_address)

    @classmethod
    def from_settings(cls, settings: Settings) -> AllowedHosts:
        """The names in GLOSSATOR_ALLOWED_HOSTS and the one to listen on; all IP addresses unless that is loopback."""
        names = (*settings.allowed_hosts.split(","), settings.host)
        return cls.of(names, any_address=not is_loopback(settings.host))

    def serves(self, header: str) -> bool:
        """Whether a Host header names this server."""
        host = _host_in(header)
        return self.includes(header) or (self.any_address and host is not None and _is_address(host))

    def includes(self, header: str) -> bool:
        """Whether a Host header, or that part of an origin, is one of the names; `any_address` does not apply."""
        if ANY_HOST in self.names:
            return True
        host = _host_in(header)
        if host is None:
            return False
        parents = (host[at + 1 :] for at, character in enumerate(host) if character == ".")
        return is_loopback(host) or host in self.names or any(f"*.{parent}" in self.names for parent in parents)


class HostMiddleware:
    """Refuses requests for other names; browsers always send one, so HTTP/1.0 without a Host header is harmless."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope).getlist("host")
            absent = not headers and scope.get("http_version") == "1.0"
            if not absent and not (len(headers) == 1 and self.hosts.serves(headers[0])):
                raise RequestRejected(
                    HTTPStatus.MISDIRECTED_REQUEST,
                    HTTPStatus.MISDIRECTED_REQUEST.name,
                    "The host name of the request is not allowed on this server.",
                    "Its operator can add the name to GLOSSATOR_ALLOWED_HOSTS.",
                )
        await self.app(scope, receive, send)


def origin_of(scope: Scope) -> str:
    """The scheme and host that a request was sent to; empty if it names none, or a malformed one."""
    host = Headers(scope=scope).get("host", "")
    return f"{scope['scheme']}://{host}" if _host_in(host) else ""


def _host_in(header: str) -> str | None:
    """The host without its port, in lower case; None if the header is malformed."""
    match = _HOST.fullmatch(header.lower()) if len(header) <= _MAX_HEADER_CHARACTERS else None
    return _without_zeros(match[1]) if match else None


def _without_zeros(host: str) -> str:
    """An IPv6 address in its one normal form; other hosts as they are."""
    if not host.startswith("["):
        return host
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1])}]"
    except ValueError:
        return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _normalised(name: str) -> str:
    """A name of the settings as `_host_in` would return it."""
    name = name.lower()
    if _is_address(name):
        return _without_zeros(f"[{name.strip('[]')}]" if ":" in name else name)
    if name != ANY_HOST and not _PATTERN.fullmatch(name):
        raise SettingsError(
            "GLOSSATOR_ALLOWED_HOSTS is not a list of host names.",
            "Use names such as docs.example.com or *.example.com, separated by commas, without https:// and ports.",
        )
    return name
