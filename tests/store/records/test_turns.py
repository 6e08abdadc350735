"""Turns of one conversation run one at a time, in queue order."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
import sqlalchemy as sa

from glossator.core.conversations import Turn, session_key
from glossator.core.errors import ConversationBusy
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.store.records.record_store import RecordStore, TurnTimings
from glossator.store.records.schema import turns
from record_helpers import (
    KEY,
    QUESTION,
    OpenStore,
    add_exchange,
    count_rows,
    execute,
    later,
    questions,
    sample_receipt,
    slow_write,
    wait_for_queued_turns,
)

pytestmark = pytest.mark.slow


async def test_turns_of_two_processes_run_in_queue_order(open_records: OpenStore) -> None:
    processes = (await open_records(), await open_records())
    served: list[int] = []
    all_queued, inside = asyncio.Event(), 0

    async def take(number: int) -> None:
        nonlocal inside
        turn = await processes[number % 2].begin_turn(KEY, Question(str(number)))
        inside += 1
        assert inside == 1
        served.append(number)
        await all_queued.wait()
        await asyncio.sleep(0.01)
        inside -= 1
        await processes[number % 2].finish_turn(turn, Question(str(number)), sample_receipt(str(number)))

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(take(number))
            await wait_for_queued_turns(processes[0], number + 1)
        for records in processes:
            with pytest.raises(ConversationBusy):
                await records.begin_turn(KEY, Question("one too many"))
        all_queued.set()
    assert served == list(range(8))
    assert await questions(processes[1]) == list("01234567")


async def test_only_one_turn_of_a_conversation_runs_at_a_time(open_records: OpenStore) -> None:
    processes = (await open_records(), await open_records(), await open_records())
    inside, most = 0, 0

    async def take(number: int) -> None:
        nonlocal inside, most
        records = processes[number % 3]
        turn = await records.begin_turn(KEY, Question(str(number)))
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        if number % 2:
            await records.cancel_turn(turn)
        else:
            await records.finish_turn(turn, Question("x"), sample_receipt(str(number)))

    async def take_when_free(number: int) -> None:
        while True:
            with suppress(ConversationBusy):
                return await take(number)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(take_when_free(number) for number in range(15)))
    assert most == 1
    assert len(await questions(processes[0])) == 8
    assert await count_rows(processes[0], "turns") == (0,)


async def test_rejected_turn_changes_nothing(records: RecordStore) -> None:
    waiting = [asyncio.create_task(records.begin_turn(KEY, Question(str(number)))) for number in range(8)]
    await wait_for_queued_turns(records, 8)
    before = await records.session(KEY)
    with pytest.raises(ConversationBusy):
        await records.begin_turn(KEY, Question("too many", filters=Filters(chapter="Tides")))
    assert await records.session(KEY) == before
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_different_sessions_do_not_wait_for_each_other(records: RecordStore) -> None:
    await records.begin_turn(KEY, Question("held"))
    async with asyncio.timeout(2):
        await asyncio.gather(*(add_exchange(records, session_key(f"other-{number}")) for number in range(12)))
    assert len(await records.sessions()) == 13


async def test_cancelled_waiting_turn_leaves_the_queue(open_records: OpenStore) -> None:
    records, other = await open_records(), await open_records()
    first = await records.begin_turn(KEY, Question("first"))
    second = asyncio.create_task(records.begin_turn(KEY, Question("second")))
    await wait_for_queued_turns(records, 2)
    third = asyncio.create_task(other.begin_turn(KEY, Question("third")))
    await wait_for_queued_turns(records, 3)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await count_rows(records, "turns") == (2,)
    await records.cancel_turn(first)
    async with asyncio.timeout(2):
        await other.cancel_turn(await third)
    assert await count_rows(records, "turns") == (0,)


async def test_cancelling_begin_turn_at_any_moment_blocks_nobody(records: RecordStore) -> None:
    await add_exchange(records)
    for moment in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        task = asyncio.create_task(records.begin_turn(KEY, Question("never mind")))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await records.cancel_turn(await task)
        await wait_for_queued_turns(records, 0)
    async with asyncio.timeout(8):
        await add_exchange(records)
    assert await questions(records) == [QUESTION, QUESTION]


async def test_turns_cancelled_while_they_join_the_queue_do_not_make_the_conversation_busy(
    open_records: OpenStore,
) -> None:
    records, other = await open_records(), await open_records()
    await add_exchange(records)
    async with slow_write(other, KEY):
        joining = [asyncio.create_task(records.begin_turn(KEY, Question("never mind"))) for _ in range(9)]
        await asyncio.sleep(0.05)
        for task in joining:
            task.cancel()
        await asyncio.sleep(0)
        next_one = asyncio.create_task(add_exchange(records))
        await asyncio.sleep(0.05)
    async with asyncio.timeout(8):
        await next_one
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*joining, return_exceptions=True)
    )
    assert await count_rows(other, "turns") == (0,)


async def test_cancelled_turn_has_left_the_queue_when_its_task_ends(open_records: OpenStore) -> None:
    records, other = await open_records(), await open_records()
    await add_exchange(records)
    async with slow_write(other, KEY):
        joining = asyncio.create_task(records.begin_turn(KEY, Question("never mind")))
        await asyncio.sleep(0.05)
        joining.cancel()
        await asyncio.sleep(0.05)
        assert not joining.done()
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert await count_rows(other, "turns") == (0,)


async def test_cancelled_task_releases_its_turn(records: RecordStore) -> None:
    holding = asyncio.Event()

    async def hold() -> None:
        turn = await records.begin_turn(KEY, Question("held"))
        try:
            holding.set()
            await asyncio.sleep(60)
        finally:
            await records.cancel_turn(turn)

    holder = asyncio.create_task(hold())
    await holding.wait()
    next_one = asyncio.create_task(add_exchange(records))
    await wait_for_queued_turns(records, 2)
    holder.cancel()
    async with asyncio.timeout(2):
        await next_one
    with pytest.raises(asyncio.CancelledError):
        await holder
    assert await questions(records) == [QUESTION]


async def test_turn_of_a_dead_process_expires(open_records: OpenStore) -> None:
    records, dead = await open_records(), await open_records()
    await dead.begin_turn(KEY, Question("dying"))
    waiting = asyncio.create_task(add_exchange(records))
    await wait_for_queued_turns(records, 2)
    assert not waiting.done()
    oldest = sa.select(sa.func.min(turns.c.ticket)).scalar_subquery()
    await execute(records, sa.update(turns).where(turns.c.ticket == oldest).values(expires_at=later(seconds=-1)))
    async with asyncio.timeout(2):
        await waiting
    await records.clean()
    assert await count_rows(records, "turns") == (0,)


async def test_lease_is_renewed_during_a_long_answer(open_records: OpenStore) -> None:
    timings = TurnTimings(lease_seconds=5, renew_interval_seconds=0.1)
    records, other = await open_records(timings=timings), await open_records(timings=timings)
    turn = await records.begin_turn(KEY, Question("slow"))
    waiting = asyncio.create_task(add_exchange(other, question="next"))
    await asyncio.sleep(5.5)
    assert not waiting.done()
    await records.finish_turn(turn, Question("slow"), sample_receipt("slow"))
    await waiting
    assert await questions(records) == ["slow", "next"]


async def test_waiting_turn_times_out(open_records: OpenStore) -> None:
    records = await open_records(timings=TurnTimings(wait_timeout_seconds=0.2))
    await records.begin_turn(KEY, Question("held"))
    with pytest.raises(ConversationBusy):
        await records.begin_turn(KEY, Question("waiting"))
    assert await count_rows(records, "turns") == (1,)


async def test_turns_leave_no_tasks_behind(records: RecordStore) -> None:
    await add_exchange(records)
    before = len(asyncio.all_tasks())
    for _ in range(10):
        await add_exchange(records)
    assert len(asyncio.all_tasks()) == before


async def test_cancelling_a_turn_twice_is_harmless(records: RecordStore) -> None:
    turn = await records.begin_turn(KEY, Question(QUESTION), "k")
    assert turn == Turn(KEY, turn.ticket, "k")
    await records.cancel_turn(turn)
    await records.cancel_turn(turn)
    assert await count_rows(records, "turns") == (0,)
