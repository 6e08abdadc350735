"""A model of one server for the simulation: what an answer costs, cores, and processes with a GIL."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

MIN_HTTP = 0.5
"""Milliseconds of CPU for a request."""
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
    turns: float = 1.0
    """How often an answer loses the GIL to a thread that waits for it."""
    wakeup: float = 0.0
    """Milliseconds until a thread that waited for the GIL runs, on a machine with several cores: nobody has it then."""

    @property
    def total(self) -> float:
        return self.embedding + self.reading + self.python + self.http

    @property
    def first(self) -> float:
        """Milliseconds of Python in the first turn."""
        return self.python - self.answered * self.second


def costs_of(measured: dict[str, Any]) -> Costs:
    """The costs of an answer under load; what the server uses beyond one in one process is HTTP, logs and records."""
    stages, alone = measured["stages"]["under_load"], measured["points"][0]
    http = max(MIN_HTTP, alone["cpu_ms"] - stages["answer_ms"])
    share = (alone["cpu_ms"] - http) / stages["answer_ms"]  # a server at work uses a little less for each answer
    second = (stages["python_ms"] - stages["python_of_abstention_ms"]) / stages["answered"]
    gil = measured["gil"]
    inference = share * (1 - gil["share_of_models"])
    around = share * gil["share_of_models"] * (stages["embedding_ms"] + stages["reading_ms"])
    return Costs(
        embedding=inference * stages["embedding_ms"],
        reading=inference * stages["reading_ms"],
        python=share * stages["python_ms"] + around,
        http=http,
        client=alone["client_ms"],
        variation=stages["variation"],
        answered=stages["answered"],
        second=share * second,
        contention=measured["stages"]["on_all_cores"]["answer_ms"] / stages["answer_ms"],
        turns=gil["turns"],
        wakeup=gil["wakeup_us"] / 1000,
    )


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

    def __init__(self, machine: Machine, costs: Costs) -> None:
        self.machine, self.env = machine, machine.env
        self.lock, self.threads = simpy.Resource(self.env, 1), simpy.Resource(self.env, THREADS)
        self.turn = min(SLICE, costs.python / max(1.0, costs.turns) / 1000)
        self.wakeup = costs.wakeup / 1000 if machine.cores.capacity > 1 else 0.0

    def python(self, seconds: float) -> Events:
        while seconds > 0:
            waits = self.lock.count > 0
            with self.lock.request() as lock:
                yield lock
                if waits:
                    yield self.env.timeout(self.wakeup)
                yield from self.machine.run(min(self.turn, seconds))
            seconds -= self.turn

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


def lognormal(draw: random.Random, variation: float) -> float:
    """A factor with mean 1."""
    spread = math.sqrt(math.log(1 + variation**2))
    return draw.lognormvariate(-(spread**2) / 2, spread)
