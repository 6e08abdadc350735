"""The server under load, compared with the rate of its embedding model in the same run.

50 clients ask, each again as soon as it has its answer; the answer cache is off except where it is measured. The load
comes from a process of its own on the same two cores. `--soak MINUTES` keeps half of the peak rate for that time and
plots memory and open files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib.common import CACHE, ROOT, SETS, indexed, questions

CLIENTS = 50
SECONDS = 20.0
MANY = 10_000
PICTURE = ROOT / "docs" / "pictures" / "soak.svg"


@dataclass(frozen=True)
class Load:
    """The results of the clients."""

    seconds: float
    times: list[float]
    errors: int
    cpu_seconds: float
    """Of the clients."""

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.times, n=20)[-1]


def body(question: str) -> bytes:
    """A request of the ask door."""
    content = json.dumps({"question": question}).encode()
    head = (
        f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    )
    return head.encode() + b"\r\n" + content


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    """Ask once; whether it was answered."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    content = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and b'"answer"' in content


async def clients(port: int, asked: list[str], count: int, seconds: float, limit: int, interval: float = 0.0) -> Load:
    """`count` clients, each asking again when it has its answer; `interval` limits their rate."""
    times: list[float] = []
    errors = 0
    turn = iter(range(limit))
    started, cpu = time.perf_counter(), time.process_time()

    async def client() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() - started < seconds and (number := next(turn, None)) is not None:
            began = time.perf_counter()
            errors += not await one(reader, writer, body(asked[number % len(asked)]))
            times.append(time.perf_counter() - began)
            if interval:
                await asyncio.sleep(max(0.0, interval - (time.perf_counter() - began)))
        writer.close()

    await asyncio.gather(*(client() for _ in range(count)))
    return Load(time.perf_counter() - started, times, errors, time.process_time() - cpu)


def load(port: int, asked: list[str], count: int, seconds: float, limit: int = 10**9, interval: float = 0.0) -> Load:
    """Run the load in another process."""
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(_run, port, asked, count, seconds, limit, interval).result()


def _run(port: int, asked: list[str], count: int, seconds: float, limit: int, interval: float) -> Load:
    import uvloop

    return uvloop.run(clients(port, asked, count, seconds, limit, interval))


@contextmanager
def server(data: Path, port: int, *, workers: int = 1, cores: str = "", **settings: str) -> Iterator[tuple[int, float]]:
    """A server process: its pid, and the seconds until it was ready; `cores` are those that it may use ("0,1")."""
    environment = os.environ | {f"GLOSSATOR_{name.upper()}": value for name, value in settings.items()}
    command = ["taskset", "-c", cores] if cores else []
    command += [str(Path(sys.executable).with_name("glossator")), "serve", "--port", str(port)]
    command += ["--workers", str(workers), "--data-dir", str(data), "--json"]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stderr=log)
        try:
            while not _ready(port):
                if process.poll() is not None:
                    log.seek(0)
                    raise SystemExit(log.read().decode())
                time.sleep(0.01)
            yield process.pid, time.perf_counter() - started
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _ready(port: int) -> bool:
    import http.client

    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def memory(pid: int) -> float:
    """Resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def random_questions(count: int) -> list[str]:
    """Questions of the book's set in random order, some of them out of scope."""
    return random.Random(0).choices([row["question"] for row in questions(SETS / "book.jsonl")], k=count)


def raw_rates(data: Path, asked: list[str], seconds: float = 8.0) -> tuple[float, float]:
    """Questions per second of the bare embedding model in one process: sequentially, and the best of one, two and four
    threads."""
    code = (
        "import sys, time, json\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from glossator.core.settings import load_settings\n"
        "from glossator.pipeline.wiring import make_embedder\n"
        "asked = json.load(sys.stdin); embed = make_embedder(load_settings()).embed_query; embed(asked[0])\n"
        "rates = []\n"
        "for threads in (1, 2, 4):\n"
        "    with ThreadPoolExecutor(threads) as pool:\n"
        "        end, count, started = time.perf_counter() + float(sys.argv[1]), 0, time.perf_counter()\n"
        "        while time.perf_counter() < end:\n"
        "            count += len(list(pool.map(embed, asked[count:count + 64])))\n"
        "        rates.append(count / (time.perf_counter() - started))\n"
        "print(rates[0], max(rates))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(seconds)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        cwd=data,
    )
    alone, together = map(float, done.stdout.split())
    return alone, together


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--soak", type=float, default=0.0, help="minutes")
    parser.add_argument("--port", type=int, default=18_080)
    options = parser.parse_args()
    indexed("sample", ROOT / "book").close()
    data = CACHE / "index" / "sample"
    asked = random_questions(60_000)
    alone, together = raw_rates(data, asked)
    print(f"the bare model embeds {alone:.0f} questions per second sequentially, {together:.0f} concurrently")
    with server(data, options.port, cache_answers="0") as (pid, ready):
        print(f"ready {ready:.2f} s after the start (limit 2 s)")
        load(options.port, asked, CLIENTS, 3.0)
        found = load(options.port, asked[1000:], CLIENTS, SECONDS)
        limit = 1.5 * CLIENTS / found.rate
        print(
            f"{CLIENTS} clients, cache off: {found.rate:.1f} answers per second,"
            f" {found.rate / alone:.2f} of the bare model's sequential rate (limit 0.60),"
            f" {found.rate / together:.2f} of its best;"
            f" p95 {found.p95:.2f} s (limit {limit:.2f} s); errors {found.errors}"
        )
        with server(data, options.port + 1, cache_answers="0", reader="off"):
            load(options.port + 1, asked, CLIENTS, 3.0)
            off = load(options.port + 1, asked[1000:], CLIENTS, SECONDS)
        print(f"without the reader {off.rate:.1f} per second: with it {found.rate / off.rate:.2f} of that (limit 0.60)")
        if options.soak:
            soak(options.port, pid, asked, found.rate / 2, options.soak)
            return
    with server(data, options.port) as (pid, _):
        few = asked[:100]
        load(options.port, few, CLIENTS, 5.0)
        found = load(options.port, few, CLIENTS, SECONDS)
        rate = f"{found.rate:.0f} answers per second"
        print(f"{CLIENTS} clients, from the cache: {rate} (limit 1000); errors {found.errors}")
    with server(data, options.port, cache_answers="0") as (pid, _):
        load(options.port, asked, CLIENTS, 600.0, 2000)
        first = memory(pid)
        load(options.port, asked[2000:], CLIENTS, 600.0, MANY - 2000)
        print(f"memory after 2,000 requests {first:.0f} MB, after {MANY:,} {memory(pid):.0f} MB (limit 450)")


def soak(port: int, pid: int, asked: list[str], rate: float, minutes: float) -> None:
    """Half of the peak rate for a while: measures memory and open files every five seconds."""
    few = max(2, CLIENTS // 5)
    samples: list[tuple[float, float, int]] = []
    started = time.perf_counter()
    with ProcessPoolExecutor(1) as pool:
        running = pool.submit(_run, port, asked, few, 60 * minutes, 10**9, few / rate)
        while not running.done():
            samples.append((time.perf_counter() - started, memory(pid), files(pid)))
            time.sleep(5)
        found = running.result()
    half = samples[len(samples) // 2 :]
    grown = half[-1][1] - half[0][1]
    print(
        f"{minutes:g} minutes at {found.rate:.0f} answers per second ({len(found.times):,}, {found.errors} errors),"
        f" memory {min(m for _, m, _ in samples):.0f} to {max(m for _, m, _ in samples):.0f} MB,"
        f" {grown:+.1f} MB in the second half;"
        f" open files {min(f for *_, f in samples)} to {max(f for *_, f in samples)}"
    )
    PICTURE.write_text(picture(samples), "utf-8")
    print(f"plot written to {PICTURE.relative_to(ROOT)}")


def picture(samples: list[tuple[float, float, int]]) -> str:
    """Memory and open files over time, as SVG."""
    end = samples[-1][0]
    rows = [
        ("memory, MB", [m for _, m, _ in samples], 500.0, "#1f6feb", 20),
        ("open files", [float(f) for *_, f in samples], 50.0, "#8250df", 170),
    ]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 320" font-family="sans-serif" font-size="12">',
        '<rect width="720" height="320" fill="#fff"/>',
    ]
    for name, values, top, colour, y in rows:
        points = " ".join(
            f"{60 + 640 * at / end:.1f},{y + 120 - 120 * min(value / top, 1.0):.1f}"
            for (at, *_), value in zip(samples, values, strict=True)
        )
        parts += [
            f'<line x1="60" y1="{y + 120}" x2="700" y2="{y + 120}" stroke="#999"/>',
            f'<text x="52" y="{y + 10}" text-anchor="end">{top:.0f}</text>',
            f'<text x="52" y="{y + 120}" text-anchor="end">0</text>',
            f'<text x="64" y="{y + 10}" fill="{colour}">{name}</text>',
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>',
        ]
    parts.append(f'<text x="700" y="308" text-anchor="end">{end / 60:.0f} minutes</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
