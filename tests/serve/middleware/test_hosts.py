"""The Host header: only names of this server are served, so that no web page reaches it by DNS rebinding."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import httpx
import pytest

from api_requests import CHEAP_PATH, OTHER_POSTS, QUESTIONS, error_of
from doors import serving
from glossator.core.errors import SettingsError
from glossator.core.settings import load_settings
from glossator.serve.middleware.hosts import AllowedHosts
from server_process import server_process

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing listens
EVIL = {"Host": "evil.example:8000"}


async def status_of(client: httpx.AsyncClient, host: str) -> int:
    return (await client.get(CHEAP_PATH, headers={"Host": host})).status_code


async def test_other_names_reach_no_door(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        for path, body in (QUESTIONS | OTHER_POSTS).items():
            response = await client.post(path, json=body, headers=EVIL)
            assert error_of(response) == (421, "MISDIRECTED_REQUEST")
            assert "GLOSSATOR_ALLOWED_HOSTS" in response.text
            assert "evil" not in response.text


async def test_other_names_reach_no_route(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        listed = (await client.get("/openapi.json")).json()["paths"]
        routes = [(method, re.sub(r"\{.*?\}", "x", path)) for path, methods in listed.items() for method in methods]
        more = [("GET", path) for path in ("/", "/?q=x", "/docs", "/openapi.json", "/docs/module1/balance", "/none")]
        for method, path in [*routes, *more]:
            assert (await client.request(method, path, headers=EVIL)).status_code == 421, path


LOOPBACK = ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:80"]
OTHERS = [
    "localhost.evil.example",
    "evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example#127.0.0.1",
    "localhost:8000:8000",
    "localhost, evil.example",
    "localhost/",
    "192.0.2.7",
    "[fd00::1]",
    "[::ffff:192.0.2.7]",
    "::1",
    "",
    " ",
    "x" * 10_000,
    "*",
]


async def test_loopback_names_are_served_and_no_others(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        for host in LOOPBACK:
            assert await status_of(client, host) == 200, host
        for host in OTHERS:
            assert await status_of(client, host) == 421, host
            assert (await client.get("/livez", headers={"Host": host})).status_code == 421, host


async def test_addresses_are_served_where_the_network_is(empty_data: Path) -> None:
    """Kubernetes probes use the address of the pod; an address cannot be rebound."""
    async with serving(empty_data, host=ANY_ADDRESS) as client:
        for host in ("10.1.2.3:8000", "192.0.2.7", "[fd00::1]:8000", "localhost"):
            assert await status_of(client, host) == 200, host
        for host in ("evil.example", "10.1.2.3.evil.example", "[fd00::1", "10.1.2.999"):
            assert await status_of(client, host) == 421, host


async def test_configured_names_are_served(empty_data: Path) -> None:
    async with serving(empty_data, allowed_hosts="docs.example.com, *.book.example ,fd00::1") as client:
        for host in ("docs.example.com", "Docs.Example.com:8443", "a.book.example", "a.b.book.example", "[fd00::1]:1"):
            assert await status_of(client, host) == 200, host
        for host in ("book.example", "xbook.example", "docs.example.com.evil.example", "example.com", "[fd00::2]"):
            assert await status_of(client, host) == 421, host


async def test_the_name_to_listen_on_is_served(empty_data: Path) -> None:
    async with serving(empty_data, host="book.internal") as client:
        assert await status_of(client, "book.internal:8000") == 200


async def test_wildcard_allows_every_host_name(empty_data: Path) -> None:
    async with serving(empty_data, allowed_hosts="*") as client:
        assert await status_of(client, "evil.example") == 200


@pytest.mark.parametrize("value", ["https://docs.example.com", "docs.example.com:8000", "a b", "*example.com", "a/b"])
def test_invalid_setting_is_refused_by_name(value: str) -> None:
    with pytest.raises(SettingsError, match="GLOSSATOR_ALLOWED_HOSTS"):
        AllowedHosts.from_settings(load_settings(allowed_hosts=value))


async def test_repeated_host_headers_are_refused(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        headers = [("Host", "localhost"), ("Host", "evil.example")]
        assert (await client.get(CHEAP_PATH, headers=headers)).status_code == 421


@pytest.mark.slow
def test_requests_without_a_host_over_a_real_connection(data: Path) -> None:
    with server_process(data) as server:

        def status(request: bytes) -> bytes:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(request)
                return connection.makefile("rb").readline().split()[1]

        assert status(b"GET /livez HTTP/1.1\r\n\r\n") == b"400"
        assert status(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n") == b"400"
        assert status(b"GET /livez HTTP/1.0\r\n\r\n") == b"200"  # no browser: load balancers ask so
        assert status(b"GET http://localhost/livez HTTP/1.1\r\nHost: evil.example\r\n\r\n") == b"421"
        assert status(b"GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n") == b"421"
