"""URLs of pages that only this server shows: absolute at every door, by the host of the request."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

import glossator
from api_requests import QUESTIONS
from commands import quick_folder
from data_dirs import write_pages
from doors import OUT_OF_SCOPE
from doors import QUESTION as ROBOTS
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from tides_book import connect

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "What is the lamp of the lighthouse fed with?"
PREFIXES = {"": "", "north": "/books/north"}
PAGES = {
    "lamp.md": "# Lamp\n\nThe lamp of the lighthouse is fed with rapeseed oil.\n",
    "stairs.md": "# Stairs\n\nThe stairs have 199 steps.\n",
}
SESSIONS = [
    ("/chat", "session_id", "/history/{}?details=true"),
    ("/agent/chat", "session_id", "/agent/session/{}"),
    ("/agent/query/session", "conversation_id", "/agent/query/session/{}"),
]
each_book = pytest.mark.parametrize("prefix", PREFIXES.values())
each_path = pytest.mark.parametrize("path", QUESTIONS)
HOSTS = ["127.0.0.1", "localhost:8000", "[::1]:8000"]
_PATH = re.compile(r"(?:https?://[^\s\"'<>()\\]+|(?<=[\s\"'<(])(?:/books/\w+)?)/book/[^\s\"'<>()\\]*")


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Two books that are published nowhere else."""
    with quick_folder() as folder:
        write_pages(folder / "source", PAGES)
        for book_name in PREFIXES:
            with glossator.open(folder / "data", book=book_name) as book:
                book.ingest(folder / "source")
        yield folder / "data"


@pytest.fixture(scope="module")
def app(data: Path) -> FastAPI:
    return create_app(load_settings(data_dir=data, trusted_proxies="127.0.0.1"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as opened:
        yield opened


def asking(path: str, question: str = QUESTION, **more: Any) -> dict[str, Any]:
    """The request of a door with another question."""
    body: dict[str, Any] = json.loads(json.dumps(QUESTIONS[path]).replace(ROBOTS, question))
    return body | more


def page_urls(text: str) -> set[str]:
    """Everything in a response that leads to a page of the book."""
    return set(_PATH.findall(text))


def all_begin_with(base: str, text: str) -> bool:
    urls = page_urls(text)
    return bool(urls) and all(url.startswith(f"{base}/book/") for url in urls)


@each_book
@each_path
async def test_urls_are_absolute_at_every_door(client: httpx.AsyncClient, prefix: str, path: str) -> None:
    text = (await client.post(prefix + path, json=asking(path))).text
    assert all_begin_with(f"http://127.0.0.1{prefix}", text), page_urls(text)


@each_path
async def test_urls_are_absolute_in_streams(client: httpx.AsyncClient, path: str) -> None:
    more = {} if path.startswith("/chat") else {"stream": True}
    text = (await client.post(path, json=asking(path, **more))).text
    assert all_begin_with("http://127.0.0.1", text), page_urls(text)


@each_path
async def test_urls_of_suggestions_are_absolute(client: httpx.AsyncClient, path: str) -> None:
    text = (await client.post(path, json=asking(path, OUT_OF_SCOPE))).text
    assert all_begin_with("http://127.0.0.1", text), page_urls(text)


@each_book
@pytest.mark.parametrize(("path", "field", "history"), SESSIONS)
async def test_urls_of_histories_are_absolute(
    client: httpx.AsyncClient, prefix: str, path: str, field: str, history: str
) -> None:
    session = str(uuid.uuid4())
    await client.post(prefix + path, json=asking(path) | {field: session})
    text = (await client.get(prefix + history.format(session))).text
    assert all_begin_with(f"http://127.0.0.1{prefix}", text), page_urls(text)


@each_book
async def test_urls_of_search_and_contents_are_absolute(client: httpx.AsyncClient, prefix: str) -> None:
    for text in (
        (await client.get(f"{prefix}/search", params={"q": QUESTION})).text,
        (await client.post(f"{prefix}/search", json={"query": QUESTION})).text,
        (await client.get(f"{prefix}/llms.txt")).text,
    ):
        assert all_begin_with(f"http://127.0.0.1{prefix}", text), page_urls(text)


@each_book
async def test_urls_of_mcp_tools_are_absolute_and_can_be_read(client: httpx.AsyncClient, prefix: str) -> None:
    async def call(tool: str, **arguments: Any) -> Any:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        accept = {"Accept": "application/json, text/event-stream"}
        response = await client.post(f"{prefix}/mcp", json=body, headers=accept)
        assert all_begin_with(f"http://127.0.0.1{prefix}", response.text), page_urls(response.text)
        return response.json()["result"]["structuredContent"]

    cited = (await call("ask_book", question=QUESTION))["citations"][0]["url"]
    read = await call("read_section", url=cited)
    assert "rapeseed oil" in read["text"]
    found = await call("search_book", query=QUESTION, source_url_prefix=read["url"])
    assert {passage["title"] for passage in found["passages"]} == {"Lamp"}


@pytest.mark.parametrize("host", HOSTS)
async def test_urls_have_the_host_of_the_request(client: httpx.AsyncClient, host: str) -> None:
    for _ in range(2):  # the second answer comes from the cache
        text = (await client.post("/ask", json=asking("/ask"), headers={"Host": host})).text
        assert all_begin_with(f"http://{host}", text), page_urls(text)


async def test_scheme_is_that_of_a_trusted_proxy(client: httpx.AsyncClient, data: Path) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.1"}
    text = (await client.post("/ask", json=asking("/ask"), headers=headers)).text
    assert all_begin_with("https://127.0.0.1", text)
    async with connect(create_app(load_settings(data_dir=data))) as untrusting:
        text = (await untrusting.post("/ask", json=asking("/ask"), headers=headers)).text
    assert all_begin_with("http://127.0.0.1", text)


async def test_root_path_is_part_of_the_urls(client: httpx.AsyncClient, app: FastAPI) -> None:
    transport = httpx.ASGITransport(app, root_path="/manuals")
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as mounted:
        text = (await mounted.get("/manuals/search", params={"q": QUESTION})).text
    assert all_begin_with("http://127.0.0.1/manuals", text), text


async def test_malformed_host_is_not_repeated(data: Path) -> None:
    async with connect(create_app(load_settings(data_dir=data, allowed_hosts="*"))) as open_client:
        text = (await open_client.post("/ask", json=asking("/ask"), headers={"Host": "evil example"})).text
    assert "evil" not in text
    assert page_urls(text)
    assert all(url.startswith("/book/") for url in page_urls(text))


@each_book
async def test_prefix_filter_accepts_urls_and_paths(client: httpx.AsyncClient, prefix: str) -> None:
    found = (await client.get(f"{prefix}/search", params={"q": QUESTION})).json()["results"]
    url = next(passage["url"] for passage in found if passage["title"] == "Stairs")
    for wanted in (url, f"{url}#stairs:~:text=The%20stairs", url.removeprefix("http://127.0.0.1")):
        body = {"query": QUESTION, "filters": {"source_url_prefix": wanted}}
        for response in (
            await client.post(f"{prefix}/search", json=body),
            await client.get(f"{prefix}/search", params={"q": QUESTION, "source_url_prefix": wanted}),
        ):
            assert [passage["title"] for passage in response.json()["results"]] == ["Stairs"]
        steps = {"query": "How many steps have the stairs?"}
        answer = (await client.post(f"{prefix}/chat", json=body | steps)).json()
        assert {source["title"] for source in answer["sources"]} == {"Stairs"}
    everything = {"query": QUESTION, "filters": {"source_url_prefix": "http://127.0.0.1"}}
    assert len((await client.post(f"{prefix}/search", json=everything)).json()["results"]) == 2


async def test_stored_answers_keep_the_paths_of_the_index(client: httpx.AsyncClient, data: Path) -> None:
    session = str(uuid.uuid4())
    await client.post("/chat", json={"query": QUESTION, "session_id": session})
    with glossator.open(data) as book:
        (exchange,) = book.history(session)
    assert exchange.answer.citations[0].url.startswith("/book/lamp")
