"""Books that are published elsewhere, nowhere, or beside each other: every page is reachable below /book."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from mcp import Client

import glossator
from commands import quick_folder
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.app import create_app
from glossator.serve.mcp.server import create_mcp_server
from tides_book import connect

pytestmark = pytest.mark.slow

API_NAMES = ["search", "health", "metrics", "ask", "chat", "docs", "query", "mcp", "v1", "livez", "book", "widget.js"]
PUMP = "How is the pump of the lighthouse started?"


def page(name: str) -> str:
    return f"# The {name} page\n\nThis page of the manual explains {name} to the keeper of the lighthouse.\n"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Three books: `unpublished`; `manual`, published at the root of a site; and `guide`, published beside it."""
    with quick_folder() as found:
        for book in ("unpublished", "manual", "guide"):
            (found / book).mkdir()
            for name in API_NAMES:
                (found / book / f"{name}.md").write_text(page(f"{book} {name}"), "utf-8")
            (found / book / "index.md").write_text(f"# The {book}\n\nThe {book} has a front page.\n", "utf-8")
        (found / "manual" / "pump.md").write_text(
            "# Pump\n\nThe pump of the lighthouse is started with the green button.\n", "utf-8"
        )
        with glossator.open(found / "data") as opened:
            opened.ingest(found / "unpublished")
            opened.ingest(found / "manual", base_url="https://manual.example")
            opened.ingest(found / "guide", base_url="https://guide.example", name="A <b>guide</b>\n")
        yield found


@pytest.fixture(scope="module")
def app(folder: Path) -> FastAPI:
    return create_app(load_settings(data_dir=folder / "data"))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as opened:
        yield opened


@pytest.mark.parametrize("name", API_NAMES)
@pytest.mark.parametrize(("book", "path"), [("unpublished", ""), ("manual", "the-manual/"), ("guide", "a-b-guide-b/")])
async def test_pages_named_like_api_routes_are_reachable(
    name: str, book: str, path: str, client: httpx.AsyncClient
) -> None:
    response = await client.get(f"/book/{path}{name}")
    assert response.status_code == 200
    assert f"explains {book} {name} to the keeper" in response.text


async def test_contents_and_neighbours_link_to_pages_of_this_server(client: httpx.AsyncClient) -> None:
    for path in ("/", "/book/", "/book/search", "/book/the-manual/", "/book/the-manual/ask"):
        text = (await client.get(path)).text
        assert 'href="/book/search"' in text
        assert 'href="/book/the-manual/search"' in text
        assert "manual.example" not in text.partition("<main>")[0]


async def test_front_page_of_each_book_is_served(client: httpx.AsyncClient) -> None:
    assert "The unpublished has a front page" in (await client.get("/book")).text
    assert "The manual has a front page" in (await client.get("/book/the-manual")).text


async def test_answer_on_the_page_links_to_this_server_and_the_api_to_the_published_book(
    client: httpx.AsyncClient,
) -> None:
    text = (await client.get("/", params={"q": PUMP})).text
    assert 'href="/book/the-manual/pump#' in text
    answer = (await client.post("/ask", json={"question": PUMP})).json()
    assert answer["sources"][0]["url"].startswith("https://manual.example/pump#")


async def test_page_is_also_at_the_path_that_it_is_published_at(client: httpx.AsyncClient) -> None:
    assert "started with the green button" in (await client.get("/pump")).text


async def test_responses_reveal_no_path_of_this_machine(folder: Path, client: httpx.AsyncClient) -> None:
    question = "What does the page explain about unpublished search to the keeper?"
    bodies = [
        (await client.get("/search", params={"q": question, "top_k": 50})).text,
        (await client.post("/ask", json={"question": question})).text,
        (await client.post("/chat", json={"query": question})).text,
        (await client.get("/llms.txt")).text,
        (await client.get("/", params={"q": question})).text,
        (await client.get("/book/search")).text,
        (await client.get("/health")).text,
    ]
    assert "/book/search" in bodies[0]
    for body in bodies:
        assert "file:" not in body
        assert folder.name not in body


async def test_llms_txt_names_the_book_and_its_pages(client: httpx.AsyncClient) -> None:
    lines = (await client.get("/llms.txt")).text.splitlines()
    assert lines[0] == "# The unpublished, The manual, A (b)guide(/b)"
    assert "- [The unpublished search page](<http://127.0.0.1/book/search>)" in lines
    assert "- [The manual search page](<https://manual.example/search>)" in lines


async def test_mcp_server_names_the_book(folder: Path) -> None:
    engine = wire(load_settings(data_dir=folder / "data"))
    async with Client(create_mcp_server(engine)) as client:
        assert "the book “The unpublished, The manual, A <b>guide</b>”" in str(client.instructions)
        found = (await client.call_tool("read_section", {"url": "/book/search"})).structured_content
    assert "unpublished search" in str(found)
    await engine.close()


async def test_removed_source_is_gone_from_a_running_server(folder: Path) -> None:
    with quick_folder() as data, glossator.open(data) as book:
        book.ingest(folder / "unpublished")
        async with connect(create_app(load_settings(data_dir=data))) as client:
            assert (await client.get("/book/search")).status_code == 200
            await asyncio.to_thread(book.remove_source, folder / "unpublished")
            assert (await client.get("/book/search")).status_code == 503
            assert (await client.get("/readyz")).status_code == 503
