"""Every dependency killed, hung, slowed, restarted or sending garbage while clients ask: each answer is checked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clients import answers_with_falsehood, ask_together, count, count_stored, wait_until_complete
from counters import MAX_RECOVERY_SECONDS, Counters
from data_dirs import write_pages
from doors import BASE, PAGES
from embedding_server import running_embedding_server
from glossator.core.settings import load_settings
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from llm_server import running_llm_server
from postgres import Postgres, running_postgres
from qdrant_stand_in import running_stand_in
from redis_server import running_redis
from server_process import ServerProcess, server_process
from tcp_proxy import FAULTS, Fault, TcpProxy, tcp_proxy

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("GLOSSATOR_CLIENTS", "10"))
ROUNDS = int(os.environ.get("GLOSSATOR_ROUNDS", "0"))
"""How often every fault is tried; 0: each dependency has one of them."""
REQUEST_SECONDS = 25.0
SLACK_SECONDS = 10.0
"""The machine is busy with all the servers and clients of the test."""
NECESSARY = ("index",)
"""Without it there is nothing to answer from; without the others there are quotes, keywords, or answers not stored."""
SETTINGS = {
    "verify_models": False,
    "reader": "off",
    "cache_answers": 0,
    "answer_seconds": 4,
    "request_seconds": REQUEST_SECONDS,
    "rate_per_minute": 1_000_000,
    "threads": 1,
}


@dataclass(frozen=True)
class World:
    """A server all of whose dependencies are behind proxies."""

    server: ServerProcess
    proxies: dict[str, TcpProxy]
    records: Postgres

    def stored(self) -> list[tuple[str, str]]:
        """The key and the question of every stored exchange."""
        rows = self.records.sql("SELECT request_key, query FROM conversations", "faults").splitlines()
        return [(key, question) for key, question in (row.split("|") for row in rows)]


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("faults")
    with ExitStack() as stack:
        enter = stack.enter_context
        model, embedder, index = (
            enter(running_llm_server()),
            enter(running_embedding_server()),
            enter(running_stand_in()),
        )
        records, redis = enter(running_postgres()), enter(running_redis())
        model.script(answers_with_falsehood())
        urls = {
            "language model": model.url,
            "embedder": embedder.url,
            "records": records.create("faults"),
            "Redis": redis.url,
            "index": index.url,
        }
        proxies = {name: enter(tcp_proxy(port_of(url))) for name, url in urls.items()}
        behind = {name: url.replace(str(port_of(url)), str(proxies[name].port)) for name, url in urls.items()}
        values = SETTINGS | {
            "llm": f"{behind['language model']}#scripted",
            "embedder": f"{behind['embedder']}/v1#words",
            "database_url": behind["records"],
            "redis_url": behind["Redis"],
            "qdrant_url": behind["index"],
        }
        ingest(folder, values)
        server = enter(server_process(folder / "data", **values))
        asyncio.run(wait_until_complete(server.url))  # what is slow because it is loaded first is no fault
        yield World(server, proxies, records)


def ingest(folder: Path, values: dict[str, object]) -> None:
    write_pages(folder / "book", PAGES)
    with Book(wire(load_settings(data_dir=folder / "data", **values))) as book:
        book.ingest(folder / "book", base_url=BASE)


def cases() -> list[tuple[str, Fault]]:
    names = ("language model", "embedder", "records", "Redis", "index")
    if ROUNDS:
        return [(name, fault) for name in names for fault in FAULTS]
    return list(zip(names, FAULTS, strict=True))


@contextmanager
def fault_of(proxy: TcpProxy, fault: Fault) -> Iterator[None]:
    proxy.set(fault)
    try:
        yield
    finally:
        proxy.set("none")


@pytest.mark.parametrize("name", ["language model", "embedder", "records", "Redis", "index"])
def test_answers_while_a_dependency_fails_are_right_or_refused_in_time(world: World, name: str) -> None:
    counters = Counters(f"{name} {', '.join(fault for each, fault in cases() if each == name)}")
    everything = []

    async def run(fault: Fault) -> None:
        with fault_of(world.proxies[name], fault):
            outcomes = await ask_together(world.server.url, CLIENTS)
        counters.tried += 1
        count(counters, outcomes, REQUEST_SECONDS + SLACK_SECONDS)
        seconds, after = await wait_until_complete(world.server.url)
        counters.recovered_in(seconds)
        count(counters, after, REQUEST_SECONDS + SLACK_SECONDS)
        everything.extend([*outcomes, *after])

    for _ in range(max(ROUNDS, 1)):
        for each, fault in cases():
            if each == name:
                asyncio.run(run(fault))
    count_stored(counters, everything, world.stored())
    counters.report()
    assert name in NECESSARY or not counters.refused
    assert counters.recovery_seconds is not None
    assert counters.recovery_seconds < MAX_RECOVERY_SECONDS + SLACK_SECONDS
