"""A discrete-event simulation of the server: reproduces the measured load, and predicts what more workers would do.

`workers` measures the constants and the load (`bench/load.json`); the other constants are below, with where they come
from. Writes the tables of docs/scaling.md, and draws its pictures if matplotlib is installed (bench/requirements.txt).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import simpy

from lib.plots import picture
from lib.server_model import Costs, Events, Machine, Worker, costs_of, lognormal

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "load.json"
DOCS = HERE.parent / "docs"
MAX_ERROR = 0.15


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
"""Before the reader model, one worker on two cores (docs/operations.md, "Performance"): another point to reproduce.

Measured were 17.5 ms of CPU, 10 of them in the model, the rate and the p95. The p50 is clients / rate; how the other
7.5 ms are divided is assumed.
"""


def one_machine(costs: Costs, workers: int, cores: int, clients: int = 50, seconds: float = 100.0) -> Point:
    """Clients on the same machine, each asking again as soon as it has its answer."""
    env, draw = simpy.Environment(), random.Random(0)
    machine = Machine(env, cores, costs.contention)
    processes = [Worker(machine, costs) for _ in range(workers)]
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


@dataclass(frozen=True)
class Comparison:
    """A measured load, and what the simulation makes of it."""

    name: str
    simulated: Point
    measured: Point

    @property
    def reproduced(self) -> bool:
        return max(map(abs, self.simulated.errors(self.measured))) <= MAX_ERROR

    def row(self) -> str:
        errors = self.simulated.errors(self.measured)
        values = zip(vars(self.measured).values(), vars(self.simulated).values(), errors, strict=True)
        cells = [f"{measured:.3g}, {simulated:.3g} ({error:+.0%})" for measured, simulated, error in values]
        return f"| {self.name} | {' | '.join(cells)} | {'yes' if self.reproduced else '**no**'} |"


def comparisons(measured: dict[str, Any] | None) -> Iterator[Comparison]:
    costs, point = YESTERDAY
    yield Comparison("one worker, two cores, before the reader model", one_machine(costs, 1, 2), point)
    for each in measured["points"] if measured and measured["idle"] else ():
        found = Point(each["answers_per_second"], each["p50_seconds"], each["p95_seconds"])
        simulated = one_machine(costs_of(measured), each["workers"], each["cores"], each["clients"])
        yield Comparison(f"workers: {each['workers']}, cores: {each['cores']}", simulated, found)


def comparison_table(found: list[Comparison]) -> str:
    head = "| measured, simulated | answers/s | p50, s | p95, s | within 15 % |\n|---|---|---|---|---|\n"
    return head + "\n".join(each.row() for each in found)


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


def draw(found: list[Prediction], costs: Costs, services: Services) -> None:
    with picture(DOCS / "pictures" / "scaling-workers.png", "workers (a core each)", "answers per second") as axes:
        for colour, chunks in enumerate((1e4, 1e6, 1e8)):
            here = [each for each in found if each.chunks == chunks]
            for most, style, name in ((1, "--", "one copy"), (8, "-", "up to eight copies")):
                rates = {each.workers: each.rate for each in here if each.nodes <= most * nodes_for(chunks, services)}
                label = f"{chunks:,.0f} chunks, {name} of the index"
                axes.plot(list(rates), list(rates.values()), style, color=f"C{colour}", marker="o", label=label)
        axes.plot([10, 1000], [10 * 1000 / costs.total, 1e6 / costs.total], ":", color="grey", label="workers alone")
    sizes = [10**exponent for exponent in (4, 5, 6, 7, 8)]
    with picture(DOCS / "pictures" / "scaling-chunks.png", "chunks", "CPU of the index for a search, ms") as axes:
        total = [nodes_for(size, services) * sum(search_ms(size, services)) for size in sizes]
        words = [services.words * size / 100_000 for size in sizes]
        axes.plot(sizes, total, marker="o", label="all")
        axes.plot(sizes, words, "--", marker="o", label="of which keywords")
        axes.axhline(costs.total, color="grey", linestyle=":", label="CPU of a worker for an answer")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured", type=Path, default=MEASURED)
    parser.add_argument("--check", action="store_true", help="only compare with what was measured")
    options = parser.parse_args()
    measured = json.loads(options.measured.read_text("utf-8")) if options.measured.exists() else None
    compared = list(comparisons(measured))
    print(comparison_table(compared))
    if measured is None:
        print(f"{options.measured.name} is missing: `make bench ONLY=workers` writes it on an idle machine.")
    elif not measured["idle"]:
        print(f"{options.measured.name} comes from a busy machine: its CPU times are used, its rates are not compared.")
    if measured and not options.check:
        write("reproduced", comparison_table(compared))
        predict(costs_of(measured), Services())
    sys.exit(not all(each.reproduced for each in compared))


def write(name: str, text: str) -> None:
    """Put a table into its place in the docs."""
    page = DOCS / "scaling.md"
    before, start, rest = page.read_text("utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    page.write_text(f"{before}{start}{text}\n{end}{after}", "utf-8")


def predict(costs: Costs, services: Services) -> None:
    found = predictions(costs, services)
    print(table(found))
    write("predicted", table(found))
    cost = "; ".join(f"{name} {value:.3g}" for name, value in vars(costs).items())
    write("costs", f"Milliseconds of CPU in this run: {cost}; together {costs.total:.3g}.")
    try:
        draw(found, costs, services)
    except ImportError:
        print("matplotlib is not installed, so nothing is drawn: pip install -r bench/requirements.txt")


if __name__ == "__main__":
    main()
