"""The cost of storing conversations: CPU per turn, many conversations at once, and a table of 100,000 exchanges.

A turn here is the database's part of one: begin it, read the last five exchanges, store the new one with its receipt.
In between, a model would write; up to `WRITING_SECONDS` simulate that where it is said.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support" / "servers"))

from glossator.core.answers import Answer, Citation, Mode, Sentence, Status, Verdict  # noqa: E402
from glossator.core.conversations import session_key  # noqa: E402
from glossator.core.question import Question  # noqa: E402
from glossator.core.receipts import Receipt  # noqa: E402
from glossator.pipeline.receipts import make_receipt  # noqa: E402
from glossator.store.records.database import Database, database_url  # noqa: E402
from glossator.store.records.record_store import RecordStore  # noqa: E402
from glossator.store.records.schema import conversations  # noqa: E402
from postgres import running_postgres  # noqa: E402

WRITING_SECONDS = 1.5
SESSIONS, TURNS = 50, 20
ROWS = 100_000
TEXT = "The zero-moment point is the point on the ground about which the moment of gravity and inertia vanishes. "


def receipt_for(question: str) -> Receipt:
    """An answer of usual size: four sentences, each with a citation and a verdict."""
    verdict = Verdict(Status.SUPPORTED, True, 0.97, None)
    sentences = tuple(Sentence(TEXT, (number,), verdict) for number in range(1, 5))
    citations = tuple(
        Citation(
            number, "http://127.0.0.1:8000/book/balance#zmp", "Balance", "ZMP", TEXT, 100, 200, 0.9, "c", "b.md", 3
        )
        for number in range(1, 5)
    )
    answer = Answer(TEXT * 4, sentences, citations, False, Mode.FULL, 0.9, "")
    created = "2026-01-02T03:04:05+00:00"
    return make_receipt(
        question, answer, (), created, generation=1, corpus_hash="c", embedder="e", answerer="extractive", verifier="v"
    )


async def turn(records: RecordStore, session: str, receipt: Receipt, writing: float = 0.0) -> float:
    """Seconds that the database took for one turn."""
    request, key = Question(receipt.question), session_key(session)
    started = time.perf_counter()
    begun = await records.begin_turn(key, request)
    elapsed = time.perf_counter() - started
    await asyncio.sleep(writing * random.uniform(1 / 3, 1))
    started = time.perf_counter()
    await records.finish_turn(begun, request, receipt)
    return elapsed + time.perf_counter() - started


async def cpu(records: RecordStore, limit: float, name: str) -> None:
    receipts = [receipt_for(f"What is {number}?") for number in range(300)]
    for receipt in receipts[:20]:
        await turn(records, "cpu", receipt)
    started = time.process_time()
    for receipt in receipts[20:]:
        await turn(records, "cpu", receipt)
    spent = 1000 * (time.process_time() - started) / len(receipts[20:])
    print(f"{name}: {spent:.2f} ms CPU per turn (limit {limit:.0f} ms: {'holds' if spent <= limit else 'FAILS'})")


async def many(records: RecordStore, name: str, writing: float, limit: float | None) -> None:
    """The database's time in each turn: one conversation alone, then fifty at once."""

    async def talk(session: str) -> list[float]:
        await asyncio.sleep(writing * random.random())
        return [await turn(records, session, receipt_for(f"{session} {n}"), writing) for n in range(TURNS)]

    alone = p95(await talk(f"alone-{writing > 0}"))
    started = time.perf_counter()
    all_at_once = await asyncio.gather(*(talk(f"{writing > 0}-{n}") for n in range(SESSIONS)))
    together = p95([time for times in all_at_once for time in times])
    rate = SESSIONS * TURNS / (time.perf_counter() - started)
    verdict = "" if limit is None else f" (limit {limit:.0f}: {'holds' if together <= limit * alone else 'FAILS'})"
    print(
        f"{name}: {SESSIONS} conversations x {TURNS} turns, up to {writing:.1f} s of writing in each:"
        f" no error, {rate:.0f} turns/s;"
        f" p95 of the database's part {1000 * together:.1f} ms, alone {1000 * alone:.1f} ms,"
        f" ratio {together / alone:.1f}{verdict}"
    )


async def history(records: RecordStore, other: RecordStore, name: str) -> None:
    """Reading one conversation, alone in its database and among others; alternating, as machines are noisy."""
    for each in (records, other):
        for number in range(20):
            await turn(each, "mine", receipt_for(f"What is {number}?"))
    await fill(records)
    full, empty = [], []
    for _ in range(500):
        full.append(await reading(records))
        empty.append(await reading(other))
    ratio = statistics.median(full) / statistics.median(empty)
    print(
        f"{name}: history of 20 exchanges {1000 * statistics.median(empty):.2f} ms, with {ROWS:,} more exchanges"
        f" in the table {1000 * statistics.median(full):.2f} ms, ratio {ratio:.2f}"
        f" (limit 1.2: {'holds' if ratio <= 1.2 else 'FAILS'})"
    )


async def reading(records: RecordStore) -> float:
    started = time.perf_counter()
    await records.history(session_key("mine"), 20)
    return time.perf_counter() - started


async def fill(records: RecordStore) -> None:
    """Copies of one exchange in a thousand other conversations."""
    for number in range(1000):
        await turn(records, f"other-{number}", receipt_for("Again?"))
    columns = [c for c in conversations.c if c.name not in ("id", "request_key")]
    others = sa.select(*columns).where(conversations.c.query == "Again?")
    copy = sa.insert(conversations).from_select([c.name for c in columns], others)
    for _ in range(ROWS // 1000 - 1):
        await records.database.write(
            lambda db: db.execute(copy.from_select([c.name for c in columns], others.limit(1000)))
        )


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


async def measure(name: str, urls: tuple[str, str], folder: Path, limit: float) -> None:
    records, other = (RecordStore(Database(database_url(url, folder / str(n)))) for n, url in enumerate(urls))
    await cpu(records, limit, name)
    await many(records, name, WRITING_SECONDS, 4)
    await many(records, name, 0.0, None)
    await history(records, other, name)
    await records.close()
    await other.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure("SQLite", ("", ""), Path(folder), 5))
        with running_postgres() as server:
            os.sync()  # do not wait here for what SQLite has written
            asyncio.run(measure("Postgres", (server.create("filled"), server.create("bare")), Path(folder), 8))


if __name__ == "__main__":
    main()
