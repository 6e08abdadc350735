"""A discrete-event simulation of the server: reproduces the measured load, and predicts what more workers would do.

`workers` measures the constants and the load (`bench/load.json`); the other constants are below, with where they come
from. Prints a table for docs/scaling.md, and draws its pictures if matplotlib is installed (bench/requirements.txt).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import simpy

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "load.json"
PICTURES = HERE.parent / "docs" / "pictures"
MAX_ERROR = 0.15
SLICE = 0.005
"""Seconds after which Python hands its lock on, and the system a core."""
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

    @property
    def total(self) -> float:
        return self.embedding + self.reading + self.python + self.http


@dataclass(frozen=True)
class Point:
    """Answers per second and the response times of clients."""

    rate: float
    p50: float
    p95: float

    def errors(self, other: Point) -> list[float]:
        mine, theirs = (self.rate, self.p50, self.p95), (other.rate, other.p50, other.p95)
        return [a / b - 1 for a, b in zip(mine, theirs, strict=True)]


YESTERDAY = Costs(10.0, 0.0, 5.5, 2.0, 0.6, 0.3), Point(109.0, 50 / 109, 0.60)
"""Before the reader model, one worker on two cores (docs/decisions/0012-server.md): another point to reproduce."""


class Machine:
    """Cores that processes take turns on."""

    def __init__(self, env: simpy.Environment, cores: int) -> None:
        self.env, self.cores = env, simpy.Resource(env, cores)

    def run(self, seconds: float) -> Events:
        while seconds > 0:
            with self.cores.request() as core:
                yield core
                yield self.env.timeout(min(SLICE, seconds))
            seconds -= SLICE


class Worker:
    """A process: an event loop, threads, and the lock that lets one of them run Python at a time."""

    def __init__(self, machine: Machine, cores: int) -> None:
        self.machine, self.env = machine, machine.env
        self.lock, self.threads = simpy.Resource(self.env, 1), simpy.Resource(self.env, cores + 4)

    def python(self, seconds: float) -> Events:
        while seconds > 0:
            with self.lock.request() as lock:
                yield lock
                yield from self.machine.run(min(SLICE, seconds))
            seconds -= SLICE

    def answer(self, costs: Costs, factor: float) -> Events:
        """One request: the event loop reads it, a thread answers, the event loop sends the answer."""
        scale = factor / 1000
        yield from self.python(costs.http / 2000)
        with self.threads.request() as thread:
            yield thread
            yield from self.machine.run(costs.embedding * scale)
            yield from self.python(costs.python / 2 * scale)
            yield from self.machine.run(costs.reading * scale)
            yield from self.python(costs.python / 2 * scale)
        yield from self.python(costs.http / 2000)


def one_machine(costs: Costs, workers: int, cores: int, clients: int = 50, seconds: float = 60.0) -> Point:
    """Clients on the same machine, each asking again as soon as it has its answer."""
    env, draw = simpy.Environment(), random.Random(0)
    machine = Machine(env, cores)
    processes = [Worker(machine, cores) for _ in range(workers)]
    times: list[float] = []

    def client(number: int) -> Events:
        while True:
            started = env.now
            yield from machine.run(costs.client / 1000)
            yield from processes[number % workers].answer(costs, lognormal(draw, costs.variation))
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
    limit: float = 0.03
    """Of Redis, to count a request; one core."""
    nearest: float = 1.5
    """Of a shard of the index, to find the nearest of 16,000 vectors in a graph ..."""
    nearest_per_doubling: float = 0.15
    """... and for twice as many."""
    words: float = 0.6
    """Of the index, to score 100,000 chunks by keywords; grows with their number."""
    fetch: float = 0.5
    """Of the index, to read what was found."""
    network: float = 0.5
    """Milliseconds of waiting for each request to another machine."""
    record_cores: int = 8
    index_cores: int = 8
    """Of each machine of the index."""
    chunks_per_node: float = 12.5e6


@dataclass
class Pool:
    """Cores of a shared service; `busy` adds up what they did."""

    env: simpy.Environment
    name: str
    cores: int
    busy: float = 0.0
    resource: simpy.Resource = field(init=False)

    def __post_init__(self) -> None:
        self.resource = simpy.Resource(self.env, self.cores)

    def serve(self, seconds: float) -> Events:
        with self.resource.request() as core:
            yield core
            yield self.env.timeout(seconds)
        self.busy += seconds


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
    graph = services.nearest + services.nearest_per_doubling * max(0.0, math.log2(here / 16_000))
    return graph + services.words * here / 100_000, services.fetch


def fleet(costs: Costs, services: Services, workers: int, chunks: float, copies: int = 1) -> Prediction:
    """Workers with a core each, a shared index, one database of records and one Redis, asked as much as they can."""
    env, draw = simpy.Environment(), random.Random(0)
    nodes = nodes_for(chunks, services)
    index = [Pool(env, "index", services.index_cores * copies) for _ in range(nodes)]
    records = Pool(env, "records", services.record_cores)
    limits = Pool(env, "limits", 1)
    cores = [Pool(env, "workers", 1) for _ in range(workers)]
    search, fetch = (each / 1000 for each in search_ms(chunks, services))
    own = costs.total / 1000
    warm, end = 3.0, 3.0 + max(1.0, min(10.0, 2000 / workers))
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
            if started > warm:
                times.append(env.now - started)

    for number in range(4 * workers):  # enough that every core has something to do
        env.process(client(number))
    env.run(warm)
    before = {id(pool): pool.busy for pool in (*cores, *index, records, limits)}
    env.run(end)
    used = {
        name: max((pool.busy - before[id(pool)]) / (end - warm) / pool.cores for pool in pools)
        for name, pools in (("workers", cores), ("index", index), ("records", [records]), ("limits", [limits]))
    }
    ordered = sorted(times) or [math.inf]
    rate = len(times) / (end - warm)
    return Prediction(
        workers, chunks, nodes * copies, rate, ordered[int(0.95 * len(ordered))], max(used, key=lambda k: used[k]), used
    )


def costs_of(measured: dict[str, Any]) -> Costs:
    """The costs of an answer; what the server uses beyond an answer in one process is HTTP, logs and records."""
    stages, alone = measured["stages"], measured["points"][0]
    return Costs(
        embedding=stages["embedding_ms"],
        reading=stages["reading_ms"],
        python=stages["python_ms"],
        http=max(0.5, alone["cpu_ms"] - stages["answer_ms"]),
        client=alone["client_ms"],
        variation=stages["variation"],
    )


def compare(name: str, simulated: Point, measured: Point) -> bool:
    """Whether the simulation reproduces a measured load."""
    errors = simulated.errors(measured)
    rows = zip(("answers/s", "p50 s", "p95 s"), vars(simulated).values(), vars(measured).values(), errors, strict=True)
    shown = "; ".join(f"{what} {mine:.3g} for {theirs:.3g} ({error:+.0%})" for what, mine, theirs, error in rows)
    good = max(map(abs, errors)) <= MAX_ERROR
    print(f"{name}: {shown}: {'reproduced' if good else 'NOT REPRODUCED'}")
    return good


def comparisons(measured: dict[str, Any] | None) -> Iterator[bool]:
    costs, point = YESTERDAY
    yield compare("one worker on two cores, before the reader model", one_machine(costs, 1, 2), point)
    for each in measured["points"] if measured else ():
        found = Point(each["answers_per_second"], each["p50_seconds"], each["p95_seconds"])
        name = f"{each['workers']} on {each['cores']} cores"
        yield compare(name, one_machine(costs_of(measured), each["workers"], each["cores"], each["clients"]), found)


SCENARIOS = [(workers, chunks) for workers in (10, 100, 1000) for chunks in (1e4, 1e6, 1e8)]


def predictions(costs: Costs, services: Services) -> list[Prediction]:
    """As many copies of each node of the index as it takes to keep the workers busy, up to eight, and one alone."""
    found = []
    for workers, chunks in SCENARIOS:
        for copies in (1, 8):
            found.append(fleet(costs, services, workers, chunks, copies))
            if found[-1].bottleneck != "index":
                break
    return found


def table(found: list[Prediction]) -> str:
    lines = [
        "| workers | chunks | machines of the index | answers/s | p95 | bottleneck | its use | next |",
        "|---|" + "---|" * 7,
    ]
    for each in found:
        order = sorted(each.utilization, key=lambda name: -each.utilization[name])
        first, second = ((name, each.utilization[name]) for name in order[:2])
        lines.append(
            f"| {each.workers:,} | {each.chunks:,.0f} | {each.nodes} | {each.rate:,.0f} | {each.p95:.2f} s"
            f" | {first[0]} | {first[1]:.0%} | {second[0]} {second[1]:.0%} |"
        )
    return "\n".join(lines)


@contextmanager
def picture(name: str, across: str, up: str) -> Iterator[Any]:
    """Axes whose picture is written to the docs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), dpi=110)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    yield axes
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(PICTURES / name)
    print(f"drawn: docs/pictures/{name}")


def draw(found: list[Prediction], costs: Costs, services: Services) -> None:
    with picture("scaling-workers.png", "workers (a core each)", "answers per second") as axes:
        for chunks in (1e4, 1e6, 1e8):
            for copies, style in ((1, "--"), (8, "-")):
                line = [
                    each
                    for each in found
                    if each.chunks == chunks and each.nodes == copies * nodes_for(chunks, services)
                ]
                if len(line) > 1:
                    label = f"{chunks:,.0f} chunks, {line[0].nodes} machines of the index"
                    axes.plot([e.workers for e in line], [e.rate for e in line], style, marker="o", label=label)
        axes.plot([10, 1000], [10 * 1000 / costs.total, 1e6 / costs.total], ":", color="grey", label="workers alone")
        axes.set_xscale("log")
        axes.set_yscale("log")
    sizes = [10**exponent for exponent in (4, 5, 6, 7, 8)]
    with picture("scaling-chunks.png", "chunks", "CPU of the index for a search, ms") as axes:
        total = [nodes_for(size, services) * sum(search_ms(size, services)) for size in sizes]
        words = [services.words * size / 100_000 for size in sizes]
        axes.plot(sizes, total, marker="o", label="all")
        axes.plot(sizes, words, "--", marker="o", label="of which keywords")
        axes.axhline(costs.total, color="grey", linestyle=":", label="CPU of a worker for an answer")
        axes.set_xscale("log")
        axes.set_yscale("log")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured", type=Path, default=MEASURED)
    options = parser.parse_args()
    measured = json.loads(options.measured.read_text("utf-8")) if options.measured.exists() else None
    good = list(comparisons(measured))
    if measured is None:
        print(f"{options.measured.name} is missing: `make bench ONLY=workers` writes it on an idle machine.")
        costs = replace(YESTERDAY[0], reading=0.0)
    else:
        costs = costs_of(measured)
    services = Services()
    found = predictions(costs, services)
    print(table(found))
    try:
        draw(found, costs, services)
    except ImportError:
        print("matplotlib is not installed, so nothing is drawn: pip install -r bench/requirements.txt")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
