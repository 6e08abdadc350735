"""Many concurrent writers in one process, as in a server; prints every exchange that was acknowledged.

Usage: python writers.py DATABASE_URL DATA_DIR WRITERS TURNS
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from glossator.core.answers import Answer, Citation, Mode, Sentence
from glossator.core.conversations import session_key
from glossator.core.errors import RecordsError
from glossator.core.question import Question
from glossator.core.receipts import Receipt
from glossator.pipeline.receipts import make_receipt
from glossator.store.records.database import Database, database_url
from glossator.store.records.record_store import RecordStore


def receipt_of(question: str, text: str = "The knee bends by 140 degrees. [1]") -> Receipt:
    """The receipt of an answer with one citation."""
    citation = Citation(1, "http://127.0.0.1/knee#bend", "Knees", "Bending", text, 10, 40, 0.93, "c1", "knee.md", 3)
    answer = Answer(text, (Sentence(text, (1,)),), (citation,), False, Mode.FULL, 0.9, "")
    made = "2026-01-02T03:04:05+00:00"
    return make_receipt(
        question, answer, (), made, generation=1, corpus_hash="c", embedder="e", answerer="extractive", verifier="v"
    )


async def exchange(records: RecordStore, session: str, question: str, key: str | None = None) -> int:
    """Run one whole turn; the id of the stored exchange."""
    request = Question(question)
    turn = await records.begin_turn(session_key(session), request, key)
    if turn.duplicate_of:
        await records.cancel_turn(turn)
        return turn.duplicate_of[0].id
    return (await records.finish_turn(turn, request, receipt_of(question))).id


async def write(records: RecordStore, writer: int, turns: int) -> None:
    """Store `turns` exchanges, or any number if it is 0; one that fails is not acknowledged and not repeated."""
    numbers = range(turns) if turns else itertools.count()
    for number in numbers:
        name = f"{writer}-{number}"
        try:
            await exchange(records, f"writer-{writer}", f"What is {name}?", name)
        except RecordsError:
            await asyncio.sleep(0.05)
            continue
        print(name, flush=True)  # noqa: T201 - the acknowledgement


async def main(url: str, folder: str, writers: int, turns: int) -> None:
    records = RecordStore(Database(database_url(url, Path(folder))))
    await asyncio.gather(*(write(records, writer, turns) for writer in range(writers)))
    await records.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
