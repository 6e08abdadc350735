"""What deletion and expiry leave behind, as a client and a reader of the files see it: the same, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from commands import run_in_subprocess
from doors import QUESTION
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from operations import open_server, parse_metrics

pytestmark = pytest.mark.slow

SESSION = "3f2b8c1e-9d4a-4e6b-8f7a-1c2d3e4f5a6b"
OTHERS, INVERSE = "other-reader", "What is inverse kinematics?"
WORDS = ["quagga", "thylacine", "dodo", "moa", "aurochs", "tarpan"]
"""In the question, the selection and its answer, the feedback, the filters, the idempotency key and the stream."""
TABLES = ("conversations", "receipts", "feedback", "turns")
Remove = Callable[[httpx.AsyncClient, Path], Awaitable[None]]


async def delete(client: httpx.AsyncClient, _data: Path) -> None:
    assert (await client.delete(f"/agent/session/{SESSION}")).status_code == 204


async def reset(client: httpx.AsyncClient, _data: Path) -> None:
    assert (await client.post(f"/agent/query/session/{SESSION}/reset")).status_code == 200


async def expire(_client: httpx.AsyncClient, data: Path) -> None:
    """Let every conversation expire, from another process."""
    arguments = ("db", "clean", "--data-dir", str(data))
    done = await asyncio.to_thread(run_in_subprocess, *arguments, env={"GLOSSATOR_SESSION_HOURS": "0.0000001"})
    assert (done.code, done.err) == (0, "")


async def converse(client: httpx.AsyncClient) -> str:
    """Put every word into one conversation; returns the receipt id of its first answer."""
    question, selection, reason, chapter, key, streamed = WORDS
    first = {
        "query": f"Where does the {question * 50} live?",
        "selected_text": f"The {question * 50} lives where the {selection * 300} lives, near the lake.",
        "session_id": SESSION,
    }
    answered = await client.post("/chat", json=first, headers={"idempotency-key": key * 20})
    assert selection in answered.json()["answer"]
    details = (await client.get(f"/history/{SESSION}?details=true")).json()["entries"][0]["metadata"]
    rating = {"receipt_id": details["receipt_id"], "rating": "down", "reason": reason, "text": reason * 100}
    assert (await client.post("/feedback", json=rating | {"session_id": SESSION})).status_code == 201
    filtered = {"query_text": QUESTION, "filters": {"chapter": chapter * 20}, "conversation_id": SESSION}
    assert (await client.post("/agent/query", json=filtered)).status_code == 200
    stream = {"message": f"What is a {streamed * 50}?", "session_id": SESSION, "stream": True}
    assert (await client.post("/agent/chat", json=stream)).status_code == 200
    return str(details["receipt_id"])


def words_in_files(data: Path) -> set[str]:
    """The words that occur in any file of the data directory, the database's journal among them."""
    files = [file.read_bytes() for file in data.rglob("*") if file.is_file()]
    return {word for word in WORDS for content in files if word.encode() in content}


def rows(data: Path) -> dict[str, int]:
    with sqlite3.connect(data / "records.sqlite") as database:
        return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}  # noqa: S608


@pytest.mark.parametrize("remove", [delete, reset, expire])
async def test_text_of_a_conversation_is_gone_from_every_file_while_the_server_runs(
    private_data: Path, remove: Remove
) -> None:
    async with open_server(private_data) as (client, _):
        receipt_id = await converse(client)
        assert words_in_files(private_data) == set(WORDS)
        assert rows(private_data) == {"conversations": 3, "receipts": 3, "feedback": 1, "turns": 0}
        await remove(client, private_data)
        assert rows(private_data) == dict.fromkeys(TABLES, 0)
        assert words_in_files(private_data) == set()
        rated = await client.post("/feedback", json={"receipt_id": receipt_id, "rating": "up"})
        assert rated.status_code == 404
        history = await client.get(f"/history/{SESSION}")
        assert history.status_code == (404 if remove is delete else 200)
        assert history.json().get("entries", []) == []
        session = (await client.get(f"/agent/query/session/{SESSION}")).json()
        assert not session.get("active_filters")
    assert words_in_files(private_data) == set()
    assert run_in_subprocess("replay", receipt_id, "--data-dir", str(private_data)).code == 2


async def cache_hits(client: httpx.AsyncClient, key: str) -> float:
    response = await client.get("/metrics", headers={"authorization": f"Bearer {key}"})
    return parse_metrics(response.text)["glossator_cache_total", (("found", "hit"),)]


@pytest.mark.parametrize("remove", ["delete", "reset"])
async def test_removing_a_conversation_leaves_the_cached_answers_of_other_users(
    private_data: Path, remove: str
) -> None:
    store = KeyStore(private_data / KEYS_FILE)
    alice, bob, carol = (store.create(name, [Scope.WRITE], user=name) for name in ("alice", "bob", "carol"))
    admin = store.create("admin", [Scope.ADMIN])
    own, shared, others = "What is the Jacobian?", QUESTION, INVERSE

    async with open_server(private_data) as (client, _):

        async def is_cached(key: str, question: str, session: str = SESSION) -> bool:
            before = await cache_hits(client, admin)
            body = {"message": question, "session_id": session}
            asked = await client.post("/agent/chat", json=body, headers={"authorization": f"Bearer {key}"})
            assert asked.status_code == 200
            return await cache_hits(client, admin) > before

        for key, question in ((alice, own), (alice, shared), (bob, shared), (bob, others)):
            await is_cached(key, question)
        authorized = {"authorization": f"Bearer {alice}"}
        if remove == "delete":
            done = await client.delete(f"/agent/session/{SESSION}", headers=authorized)
        else:
            done = await client.post(f"/agent/query/session/{SESSION}/reset", headers=authorized)
        assert done.is_success
        assert await is_cached(carol, others)
        assert await is_cached(carol, shared)
        assert await is_cached(bob, others, "another")
        assert not await is_cached(alice, own)
