"""Failed authentication is limited per address, without locking out anyone who has a key."""

from __future__ import annotations

import shutil
from pathlib import Path

from access import KeyedServer, bearer
from api_requests import CHEAP_PATH, QUESTIONS, clients_at, error_of, retry_after, send_until_rejected
from glossator.serve.auth.keys import KEYS_FILE


async def test_failures_are_limited_per_address(keyed: KeyedServer) -> None:
    async with clients_at(keyed.folder, "192.0.2.1", "192.0.2.2", failed_auth_per_minute=10) as (one, two):
        count, rejection = await send_until_rejected(lambda: one.get(CHEAP_PATH, headers=bearer("gl_wrong")))
        assert count == 10
        assert error_of(rejection) == (429, "RATE_LIMITED")
        assert 0 < retry_after(rejection) <= 60
        assert error_of(await two.get(CHEAP_PATH)) == (401, "UNAUTHORIZED")


async def test_a_valid_key_from_a_limited_address_still_works(keyed: KeyedServer) -> None:
    async with clients_at(keyed.folder, "192.0.2.1", failed_auth_per_minute=5) as (client,):
        await send_until_rejected(lambda: client.get(CHEAP_PATH))
        assert (await client.get(CHEAP_PATH, headers=bearer(keyed.read))).status_code == 200
        assert (await client.get("/livez")).status_code == 200


async def test_failures_are_limited_by_default_also_on_loopback(keyed: KeyedServer) -> None:
    async with clients_at(keyed.folder, "127.0.0.1") as (client,):
        responses = [await client.get(CHEAP_PATH) for _ in range(200)]
    assert {response.status_code for response in responses} == {401, 429}


async def test_zero_disables_the_limit(keyed: KeyedServer) -> None:
    async with clients_at(keyed.folder, "127.0.0.1", failed_auth_per_minute=0) as (client,):
        responses = [await client.get(CHEAP_PATH) for _ in range(200)]
    assert {response.status_code for response in responses} == {401}


async def test_limited_failure_has_the_shape_of_the_door(keyed: KeyedServer) -> None:
    async with clients_at(keyed.folder, "192.0.2.1", failed_auth_per_minute=1) as (client,):
        await send_until_rejected(lambda: client.get(CHEAP_PATH))
        for path, body in QUESTIONS.items():
            assert error_of(await client.post(path, json=body)) == (429, "RATE_LIMITED")


async def test_an_open_server_has_no_failures(keyed: KeyedServer, tmp_path: Path) -> None:
    own = Path(shutil.copytree(keyed.folder, tmp_path / "data", ignore=shutil.ignore_patterns(KEYS_FILE)))
    async with clients_at(own, "192.0.2.1", failed_auth_per_minute=1) as (client,):
        assert {(await client.get(CHEAP_PATH, headers=bearer("x"))).status_code for _ in range(20)} == {200}
