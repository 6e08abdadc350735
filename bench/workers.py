"""One worker on one core, one on two, and two on two: answers per second, CPU and memory of each.

Writes `bench/load.json`, which `simulate` must reproduce. The rates need an idle machine; CPU times do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import onnxruntime

from glossator.core.inference.load import Load as QuestionLoad
from glossator.core.settings import load_settings
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from lib.common import CACHE, ROOT, indexed
from serve import CLIENTS, Load, load, random_questions, server

OUTPUT = ROOT / "bench" / "load.json"
SECONDS = 30.0
IN_PROCESS = 150
MIN_RATIO = 1.6
MAX_LOAD = 0.5
"""Of an idle machine; on a busy one, only CPU times and memory mean something."""
SETUPS = ((1, 1), (1, 2), (2, 2))
"""Workers and cores."""
SWITCH_INTERVALS = (0.005, 0.025)
"""Seconds after which Python takes the GIL from a thread that others wait for: the default, and a longer one."""
GIL_QUESTIONS, BURSTS, HANDOVERS = 40, 41, 500


def cpu_seconds(pid: int) -> float:
    """CPU time that a process and its children have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(child) for child in children(pid))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def memory(pid: int) -> tuple[float, float]:
    """Resident megabytes of the largest worker, and those of which its share of shared pages is counted."""
    found = []
    for process in (pid, *children(pid)):
        rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        sizes = {row.split(":")[0]: int(row.split()[1]) / 1024 for row in rows[1:]}
        found.append((sizes["Rss"], sizes["Pss"]))
    return max(found)


class Timed:
    """Passes calls on, and adds up the CPU time of some of them, in all threads."""

    def __init__(self, wrapped: Any, names: tuple[str, ...]) -> None:
        self._wrapped, self._names, self.seconds = wrapped, names, 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        if name not in self._names:
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            started = time.process_time()
            try:
                return found(*arguments, **options)
            finally:
                self.seconds += time.process_time() - started

        return call


def stages(book: Book, asked: list[str], load_limit: int | None) -> dict[str, float]:
    """CPU milliseconds of an answer in one process: in models, which run beside Python, and in everything else.

    With a limit of -1, every question counts as load, as with 50 clients. An answer takes a thread twice, to search and
    to choose sentences; an abstention once.
    """
    engine = book.engine
    engine.load = QuestionLoad(load_limit)
    embedder = Timed(engine.embedder, ("embed_query",))
    reader = Timed(engine.reader, ("read", "judge"))
    book.ask(asked[0])
    engine.embedder, engine.reader = embedder, reader  # type: ignore[assignment]
    times, python, answered = [], [], []
    for question in asked[1 : IN_PROCESS + 1]:
        in_models, started = embedder.seconds + reader.seconds, time.process_time()
        answered.append(not book.ask(question).abstained)
        times.append(1000 * (time.process_time() - started))
        python.append(times[-1] - 1000 * (embedder.seconds + reader.seconds - in_models))
    models = 1000 * (embedder.seconds + reader.seconds) / len(times)
    mean = statistics.mean(times)
    abstaining = [each for each, is_answer in zip(python, answered, strict=True) if not is_answer]
    return {
        "answer_ms": round(mean, 2),
        "embedding_ms": round(1000 * embedder.seconds / len(times), 2),
        "reading_ms": round(1000 * reader.seconds / len(times), 2),
        "python_ms": round(mean - models, 2),
        "python_of_abstention_ms": round(statistics.mean(abstaining), 2),
        "answered": round(statistics.mean(answered), 3),
        "variation": round(statistics.stdev(times) / mean, 3),
    }


def stages_on(core: int, data: Path, asked: list[str], load_limit: int | None) -> dict[str, float]:
    """The same on one core, in a process of its own: with more, the threads of a model wait for each other."""
    os.sched_setaffinity(0, {core})
    with Book(wire(load_settings(data_dir=data, cache_answers=0))) as book:
        return stages(book, asked, load_limit)


def measure_stages(data: Path, asked: list[str]) -> dict[str, dict[str, float]]:
    """Alone, as under load, and as under load on all cores at once, which share caches and memory."""
    cores = sorted(os.sched_getaffinity(0))
    with ProcessPoolExecutor(len(cores), mp_context=get_context("spawn")) as processes:
        alone, under_load = (processes.submit(stages_on, cores[0], data, asked, limit).result() for limit in (None, -1))
        running = [processes.submit(stages_on, core, data, asked, -1) for core in cores]
        found = [each.result() for each in running]
    together = {name: round(statistics.mean(each[name] for each in found), 2) for name in found[0]}
    return {"alone": alone, "under_load": under_load, "on_all_cores": together}


class Inference:
    """Adds up the CPU time inside of ONNX Runtime, where a thread does not hold the GIL."""

    def __init__(self) -> None:
        self.seconds = 0.0
        run = onnxruntime.InferenceSession.run

        def timed(session: onnxruntime.InferenceSession, *given: Any, **named: Any) -> Any:
            started = time.process_time()
            try:
                return run(session, *given, **named)
            finally:
                self.seconds += time.process_time() - started

        onnxruntime.InferenceSession.run = timed


def share_of_python(data: Path, asked: list[str]) -> float:
    """The share of the time in models that holds the GIL: tokenizers, inputs and outputs."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    inference = Inference()
    with Book(wire(load_settings(data_dir=data, cache_answers=0))) as book:
        book.ask(asked[0])
        inference.seconds = 0.0
        found = stages(book, asked, -1)
    return 1 - 1000 * inference.seconds / (IN_PROCESS + 1) / (found["embedding_ms"] + found["reading_ms"])


def gil_turns(data: Path, asked: list[str]) -> float:
    """How often an answer loses the GIL to a thread that always wants it: each time, for one switch interval."""
    seconds = []
    with Book(wire(load_settings(data_dir=data, cache_answers=0))) as book:
        book.engine.load = QuestionLoad(-1)
        for question in asked[:GIL_QUESTIONS]:
            book.ask(question)
        for interval in SWITCH_INTERVALS:
            sys.setswitchinterval(interval)
            done = threading.Event()
            spinning = threading.Thread(target=_spin, args=(done,))
            spinning.start()
            started = time.perf_counter()
            for question in asked[:GIL_QUESTIONS]:
                book.ask(question)
            seconds.append((time.perf_counter() - started) / GIL_QUESTIONS)
            done.set()
            spinning.join()
    return (seconds[1] - seconds[0]) / (SWITCH_INTERVALS[1] - SWITCH_INTERVALS[0])


def _spin(done: threading.Event) -> None:
    while not done.is_set():
        pass


def wakeup_us() -> float:
    """Microseconds of waiting, without the CPU time, until another thread runs Python: the median of some bursts."""
    here, there = threading.Lock(), threading.Lock()
    here.acquire()
    there.acquire()

    def answer() -> None:
        for _ in range(BURSTS * HANDOVERS):
            there.acquire()
            here.release()

    threading.Thread(target=answer).start()
    waits = []
    for _ in range(BURSTS):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(HANDOVERS):
            there.release()
            here.acquire()
        waits.append(time.perf_counter() - wall - (time.process_time() - cpu))
    return 1e6 * statistics.median(waits) / HANDOVERS / 2


def measure_gil(data: Path, asked: list[str]) -> dict[str, float]:
    """What threads of one process cost each other, each measured in a process of its own."""
    measured = {}
    for name, function, given in (
        ("share_of_models", share_of_python, (data, asked)),
        ("turns", gil_turns, (data, asked)),
        ("wakeup_us", wakeup_us, ()),
    ):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            measured[name] = round(process.submit(function, *given).result(), 3)
    return measured


def point(data: Path, port: int, asked: list[str], workers: int, cores: int, seconds: float) -> dict[str, Any]:
    """What 50 clients see of one set-up, and what it costs."""
    available = sorted(os.sched_getaffinity(0))[:cores]
    pinned = ",".join(map(str, available))
    with server(data, port, workers=workers, cores=pinned, cache_answers="0") as (pid, _):
        load(port, asked, CLIENTS, min(5.0, seconds))
        before = cpu_seconds(pid)
        found: Load = load(port, asked[1000:], CLIENTS, seconds)
        cpu = 1000 * (cpu_seconds(pid) - before) / len(found.times)
        resident, share = memory(pid)
    return {
        "workers": workers,
        "cores": len(available),
        "clients": CLIENTS,
        "answers_per_second": round(found.rate, 1),
        "p50_seconds": round(found.p50, 3),
        "p95_seconds": round(found.p95, 3),
        "errors": found.errors,
        "cpu_ms": round(cpu, 2),
        "client_ms": round(1000 * found.cpu_seconds / len(found.times), 2),
        "resident_mb": round(resident),
        "proportional_mb": round(share),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=18_090)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    idle = os.getloadavg()[0] < MAX_LOAD
    indexed("sample", ROOT / "book").close()
    data = CACHE / "index" / "sample"
    asked = random_questions(60_000)
    constants = measure_stages(data, asked)
    for name, found in constants.items():
        print(f"CPU of an answer in one process on one core, {name}: {found}")
    gil = measure_gil(data, asked)
    print(f"the GIL: {gil}")
    points = []
    for workers, cores in SETUPS:
        points.append(point(data, options.port, asked, workers, cores, options.seconds))
        print(points[-1])
    rates = [each["answers_per_second"] for each in points]
    ratio = rates[2] / rates[0]
    print(
        f"two workers on two cores give {ratio:.2f} of one on one core (limit {MIN_RATIO}),"
        f" and {rates[2] / rates[1]:.2f} of one that uses both"
    )
    machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    written = {"machine": machine, "idle": idle, "stages": constants, "gil": gil, "points": points}
    options.output.write_text(json.dumps(written, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
