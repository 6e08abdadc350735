"""Rate limits: requests per minute of each client, and how a client is recognised behind a proxy."""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections.abc import Awaitable
from pathlib import Path

import httpx
import pytest

from api_requests import (
    CHEAP_PATH,
    HEALTH_PATHS,
    MAX_REQUESTS,
    OTHER_POSTS,
    QUESTIONS,
    clients_at,
    count_allowed,
    error_of,
    retry_after,
    send_until_rejected,
)
from commands import COMMAND
from doors import serving
from glossator.serve.auth.keys import KEYS_FILE, KeyStore

pytestmark = pytest.mark.slow


async def test_no_rate_limit_on_loopback(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        responses = [await client.get(CHEAP_PATH) for _ in range(200)]
    assert {response.status_code for response in responses} == {200}


async def test_other_hosts_have_a_default_rate_limit(empty_data: Path) -> None:
    async with serving(empty_data, host="0.0.0.0") as client:  # noqa: S104 - nothing listens
        responses = [await client.get(CHEAP_PATH) for _ in range(200)]
    assert {response.status_code for response in responses} == {200, 429}


async def test_zero_disables_the_rate_limit(empty_data: Path) -> None:
    async with serving(empty_data, host="0.0.0.0", rate_per_minute=0) as client:  # noqa: S104 - nothing listens
        responses = [await client.get(CHEAP_PATH) for _ in range(200)]
    assert {response.status_code for response in responses} == {200}


@pytest.mark.parametrize("path", [*QUESTIONS, *OTHER_POSTS])
async def test_rate_limit_error_has_the_shape_of_the_door(empty_data: Path, path: str) -> None:
    body = (QUESTIONS | OTHER_POSTS)[path]
    async with serving(empty_data, rate_per_minute=1) as client:
        count, rejection = await send_until_rejected(lambda: client.post(path, json=body))
    assert count > 0
    assert error_of(rejection) == (429, "RATE_LIMITED")
    assert retry_after(rejection) <= 60


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/nowhere", "/history/6f9619ff-8b86-4d01-b42d-00cf4fc964ff"])
async def test_pages_and_searches_are_rate_limited(empty_data: Path, path: str) -> None:
    async with serving(empty_data, rate_per_minute=1) as client:
        _, rejection = await send_until_rejected(lambda: client.get(path))
    assert error_of(rejection) == (429, "RATE_LIMITED")


async def test_health_checks_are_not_rate_limited(data: Path) -> None:
    async with serving(data, rate_per_minute=1) as client:
        await count_allowed(client)
        for path in HEALTH_PATHS * 3:
            assert (await client.get(path)).status_code == 200


async def test_client_is_served_again_after_retry_after(empty_data: Path) -> None:
    async with serving(empty_data, rate_per_minute=60) as client:
        _, rejection = await send_until_rejected(lambda: client.get(CHEAP_PATH))
        await asyncio.sleep(retry_after(rejection))
        assert (await client.get(CHEAP_PATH)).status_code == 200


async def test_rejected_requests_do_not_extend_the_wait(empty_data: Path) -> None:
    async with serving(empty_data, rate_per_minute=1) as client:
        await count_allowed(client)
        waits = [retry_after(await client.get(CHEAP_PATH)) for _ in range(20)]
    assert max(waits) <= 60


async def test_each_address_has_its_own_limit(empty_data: Path) -> None:
    async with clients_at(empty_data, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count = await count_allowed(first)
        assert await count_allowed(second) == count


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:203.0.113.1", "::ffff:203.0.113.2", False),
        ("::ffff:203.0.113.1", "203.0.113.1", True),
    ],
)
async def test_ipv6_networks_count_as_one_client(empty_data: Path, first: str, second: str, same: bool) -> None:
    async with clients_at(empty_data, first, second, rate_per_minute=1) as (one, other):
        count = await count_allowed(one)
        assert (await count_allowed(other) < count) is same


async def test_each_key_has_its_own_limit_at_any_address(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / KEYS_FILE)
    mine, yours = ({"X-API-Key": store.create(name, ["read"])} for name in ("mine", "yours"))
    async with clients_at(tmp_path, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count = await count_allowed(first, headers=mine)
        assert await count_allowed(second, headers=mine) < count
        assert await count_allowed(first, headers=yours) == count


async def test_widget_tokens_are_limited_by_address(tmp_path: Path) -> None:
    """A page may fetch any number of tokens."""
    store = KeyStore(tmp_path / KEYS_FILE)
    store.create("site", ["write"])
    origin = "https://docs.example.com"

    def fresh() -> dict[str, str]:
        return {"Authorization": f"Bearer {store.create_token(origin, str(uuid.uuid4()))}", "Origin": origin}

    async with clients_at(tmp_path, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count, rejection = await send_until_rejected(lambda: first.get(CHEAP_PATH, headers=fresh()))
        assert error_of(rejection) == (429, "RATE_LIMITED")
        assert await count_allowed(second, headers=fresh()) == count


FORWARDING_HEADERS = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP"]


def forwarding_header(number: int, name: str = FORWARDING_HEADERS[0]) -> dict[str, str]:
    address = f"198.51.100.{number}"
    return {name: f"for={address}" if name == "Forwarded" else address}


@pytest.mark.parametrize("name", FORWARDING_HEADERS)
async def test_forwarding_headers_are_ignored_without_a_trusted_proxy(empty_data: Path, name: str) -> None:
    numbers = iter(range(MAX_REQUESTS))
    async with serving(empty_data, rate_per_minute=1) as client:
        _, rejection = await send_until_rejected(
            lambda: client.get(CHEAP_PATH, headers=forwarding_header(next(numbers), name))
        )
    assert error_of(rejection) == (429, "RATE_LIMITED")


async def test_trusted_proxy_names_the_client(empty_data: Path) -> None:
    async with serving(empty_data, rate_per_minute=1, trusted_proxies="10.0.0.0/8, 127.0.0.1") as client:
        count = await count_allowed(client, headers={"X-Forwarded-For": "198.51.100.1"})
        assert await count_allowed(client, headers={"X-Forwarded-For": "198.51.100.2"}) == count
        assert await count_allowed(client, headers={"X-Forwarded-For": "198.51.100.2, 10.9.9.9"}) < count


async def test_only_the_address_added_by_the_trusted_proxy_counts(empty_data: Path) -> None:
    """A client may send the header itself; the proxy appends the true address."""
    numbers = iter(range(MAX_REQUESTS))
    async with serving(empty_data, rate_per_minute=1, trusted_proxies="127.0.0.1") as client:

        def send() -> Awaitable[httpx.Response]:
            return client.get(CHEAP_PATH, headers={"X-Forwarded-For": f"198.51.100.{next(numbers)}, 203.0.113.9"})

        _, rejection = await send_until_rejected(send)
    assert error_of(rejection) == (429, "RATE_LIMITED")


async def test_forwarding_headers_of_untrusted_peers_are_ignored(empty_data: Path) -> None:
    numbers = iter(range(MAX_REQUESTS))
    async with clients_at(empty_data, "203.0.113.9", rate_per_minute=1, trusted_proxies="127.0.0.1") as (client,):
        _, rejection = await send_until_rejected(
            lambda: client.get(CHEAP_PATH, headers=forwarding_header(next(numbers)))
        )
    assert error_of(rejection) == (429, "RATE_LIMITED")


MALFORMED_ADDRESSES = [
    b"",
    b",",
    b"unknown",
    b"_hidden",
    b"198.51.100.1:4711",
    b"[2001:db8::1]:4711",
    b"fe80::1%eth0",
    b"\xff\xfe",
    b"x" * 5000,
    b"1.2.3.4, " * 500,
]


@pytest.mark.parametrize("value", MALFORMED_ADDRESSES, ids=lambda value: value[:20])
async def test_malformed_forwarding_headers_are_harmless(empty_data: Path, value: bytes) -> None:
    async with serving(empty_data, rate_per_minute=1, trusted_proxies="127.0.0.1") as client:
        first = await client.get(CHEAP_PATH, headers=[(b"x-forwarded-for", value)])
        assert first.status_code == 200
        _, rejection = await send_until_rejected(lambda: client.get(CHEAP_PATH, headers=[(b"x-forwarded-for", value)]))
    assert error_of(rejection) == (429, "RATE_LIMITED")


def test_served_process_ignores_forwarding_headers(empty_data: Path) -> None:
    """uvicorn by default trusts every client on this machine."""
    command = [*COMMAND, "serve", "--port", "0", "--data-dir", str(empty_data)]
    env = {**os.environ, "GLOSSATOR_RATE_PER_MINUTE": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        try:
            log = ""
            while "Uvicorn running on" not in log:
                log += process.stderr.readline()
                assert process.poll() is None, log
            address = log.partition("Uvicorn running on ")[2].split()[0]
            with httpx.Client(base_url=address, timeout=60) as client:
                responses = [client.get(CHEAP_PATH, headers=forwarding_header(number)) for number in range(20)]
        finally:
            process.terminate()
            process.stderr.read()
    assert {response.status_code for response in responses} == {200, 429}
