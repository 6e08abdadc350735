"""Several books on one server: each answers for itself alone, at every door, and nothing of one is seen in another."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

import glossator
from api_requests import QUESTIONS
from commands import quick_folder, run_in_subprocess
from data_dirs import copy_data
from doors import QUESTION as ROBOTS
from glossator.core.errors import ReceiptNotFound
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from tides_book import connect

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def _field(body: dict[str, Any]) -> str:
    """The field of the question."""
    return next(name for name, value in body.items() if value == ROBOTS)


PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
OTHER = "And how many steps have the stairs?"
QUESTION = "What is the lamp of the lighthouse fed with?"
OILS = {"": "whale oil", "north": "rapeseed oil", "south": "olive oil"}
PREFIXES = {name: f"/books/{name}" if name else "" for name in OILS}
FIELDS = {path: _field(body) for path, body in QUESTIONS.items() if "messages" not in body}
SESSIONS = [
    ("/chat", "query", "session_id", "/history"),
    ("/agent/chat", "message", "session_id", "/agent/session"),
    ("/agent/query/session", "query_text", "conversation_id", "/agent/query/session"),
]
HOSTILE_NAMES = ["%2e%2e", "a%00b", "NORTH", "n%C3%B6rth", "a_b", "-a", "a" * 33, "north%0A", "*", "nowhere"]


def page(oil: str) -> str:
    return (
        f"# Lamp\n\n![lamp](lamp.png)\n\nThe lamp of the lighthouse is fed with {oil}. See [the stairs](stairs.md).\n"
    )


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Three books that differ in one word; `south` is published elsewhere, the others only here."""
    with quick_folder() as folder:
        for name, oil in OILS.items():
            (source := folder / f"{name}-source").mkdir()
            (source / "lamp.md").write_text(page(oil), "utf-8")
            (source / "stairs.md").write_text("# Stairs\n\nThe stairs have 199 steps.\n", "utf-8")
            (source / "lamp.png").write_bytes(PNG)
            with glossator.open(folder / "data", book=name) as book:
                base = "https://south.example/guide" if name == "south" else None
                book.ingest(source, name=f"The {name or 'main'} light", base_url=base)
        yield folder / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(data: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(create_app(load_settings(data_dir=data))) as opened:
        yield opened


@pytest.mark.parametrize("name", OILS)
@pytest.mark.parametrize("path", FIELDS)
async def test_every_door_answers_from_its_book_alone(client: httpx.AsyncClient, name: str, path: str) -> None:
    body = QUESTIONS[path] | {FIELDS[path]: QUESTION}
    response = await client.post(PREFIXES[name] + path, json=body)
    assert response.status_code == 200, response.text
    assert [oil for oil in OILS.values() if oil in response.text] == [OILS[name]]


@pytest.mark.parametrize("name", OILS)
async def test_other_routes_are_those_of_the_book(client: httpx.AsyncClient, name: str) -> None:
    prefix = PREFIXES[name]
    messages = {"model": "glossator", "messages": [{"role": "user", "content": QUESTION}]}
    completion = (await client.post(f"{prefix}/v1/chat/completions", json=messages)).text
    assert [oil for oil in OILS.values() if oil in completion] == [OILS[name]]
    (best, *_) = (await client.get(f"{prefix}/search", params={"q": QUESTION})).json()["results"]
    assert OILS[name] in best["text"]
    home = "https://south.example/guide/" if name == "south" else f"http://127.0.0.1{prefix}/book/"
    assert best["url"] == f"{home}lamp"
    contents = (await client.get(f"{prefix}/llms.txt")).text
    assert f"{home}stairs" in contents
    assert f"POST {prefix}/ask" in contents
    assert (await client.get(f"{prefix}/widget/book")).json()["name"] == f"The {name or 'main'} light"
    assert (await client.get(f"{prefix}/readyz")).json()["status"] == "ready"


@pytest.mark.parametrize("name", OILS)
async def test_mcp_is_that_of_the_book(client: httpx.AsyncClient, name: str) -> None:
    call = {"name": "search_book", "arguments": {"query": QUESTION}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accept = {"Accept": "application/json, text/event-stream"}
    response = await client.post(f"{PREFIXES[name]}/mcp", json=body, headers=accept)
    assert response.status_code == 200, response.text
    assert [oil for oil in OILS.values() if oil in response.text] == [OILS[name]]


@pytest.mark.parametrize("name", OILS)
async def test_links_of_the_pages_stay_in_the_book(client: httpx.AsyncClient, name: str) -> None:
    prefix = PREFIXES[name]
    for path in (f"{prefix}/", f"{prefix}/book/lamp", f"{prefix}/?q={QUESTION}"):
        text = (await client.get(path)).text
        links = set(re.findall(r'(?:href|src|action)="(/[^"]*)"', text)) - {"/style.css"}
        assert f"{prefix}/widget.js" in links
        assert all(link.startswith(f"{prefix}/") for link in links), links
        assert not [link for link in links if name == "" and link.startswith("/books")]
        for link in links:
            assert (await client.get(link)).status_code == 200, link
    assert (await client.get(f"{prefix}/?q={QUESTION}")).text.count(OILS[name]) >= 1
    assert f'href="{prefix}/"' in (await client.get(f"{prefix}/book/nothing")).text


@pytest.mark.parametrize("hostile", HOSTILE_NAMES)
async def test_unknown_book_is_not_found_at_every_door(client: httpx.AsyncClient, hostile: str, data: Path) -> None:
    before = sorted(path.name for path in (data / "books").iterdir())
    for path, body in QUESTIONS.items():
        response = await client.post(f"/books/{hostile}{path}", json=body)
        assert response.status_code == 404
        assert "GET /books" in response.text
    for path in ("", "/", "/book/lamp", "/search?q=x", "/llms.txt", "/widget.js"):
        response = await client.get(f"/books/{hostile}{path}")
        assert response.status_code == 404
        assert "GET /books" in response.text
        assert str(data) not in response.text
    assert sorted(path.name for path in (data / "books").iterdir()) == before


async def test_books_are_listed(client: httpx.AsyncClient) -> None:
    found = (await client.get("/books")).json()["books"]
    assert [(b["name"], b["title"], b["path"], b["default"], b["documents"]) for b in found] == [
        ("", "The main light", "/", True, 2),
        ("north", "The north light", "/books/north/", False, 2),
        ("south", "The south light", "/books/south/", False, 2),
    ]
    assert {language for book in found for language in book["languages"]} == {"en"}


async def test_book_that_is_ingested_while_the_server_runs_is_served(client: httpx.AsyncClient, data: Path) -> None:
    assert (await client.get("/books/east/search", params={"q": "lamp"})).status_code == 404
    source = data.parent / "north-source"
    with glossator.open(data, book="east") as book:
        book.ingest(source)
    found = (await client.get("/books/east/search", params={"q": "lamp"})).json()["results"]
    assert found[0]["url"] == "http://127.0.0.1/books/east/book/lamp"
    with glossator.open(data, book="east") as book:
        book.remove_source(source)
    assert (await client.get("/books/east/search", params={"q": "lamp"})).status_code == 404
    assert "east" not in (await client.get("/books")).text


async def test_deleted_book_is_gone_and_its_name_is_free(client: httpx.AsyncClient, data: Path) -> None:
    ask = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    for round_ in range(2):
        with glossator.open(data, book="west") as book:
            book.ingest(data.parent / "north-source")
        answered = await client.post("/books/west/chat", json=ask)
        assert answered.status_code == 200, (round_, answered.text)
        assert len((await client.get(f"/books/west/history/{ask['session_id']}")).json()["entries"]) == 1
        deleted = await asyncio.to_thread(run_in_subprocess, "books", "delete", "west", "--yes", "--data-dir", data)
        assert deleted.out == "Book west deleted.\n"
        assert (await client.post("/books/west/chat", json=ask)).status_code == 404
        assert not (data / "books" / "west").exists()


@pytest.mark.parametrize(("ask", "question", "session", "read"), SESSIONS)
async def test_conversation_exists_in_its_book_only(
    client: httpx.AsyncClient, ask: str, question: str, session: str, read: str
) -> None:
    own = str(uuid.uuid4())
    first = await client.post(f"/books/north{ask}", json={question: QUESTION, session: own})
    assert first.status_code == 200, first.text
    for prefix in ("", "/books/south"):
        assert (await client.get(f"{prefix}{read}/{own}")).status_code == 404
        if read != "/history":
            assert (await client.delete(f"{prefix}{read}/{own}")).status_code == 404
    other = await client.post(f"/books/south{ask}", json={question: OTHER, session: own})
    assert other.status_code == 200
    history = (await client.get(f"/books/north{read}/{own}")).text
    assert "rapeseed" in history
    assert "how many" not in history
    assert "rapeseed" not in (await client.get(f"/books/south{read}/{own}")).text


async def test_idempotency_keys_receipts_and_streams_belong_to_one_book(client: httpx.AsyncClient, data: Path) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    heard = (await client.post("/books/north/chat/stream", json=body, headers=headers)).text
    receipt = json.loads(re.findall(r"(?m)^data: (.*receipt_id.*)$", heard)[0])["metadata"]["receipt_id"]
    place = re.findall("(?m)^id: (.*)$", heard)[0]
    elsewhere = await client.post("/books/south/chat/stream", json=body, headers=headers | {"Last-Event-ID": place})
    assert "rapeseed" not in elsewhere.text
    repeated = (await client.post("/books/south/chat", json=body, headers=headers)).json()
    assert "olive oil" in repeated["answer"]
    rating = {"receipt_id": receipt, "rating": "up"}
    assert (await client.post("/books/south/feedback", json=rating)).status_code == 404
    assert (await client.post("/feedback", json=rating)).status_code == 404
    assert (
        await client.post("/books/north/feedback", json=rating | {"session_id": body["session_id"]})
    ).status_code == 201
    with glossator.open(data, book="north") as north, glossator.open(data, book="south") as south:
        assert north.replay(receipt).holds
        with pytest.raises(ReceiptNotFound):
            south.replay(receipt)


async def test_widget_token_is_for_its_book_only(data: Path) -> None:
    with quick_folder() as folder:
        own = copy_data(data, folder / "data")
        key = KeyStore(own / KEYS_FILE).create("site", ["write"])
        async with connect(create_app(load_settings(data_dir=own))) as client:
            origin = "https://docs.example.com"
            tokens: dict[str, str] = {}
            for name, prefix in PREFIXES.items():
                granted = await client.post(
                    f"{prefix}/widget/token", json={"origin": origin}, headers={"Authorization": f"Bearer {key}"}
                )
                tokens[name] = granted.json()["token"]
            for issued, token in tokens.items():
                headers = {"Authorization": f"Bearer {token}", "Origin": origin}
                for name, prefix in PREFIXES.items():
                    response = await client.get(f"{prefix}/search", params={"q": "lamp"}, headers=headers)
                    assert response.status_code == (200 if name == issued else 401)
            assert (await client.get("/books/nowhere/search?q=x")).status_code == 401
            assert (await client.get("/books")).status_code == 401


async def test_named_book_can_be_the_default_one(data: Path) -> None:
    async with connect(create_app(load_settings(data_dir=data, book="north"))) as client:
        for prefix in ("", "/books/north"):
            found: dict[str, Any] = (await client.post(f"{prefix}/ask", json={"question": QUESTION})).json()
            assert OILS["north"] in found["answer"]
            assert (await client.get(f"{prefix}/book/lamp")).status_code == 200
        defaults = [(b["name"], b["default"]) for b in (await client.get("/books")).json()["books"]]
        assert defaults == [("north", True), ("south", False)]


async def test_books_can_be_read_in_public_but_asked_only_with_a_token_of_their_own(data: Path) -> None:
    with quick_folder() as folder:
        own = copy_data(data, folder / "data")
        KeyStore(own / KEYS_FILE).create("site", ["write"])
        async with connect(create_app(load_settings(data_dir=own, public_reading=True))) as client:
            origin = {"Origin": "http://127.0.0.1"}
            for path in ("/books", "/books/north/", "/books/north/book/lamp", "/books/north/llms.txt"):
                assert (await client.get(path)).status_code == 200
            assert (await client.get("/books/north/search?q=lamp")).status_code == 401
            granted = await client.post("/books/north/widget/token", json={"origin": origin["Origin"]}, headers=origin)
            token = {"Authorization": f"Bearer {granted.json()['token']}"} | origin
            assert (await client.get("/books/north/search?q=lamp", headers=token)).status_code == 200
            assert (await client.get("/books/south/search?q=lamp", headers=token)).status_code == 401


async def test_broken_book_is_not_listed_and_others_still_are(data: Path) -> None:
    with quick_folder() as folder:
        own = copy_data(data, folder / "data")
        (own / "books" / "north" / "CURRENT").write_text("not a number", "utf-8")
        async with connect(create_app(load_settings(data_dir=own))) as client:
            names = [book["name"] for book in (await client.get("/books")).json()["books"]]
            assert names == ["", "south"]
            assert (await client.get("/books/north/search?q=lamp")).status_code == 503
            assert (await client.get("/books/south/search?q=lamp")).status_code == 200
