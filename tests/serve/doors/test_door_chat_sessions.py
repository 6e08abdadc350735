"""The chat door: sessions."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from door_chat import INVERSE, NOT_UUID4, chat, error_of, history
from doors import ABOUT_SELECTION, OUT_OF_SCOPE, QUESTION, SELECTION, is_fraction

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Sessions and their history.


async def test_session_is_created_if_none_is_given(client: httpx.AsyncClient) -> None:
    first, second = await chat(client, query=QUESTION), await chat(client, query=QUESTION)
    assert first["session_id"] != second["session_id"]
    assert (await history(client, first["session_id"]))["total_entries"] == 1


@pytest.mark.parametrize("spelled", [str, lambda name: str(name).upper()], ids=["small", "capitals"])
async def test_unknown_session_id_starts_a_session(client: httpx.AsyncClient, spelled: Any) -> None:
    session = uuid.uuid4()
    found = await chat(client, query=QUESTION, session_id=spelled(session))
    assert uuid.UUID(found["session_id"]) == session
    assert (await history(client, str(session)))["total_entries"] == 1


async def test_history_returns_the_answers_oldest_first(client: httpx.AsyncClient) -> None:
    session = str(uuid.uuid4())
    queries = [QUESTION, OUT_OF_SCOPE, f"  {INVERSE}\n"]
    shown = [await chat(client, query=query, session_id=session) for query in queries]
    found = await history(client, session)
    assert (found["session_id"], found["total_entries"]) == (session, 3)
    assert [entry["query"] for entry in found["entries"]] == [QUESTION, OUT_OF_SCOPE, INVERSE]
    assert [entry["response"] for entry in found["entries"]] == [each["answer"] for each in shown]
    assert [entry["sources"] for entry in found["entries"]] == [each["sources"] for each in shown]


async def test_history_returns_a_selection_in_the_shapes_of_the_answer_and_of_the_contract(
    client: httpx.AsyncClient,
) -> None:
    shown = await chat(client, query=ABOUT_SELECTION, selected_text=SELECTION)
    (entry,) = (await history(client, shown["session_id"]))["entries"]
    assert entry["response"] == shown["answer"]
    assert "[1]" in entry["response"]
    (answered,), (stored,) = shown["sources"], entry["sources"]
    assert answered.items() <= stored.items()
    passage = {"source_url": "", "title": "Your selection", "section": "", "chunk_position": 0}
    assert stored == answered | passage | {"similarity_score": stored["similarity_score"]}
    assert is_fraction(stored["similarity_score"])


@pytest.mark.parametrize(("query", "count"), [("", 3), ("?limit=1", 1), ("?limit=2", 2), ("?limit=100", 3)])
async def test_history_respects_its_limit(client: httpx.AsyncClient, query: str, count: int) -> None:
    session = str(uuid.uuid4())
    for question in (QUESTION, INVERSE, OUT_OF_SCOPE):
        await chat(client, query=question, session_id=session)
    found = await history(client, session, query)
    order = [QUESTION, INVERSE, OUT_OF_SCOPE]
    places = [order.index(entry["query"]) for entry in found["entries"]]
    assert (len(places), places) == (count, sorted(places))
    assert found["total_entries"] == 3


@pytest.mark.parametrize("limit", ["0", "101", "-1", "abc", "", "1.5"])
async def test_limit_must_be_from_1_to_100(client: httpx.AsyncClient, limit: str) -> None:
    session = (await chat(client, query=QUESTION))["session_id"]
    assert error_of(await client.get(f"/history/{session}?limit={limit}")) == (400, "VALIDATION_ERROR")


async def test_unknown_history_is_404(client: httpx.AsyncClient) -> None:
    assert error_of(await client.get(f"/history/{uuid.uuid4()}"))[0] == 404


@pytest.mark.parametrize("name", NOT_UUID4)
async def test_malformed_session_id_of_a_history_is_rejected(client: httpx.AsyncClient, name: str) -> None:
    assert error_of(await client.get(f"/history/{name}")) == (400, "INVALID_SESSION_ID")
