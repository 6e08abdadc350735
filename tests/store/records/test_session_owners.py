"""Every session belongs to one user."""

from __future__ import annotations

import uuid

import pytest

from glossator.core.conversations import Rating, Session, SessionKey, session_key
from glossator.core.errors import SessionNotFound
from glossator.core.question import Question
from glossator.store.records.record_store import RecordStore
from record_helpers import QUESTION, add_exchange, count_rows, questions

pytestmark = pytest.mark.slow


def as_user(key: SessionKey, user: str | None) -> SessionKey:
    """The same session id, used by another user."""
    return SessionKey(key.session_id, key.name, user)


async def test_same_name_of_two_users_is_two_sessions(records: RecordStore) -> None:
    for user in (None, "ann", "bob"):
        await add_exchange(records, session_key("mine", user), f"from {user}")
    for user in (None, "ann", "bob"):
        assert await questions(records, session_key("mine", user)) == [f"from {user}"]
        assert (await records.session(session_key("mine", user))).key == session_key("mine", user)


@pytest.mark.parametrize(("owner", "intruder"), [("ann", "bob"), ("ann", None), (None, "bob"), ("ann", "")])
async def test_session_of_another_user_is_not_found(
    records: RecordStore, owner: str | None, intruder: str | None
) -> None:
    key = session_key(str(uuid.uuid4()), owner)
    receipt_id = (await add_exchange(records, key)).answer.receipt_id
    theirs = as_user(key, intruder)
    for attempt in (
        records.history(theirs),
        records.session(theirs),
        records.delete(theirs),
        records.reset(theirs),
        records.begin_turn(theirs, Question("mine?")),
        records.add_feedback(receipt_id, Rating.DOWN, key=theirs),
    ):
        with pytest.raises(SessionNotFound):
            await attempt
    assert await questions(records, key) == [QUESTION]
    assert await count_rows(records) == (1, 1, 1, 0, 0)


async def test_sessions_lists_those_of_one_user_latest_first(records: RecordStore) -> None:
    for name in ("one", "two", "three"):
        await add_exchange(records, session_key(name, "ann"))
    await add_exchange(records, session_key("one", "ann"))
    await add_exchange(records, session_key("one", "bob"))
    await add_exchange(records, session_key("nobody"))

    def names(found: list[Session]) -> list[str]:
        return [session.key.name for session in found]

    assert names(await records.sessions("ann")) == ["one", "three", "two"]
    assert names(await records.sessions("ann", limit=2)) == ["one", "three"]
    assert names(await records.sessions("bob")) == ["one"]
    assert names(await records.sessions()) == ["nobody"]
    assert await records.sessions("eve") == []
