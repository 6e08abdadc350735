"""A model of the server for discrete-event simulation: processes and threads of a machine, and a fleet of workers."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

SLICE = 0.005
"""Seconds after which Python hands its lock on, and the system a core."""
THREADS = 6
"""Of asyncio's pool on the machine of the measurements: four more than it has cores."""
Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Costs:
    """Milliseconds of CPU of one answer, none of them cached."""

    embedding: float
    reading: float
    python: float
    http: float
    client: float
    variation: float
    """Standard deviation of the cost of an answer, as a share of its mean."""
    answered: float = 0.0
    """The share of questions that take a thread a second time, to choose sentences; the others are abstentions."""
    second: float = 0.0
    """Milliseconds of Python in the second turn; `python` is the mean of both turns over all questions."""
    contention: float = 1.0
    """How much more CPU time everything takes while all cores are busy: they share caches and memory."""

    @property
    def total(self) -> float:
        return self.embedding + self.reading + self.python + self.http

    @property
    def first(self) -> float:
        """Milliseconds of Python in the first turn."""
        return self.python - self.answered * self.second


@dataclass(frozen=True)
class Point:
    """Answers per second and the response times of clients."""

    rate: float
    p50: float
    p95: float

    def errors(self, other: Point) -> list[float]:
        mine, theirs = (self.rate, self.p50, self.p95), (other.rate, other.p50, other.p95)
        return [a / b - 1 for a, b in zip(mine, theirs, strict=True)]


class Machine:
    """Cores that processes take turns on."""

    def __init__(self, env: simpy.Environment, cores: int, contention: float) -> None:
        self.env, self.cores = env, simpy.Resource(env, cores)
        self.contention = contention if cores > 1 else 1.0

    def run(self, seconds: float) -> Events:
        while seconds > 0:
            with self.cores.request() as core:
                yield core
                is_full = self.cores.count == self.cores.capacity
                yield self.env.timeout(min(SLICE, seconds) * (self.contention if is_full else 1.0))
            seconds -= SLICE


class Worker:
    """A process: an event loop, threads, and the lock that lets one of them run Python at a time."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.env = machine, machine.env
        self.lock, self.threads = simpy.Resource(self.env, 1), simpy.Resource(self.env, THREADS)

    def python(self, seconds: float) -> Events:
        while seconds > 0:
            with self.lock.request() as lock:
                yield lock
                yield from self.machine.run(min(SLICE, seconds))
            seconds -= SLICE

    def answer(self, costs: Costs, factor: float, *, abstains: bool) -> Events:
        """One request: the event loop reads it, a thread searches, another quotes, the event loop sends the answer."""
        scale = factor / 1000
        yield from self.python(costs.http / 2000)
        with self.threads.request() as thread:
            yield thread
            yield from self.machine.run(costs.embedding * scale)
            yield from self.python(costs.first / 2 * scale)
            yield from self.machine.run(costs.reading * scale)
            yield from self.python(costs.first / 2 * scale)
        if not abstains:
            with self.threads.request() as thread:
                yield thread
                yield from self.python(costs.second * scale)
        yield from self.python(costs.http / 2000)


def one_machine(costs: Costs, workers: int, cores: int, clients: int = 50, seconds: float = 30.0) -> Point:
    """Clients on the same machine, each asking again as soon as it has its answer."""
    env, draw = simpy.Environment(), random.Random(0)
    machine = Machine(env, cores, costs.contention)
    processes = [Worker(machine) for _ in range(workers)]
    times: list[float] = []

    def client(number: int) -> Events:
        while True:
            started = env.now
            yield from machine.run(costs.client / 1000)
            factor, abstains = lognormal(draw, costs.variation), draw.random() >= costs.answered
            yield from processes[number % workers].answer(costs, factor, abstains=abstains)
            if env.now > seconds / 6:
                times.append(env.now - started)

    for number in range(clients):
        env.process(client(number))
    env.run(seconds)
    ordered = sorted(times)
    return Point(len(times) / (seconds * 5 / 6), statistics.median(ordered), ordered[int(0.95 * len(ordered))])


def lognormal(draw: random.Random, variation: float) -> float:
    """A factor with mean 1."""
    spread = math.sqrt(math.log(1 + variation**2))
    return draw.lognormvariate(-(spread**2) / 2, spread)


@dataclass(frozen=True)
class Services:
    """What all workers share. Milliseconds of CPU; measured as docs/scaling.md says."""

    record: float = 1.1
    """Of Postgres, to store the receipt of an answer."""
    limit: float = 0.05
    """Of Redis, to count a request; one core."""
    nearest: float = 3.2
    """Of a machine of the index, to find the nearest of 8,000 vectors in a graph ..."""
    nearest_per_doubling: float = 0.1
    """... and for twice as many (assumed: between 8,000 and 32,000 nothing was added)."""
    words: float = 0.46
    """Of the index, to score 100,000 chunks by keywords; grows with their number."""
    fetch: float = 0.5
    """Of the index, to read what was found (assumed)."""
    network: float = 0.5
    """Milliseconds of waiting for each request to another machine (assumed)."""
    record_cores: int = 8
    index_cores: int = 8
    """Of each machine of the index."""
    chunks_per_node: float = 12.5e6
    """By memory: 2.7 KB of each chunk in 34 of 64 GB."""


@dataclass
class Pool:
    """Cores that do one thing; `busy` adds up what they did since `since`."""

    env: simpy.Environment
    cores: int
    since: float
    busy: float = 0.0
    resource: simpy.Resource = field(init=False)

    def __post_init__(self) -> None:
        self.resource = simpy.Resource(self.env, self.cores)

    def serve(self, seconds: float) -> Events:
        with self.resource.request() as core:
            yield core
            started = self.env.now
            yield self.env.timeout(seconds)
        self.busy += max(0.0, self.env.now - max(started, self.since))


@dataclass(frozen=True)
class Prediction:
    """What a deployment can do, and what stops it from doing more."""

    workers: int
    chunks: float
    nodes: int
    rate: float
    p95: float
    bottleneck: str
    utilization: dict[str, float]


def nodes_for(chunks: float, services: Services) -> int:
    """Machines of the index, by its memory."""
    return max(1, math.ceil(chunks / services.chunks_per_node))


def search_ms(chunks: float, services: Services) -> tuple[float, float]:
    """CPU of a search on each node of the index, and of reading what it found."""
    here = chunks / nodes_for(chunks, services)
    graph = services.nearest + services.nearest_per_doubling * max(0.0, math.log2(here / 8_000))
    return graph + services.words * here / 100_000, services.fetch


def fleet(costs: Costs, services: Services, workers: int, chunks: float, copies: int = 1) -> Prediction:
    """Workers with a core each, a shared index, one database of records and one Redis, asked as much as they can."""
    env, draw = simpy.Environment(), random.Random(0)
    nodes = nodes_for(chunks, services)
    search, fetch = (each / 1000 for each in search_ms(chunks, services))
    own, clients = costs.total / 1000, 4 * workers  # enough that every core has something to do
    slowest = min(workers / own, services.index_cores * copies / search, 1000 * services.record_cores / services.record)
    warm = 1.0 + 2 * clients / slowest
    end = warm + max(3.0, 3 * clients / slowest)
    index = [Pool(env, services.index_cores * copies, warm) for _ in range(nodes)]
    records, limits = Pool(env, services.record_cores, warm), Pool(env, 1, warm)
    cores = [Pool(env, 1, warm) for _ in range(workers)]
    times: list[float] = []

    def node(pool: Pool) -> Events:
        yield from pool.serve(search)

    def client(number: int) -> Events:
        core = cores[number % workers]
        yield env.timeout(draw.uniform(0, 1))
        while True:
            started, factor = env.now, lognormal(draw, costs.variation)
            yield env.timeout(4 * services.network / 1000)
            yield from limits.serve(services.limit / 1000)
            yield from core.serve(own * factor / 2)
            yield env.all_of([env.process(node(each)) for each in index])
            yield from index[number % nodes].serve(fetch)
            yield from core.serve(own * factor / 2)
            yield from records.serve(services.record / 1000)
            if env.now > warm:
                times.append(env.now - started)

    for number in range(clients):
        env.process(client(number))
    env.run(end)
    used = {
        name: statistics.mean(pool.busy / (end - warm) / pool.cores for pool in pools)
        for name, pools in (("workers", cores), ("index", index), ("records", [records]), ("limits", [limits]))
    }
    ordered = sorted(times) or [math.inf]
    rate = len(times) / (end - warm)
    return Prediction(
        workers, chunks, nodes * copies, rate, ordered[int(0.95 * len(ordered))], max(used, key=lambda k: used[k]), used
    )
