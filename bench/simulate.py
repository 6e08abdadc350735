"""A discrete-event simulation of the server: reproduces the measured load, and predicts what more workers would do.

`workers` measures the constants and the load (`bench/load.json`); the other constants are here and in
`lib/simulation.py`, with where they come from. Writes the tables of docs/scaling.md, and draws its pictures if
matplotlib is installed (bench/requirements.txt).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.plots import picture
from lib.simulation import Costs, Point, Prediction, Services, fleet, nodes_for, one_machine, search_ms

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "load.json"
DOCS = HERE.parent / "docs"
MAX_ERROR = 0.15
MIN_HTTP = 0.5
"""Milliseconds of CPU for a request."""


BEFORE_THE_READER = Costs(10.0, 0.0, 5.5, 2.0, 0.6, 0.3), Point(109.0, 50 / 109, 0.60)
"""Before the reader model, one worker on two cores (docs/operations.md, "Performance"): another point to reproduce.

Measured were 17.5 ms of CPU, 10 of them in the model, the rate and the p95. The p50 is clients / rate; how the other
7.5 ms are divided is assumed.
"""


def costs_of(measured: dict[str, Any]) -> Costs:
    """The costs of an answer under load; what the server uses beyond one in one process is HTTP, logs and records."""
    stages, alone = measured["stages"]["under_load"], measured["points"][0]
    http = max(MIN_HTTP, alone["cpu_ms"] - stages["answer_ms"])
    share = (alone["cpu_ms"] - http) / stages["answer_ms"]  # a server at work uses a little less for each answer
    second = (stages["python_ms"] - stages["python_of_abstention_ms"]) / stages["answered"]
    return Costs(
        embedding=share * stages["embedding_ms"],
        reading=share * stages["reading_ms"],
        python=share * stages["python_ms"],
        http=http,
        client=alone["client_ms"],
        variation=stages["variation"],
        answered=stages["answered"],
        second=share * second,
        contention=measured["stages"]["on_all_cores"]["answer_ms"] / stages["answer_ms"],
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
    costs, point = BEFORE_THE_READER
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
