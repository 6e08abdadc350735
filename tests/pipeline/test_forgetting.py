"""What a deleted or expired conversation leaves behind, in this process and in others: nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from glossator import pipeline
from glossator.core.conversations import SessionKey, session_key
from glossator.core.errors import ReceiptNotFound
from glossator.core.question import Question
from glossator.core.settings import load_settings
from glossator.pipeline import conversations
from glossator.pipeline.answering import answer_question
from glossator.pipeline.wiring import Engine, wire
from glossator.store.records.schema import sessions
from record_helpers import contract_source, count_rows, execute, later, read_rows
from tides import KEY, MOON, SPRING_TIDES, in_session

pytestmark = pytest.mark.slow

OTHER_KEY = session_key("bread")
SELECTION = "Neap tides occur at the first and third quarter of the Moon."
ABOUT_SELECTION = "When do neap tides occur?"
Remove = Callable[[Engine, SessionKey], Awaitable[object]]


@pytest.fixture
async def workers(tides_data: Path) -> AsyncIterator[tuple[Engine, Engine]]:
    """Two engines on one data directory, as in two worker processes."""
    settings = load_settings(data_dir=tides_data, verify_models=False)
    engines = wire(settings), wire(settings)
    yield engines
    for engine in engines:
        await engine.close()


async def expire(engine: Engine, key: SessionKey) -> None:
    """Let one conversation expire."""
    own = sessions.c.session_id == key.session_id
    await execute(engine.records, sa.update(sessions).where(own).values(last_active=later(hours=-25)))
    await conversations.clean_up(engine)


each_removal = pytest.mark.parametrize("remove", [conversations.delete, conversations.reset, expire])


@each_removal
async def test_answers_are_evicted_in_every_process_and_others_stay(
    workers: tuple[Engine, Engine], remove: Remove
) -> None:
    own = [in_session(), in_session(ABOUT_SELECTION, selection=SELECTION)]
    other = in_session(MOON, OTHER_KEY)
    forgotten = {(await pipeline.ask(workers[0], question)).receipt_id for question in own}
    stays = (await pipeline.ask(workers[0], other)).receipt_id
    for question in (*own, other):
        await pipeline.ask(workers[1], question)
    assert [engine.cache.receipt_ids() for engine in workers] == [forgotten | {stays}] * 2
    await remove(workers[0], KEY)
    assert workers[0].cache.receipt_ids() == {stays}
    await conversations.evict_deleted_answers(workers[1])
    assert workers[1].cache.receipt_ids() == {stays}
    assert (await pipeline.ask(workers[1], other)).cached
    for receipt_id in forgotten:
        with pytest.raises(ReceiptNotFound):
            await pipeline.replay(workers[1], receipt_id)


@each_removal
async def test_answer_that_another_conversation_shares_stays(workers: tuple[Engine, Engine], remove: Remove) -> None:
    await pipeline.ask(workers[0], in_session())
    shared = (await pipeline.ask(workers[0], in_session(key=OTHER_KEY))).receipt_id
    await remove(workers[0], KEY)
    assert workers[0].cache.receipt_ids() == {shared}
    assert (await pipeline.replay(workers[0], shared)).holds


async def test_cached_answer_outside_conversations_has_a_receipt_after_a_deletion(
    workers: tuple[Engine, Engine],
) -> None:
    await pipeline.ask(workers[0], in_session())
    await pipeline.ask(workers[1], in_session())
    await conversations.delete(workers[0], KEY)
    answer = await pipeline.ask(workers[1], Question(SPRING_TIDES))
    assert answer.cached
    assert (await pipeline.replay(workers[1], answer.receipt_id)).holds


async def test_answer_to_a_conversation_deleted_meanwhile_is_not_cached(workers: tuple[Engine, Engine]) -> None:
    async for piece in pipeline.stream(workers[0], in_session()):
        if isinstance(piece, str):
            await conversations.delete(workers[1], KEY)
        else:
            assert not piece.answer.stored
    await conversations.evict_deleted_answers(workers[0])
    assert workers[0].cache.receipt_ids() == set()
    assert await count_rows(workers[0].records, "conversations", "receipts") == (0, 0)


async def test_exchange_is_stored_as_the_chat_contract_defines_it(workers: tuple[Engine, Engine]) -> None:
    engine = workers[0]
    answer = await pipeline.ask(engine, in_session())
    await pipeline.ask(engine, in_session(ABOUT_SELECTION, selection=SELECTION))
    rows = await read_rows(engine.records, "SELECT sources, metadata, selected_text FROM conversations ORDER BY id")
    assert rows[0].sources == [contract_source(citation) for citation in answer.citations]
    metadata = rows[0].metadata
    assert UUID(metadata["request_id"]).version == 4
    assert (metadata["mode"], metadata["low_confidence"]) == ("full", False)
    assert metadata["query_time_ms"] > 0
    assert metadata["retrieval_count"] == len((await engine.records.receipt(answer.receipt_id)).passages) > 0
    assert (rows[0].selected_text, rows[1].selected_text) == (None, SELECTION)
    selected = {
        "source_type": "selected_text",
        "selection_length": len(SELECTION),
        "snippet": SELECTION,
        "relevance_note": "1 sentence is based on this selection only.",
    }
    assert (rows[1].sources, rows[1].metadata["retrieval_count"]) == ([selected], 0)


async def test_selection_is_part_of_the_history_and_of_an_export(workers: tuple[Engine, Engine]) -> None:
    await pipeline.ask(workers[0], in_session(ABOUT_SELECTION, selection=SELECTION))
    session, (exchange,) = await conversations.full_history(workers[1], KEY)
    assert exchange.selection == SELECTION
    assert f"\n\nSelected text:\n\n> {SELECTION}\n\n" in conversations.session_to_markdown(session, [exchange])
    assert conversations.session_to_dict(session, [exchange])["exchanges"][0]["selection"] == SELECTION


async def test_answer_whose_receipt_is_still_being_stored_is_not_evicted_at_intervals(
    workers: tuple[Engine, Engine],
) -> None:
    engine = workers[0]
    async for _ in answer_question(engine, Question(MOON)):  # cached, and its receipt not stored yet
        pass
    await conversations.evict_deleted_answers(engine, conversations.STORING_SECONDS)
    assert len(engine.cache.receipt_ids()) == 1
    await conversations.evict_deleted_answers(engine)
    assert engine.cache.receipt_ids() == set()
