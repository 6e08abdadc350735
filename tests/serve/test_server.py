"""The server: search over HTTP, pages that show any book as plain text, health, and new generations with no restart."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
from fastapi import FastAPI

import glossator
from commands import START, quick_folder, run_alone
from glossator.core.settings import load_settings
from glossator.facade import Book
from glossator.serve.app import create_app

BASE = "http://127.0.0.1:8000/book"
MOON = "What causes tides?"
WIDGET = '<script type="module" src="/widget.js">'
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
TIDES = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range.
"""
EVIL = """---
title: "<script>alert('title')</script>"
---

## A heading &lt;script&gt;alert('heading')&lt;/script&gt; {#evil}

A lighthouse keeper writes &lt;script&gt;alert('text')&lt;/script&gt; into the book every evening.

```html
<script>alert('code')</script>
```

| Name | Value |
|---|---|
| lamp | &lt;script&gt;alert('cell')&lt;/script&gt; |
"""


def write_book(folder: Path) -> Path:
    folder.mkdir()
    for name, text in (("tides.md", TIDES), ("evil.md", EVIL), ("café.md", "# Café\n\nCoffee is served at noon.\n")):
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory with a book of three pages, one of them hostile; treat it as read-only."""
    with quick_folder() as folder:
        with glossator.open(folder / "data") as book:
            book.ingest(write_book(folder / "book"), base_url=BASE)
        yield folder / "data"


@pytest.fixture(scope="module")
def app(data: Path) -> FastAPI:
    return create_app(load_settings(data_dir=data))


@asynccontextmanager
async def connect(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as opened:
        yield opened


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose data directory holds nothing yet."""
    async with connect(create_app(load_settings(data_dir=tmp_path / "secret-place"))) as opened:
        yield opened


async def test_the_server_is_alive_and_ready(client: httpx.AsyncClient) -> None:
    alive, ready = await client.get("/livez"), await client.get("/readyz")
    assert (alive.status_code, alive.text) == (200, "ok")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "generation": 1, "records": "ok"})


async def test_search_answers_in_the_promised_shape(client: httpx.AsyncClient) -> None:
    got = (await client.get("/search", params={"q": MOON, "top_k": 2})).json()
    posted = (await client.post("/search", json={"query": MOON, "top_k": 2})).json()
    assert list(got) == ["query", "results", "generation", "time_ms"]
    assert (got["query"], got["generation"], len(got["results"])) == (MOON, 1, 2)
    fields = "chunk_id document_id url title section heading_path anchor position start end text score"
    assert list(got["results"][0]) == fields.split()
    assert got["results"][0]["url"] == f"{BASE}/tides"
    assert posted["results"] == got["results"]


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({"section": "Spring tides"}, {"Tides"}),
        ({"source_url_prefix": "/book/tides"}, {"Tides"}),
        ({"source_url_prefix": f"{BASE}/caf%C3%A9", "chapter": "Café"}, {"Café"}),
        ({"source_url_prefix": "/book/tides", "chapter": "Café"}, set()),
    ],
)
async def test_filters_narrow_a_search(client: httpx.AsyncClient, filters: dict[str, str], titles: set[str]) -> None:
    got = (await client.get("/search", params={"q": MOON, **filters})).json()
    posted = (await client.post("/search", json={"query": MOON, "filters": filters})).json()
    assert {passage["title"] for passage in got["results"]} == titles
    assert posted["results"] == got["results"]


BAD_QUERIES = ["", "q=", "q=%20", "q=x&top_k=0", "q=x&top_k=101", "q=x&top_k=abc", "q=x&sectoin=y", f"q={'x' * 32_001}"]
BAD_BODIES: list[object] = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    {},
    {"query": ""},
    {"query": "  "},
    {"query": 5},
    {"query": None},
    {"query": "x", "top_k": 0},
    {"query": "x", "top_k": "many"},
    {"query": "x", "filters": {"sectoin": "y"}},
    {"query": "x", "filters": "y"},
    {"query": "x", "colour": "red"},
    b'{"query": "\\ud800"}',
]


def is_refusal(response: httpx.Response) -> bool:
    """Whether it is a 400 in the one shape, and one that tells nothing of our insides."""
    found = response.json()
    return (
        response.status_code == 400
        and list(found) == ["error", "message", "request_id", "details"]
        and (found["error"], found["details"]) == ("VALIDATION_ERROR", None)
        and bool(found["message"])
        and "/" not in found["message"]
    )


@pytest.mark.parametrize("query", BAD_QUERIES, ids=lambda query: query[:20])
async def test_a_bad_query_is_refused_in_one_shape(client: httpx.AsyncClient, query: str) -> None:
    response = await client.get(f"/search?{query}")
    assert is_refusal(response), response.text


@pytest.mark.parametrize("body", BAD_BODIES, ids=str)
async def test_a_bad_body_is_refused_in_one_shape(client: httpx.AsyncClient, body: object) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await client.post("/search", content=content, headers={"content-type": "application/json"})
    assert is_refusal(response), response.text


async def test_a_wrong_method_is_refused_in_the_same_shape(client: httpx.AsyncClient) -> None:
    response = await client.put("/search", json={})
    assert (response.status_code, response.json()["error"]) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"]


async def test_strange_questions_are_searched_all_the_same(client: httpx.AsyncClient) -> None:
    for question in ("what is the", "🤖", "کتاب", "%00", "' OR 1=1 --", "x" * 32_000):
        response = await client.post("/search", json={"query": question})
        assert response.status_code == 200
        assert response.json()["query"] == question


@pytest.mark.parametrize("path", ["/readyz", "/search?q=x"])
async def test_nothing_ingested_yet_is_503_without_a_path(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.get(path)
    assert (response.status_code, response.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
    assert "glossator ingest" in response.json()["message"]
    assert "secret-place" not in response.text


@pytest.mark.parametrize("path", ["/", "/?q=tides", "/book/tides"])
async def test_nothing_ingested_yet_is_a_friendly_page(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.get(path)
    assert response.status_code == 503
    assert response.headers["content-type"].startswith("text/html")
    assert "Nothing has been ingested yet" in response.text
    assert "secret-place" not in response.text
    assert (await empty.get("/livez")).status_code == 200


async def test_a_damaged_index_is_503_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("7\n")
    async with connect(create_app(load_settings(data_dir=tmp_path))) as client:
        response = await client.get("/search", params={"q": "x"})
    assert (response.status_code, response.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
    assert str(tmp_path) not in response.text


@pytest.fixture
def own(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change."""
    subprocess.run(["cp", "-r", data, tmp_path / "own"], check=True)
    return tmp_path / "own"


async def test_a_fault_of_ours_tells_nothing(own: Path) -> None:
    async with connect(create_app(load_settings(data_dir=own))) as client:
        assert (await client.get("/readyz")).status_code == 200
        documents = own / "generations" / "000001" / "documents.sqlite"
        documents.write_bytes(b"\x00" * documents.stat().st_size)
        response = await client.get("/book/tides")
    assert response.status_code == 500
    assert "Something went wrong" in response.text
    assert "sqlite" not in response.text.lower()
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/livez", "/search?q=x", "/search", "/book/tides", "/nowhere", "/style.css"])
async def test_every_response_keeps_browsers_safe(client: httpx.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


async def test_the_page_answers_with_links_to_the_words(client: httpx.AsyncClient) -> None:
    page = (await client.get("/", params={"q": MOON})).text
    assert "Tides are caused mainly by the gravity of the Moon." in page
    assert 'href="/book/tides#tides:~:text=Tides%20are%20caused' in page
    assert '<a dir="auto" href="/book/tides">Tides</a>' in page


@pytest.mark.parametrize("question", [HOSTILE, f"{MOON} {HOSTILE}"])
async def test_a_hostile_question_is_shown_and_never_run(client: httpx.AsyncClient, question: str) -> None:
    page = (await client.get("/", params={"q": question})).text
    assert re.findall(r"<script[^>]*>|<img", page) == [WIDGET]
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&gt;&lt;img" in page


async def test_a_hostile_book_is_shown_and_never_run(client: httpx.AsyncClient) -> None:
    for path in ("/book/evil", "/", "/?q=What+does+the+lighthouse+keeper+write%3F"):
        page = (await client.get(path)).text
        assert re.findall(r"<script[^>]*>|<img", page) == [WIDGET]
        assert "&lt;script&gt;alert(&#x27;title&#x27;)" in page
    page = (await client.get("/book/evil")).text
    for place in ("heading", "text", "code", "cell"):
        assert f"&lt;script&gt;alert(&#x27;{place}&#x27;)&lt;/script&gt;" in page


async def test_a_page_of_the_book_has_the_anchors_that_citations_name(client: httpx.AsyncClient) -> None:
    page = (await client.get("/book/tides")).text
    assert '<h1 id="tides"' in page
    assert '<h2 id="spring-tides"' in page
    assert (await client.get("/book/tides/")).text == page


async def test_a_page_may_have_any_name(client: httpx.AsyncClient) -> None:
    assert "Coffee is served" in (await client.get("/book/caf%C3%A9")).text


@pytest.mark.parametrize("path", ["/nowhere", "/book", "/book/%00", "/../../etc/passwd", "/book/tides.md"])
async def test_a_page_that_is_not_there_is_404(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 404
    assert "not in the book" in response.text


async def test_a_question_that_is_too_long_is_refused_on_a_page(client: httpx.AsyncClient) -> None:
    response = await client.get("/", params={"q": "x" * 32_001})
    assert response.status_code == 400
    assert response.headers["content-type"].startswith("text/html")
    assert "Keep it within 32,000" in response.text


@pytest.mark.parametrize("path", ["/", "/?q=tides", "/book/tides", "/search?q=tides", "/readyz"])
async def test_a_disk_that_hangs_does_not_stop_the_server(data: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "generations").symlink_to(data / "generations")
    os.mkfifo(tmp_path / "CURRENT")
    freed = Event()
    disk = Thread(target=hang, args=(tmp_path / "CURRENT", freed))
    async with connect(create_app(load_settings(data_dir=tmp_path))) as client:
        waiting = asyncio.create_task(client.get(path))
        disk.start()
        await asyncio.sleep(0.1)
        assert (await client.get("/livez")).text == "ok"
        hung = not waiting.done()
        freed.set()
        assert (await waiting).status_code == 200
    disk.join()
    assert hung


def hang(current: Path, freed: Event) -> None:
    """Let nobody read the pipe `current` until freed; a server that waits for it on its event loop is freed late."""
    freed.wait(10)
    current.with_name("next").write_text("1\n")
    pipe = os.open(current, os.O_RDWR)
    current.with_name("next").rename(current)
    os.write(pipe, b"1\n")
    os.close(pipe)


async def test_fifty_searches_at_once_all_answer(client: httpx.AsyncClient) -> None:
    questions = [f"{MOON} {number}" for number in range(50)]
    responses = await asyncio.gather(*(client.get("/search", params={"q": question}) for question in questions))
    assert [response.status_code for response in responses] == [200] * 50
    assert [response.json()["query"] for response in responses] == questions
    assert {response.json()["results"][0]["title"] for response in responses} == {"Tides"}


async def test_a_new_generation_is_served_with_no_restart_and_no_failed_request() -> None:
    with quick_folder() as folder:
        source = write_book(folder / "book")
        with glossator.open(folder / "data") as book:
            book.ingest(source, base_url=BASE)
            async with connect(create_app(load_settings(data_dir=folder / "data"))) as client:
                ingests = asyncio.create_task(asyncio.to_thread(ingest_often, book, source))
                seen = set()
                while not ingests.done():
                    paths = ("/search?q=tides", "/?q=tides", "/book/tides", "/readyz")
                    responses = await asyncio.gather(*(client.get(path) for path in paths))
                    assert [response.status_code for response in responses] == [200] * 4
                    seen.add(responses[0].json()["generation"])
                await ingests
                assert (await client.get("/search?q=tides")).json()["generation"] == 7
                assert "52 percent" in (await client.get("/book/tides")).text
                assert len(seen) > 1


def ingest_often(book: Book, source: Path) -> None:
    for percent in range(47, 53):
        (source / "tides.md").write_text(TIDES.replace("46", str(percent)), "utf-8")
        book.ingest(source, base_url=BASE)


@contextmanager
def serving(data: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a real server that is ready, and its process."""
    command = [*START, "serve", "--port", "0", "--workers", str(workers), "--data-dir", data]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        try:
            log = ""
            while "Uvicorn running on" not in log or log.count("startup complete") < workers:
                log += process.stderr.readline()
                assert process.poll() is None, log
            yield log.partition("Uvicorn running on ")[2].split()[0], process
        finally:
            process.terminate()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_real_server_answers_on_a_real_port_until_interrupted(data: Path, workers: int) -> None:
    with serving(data, workers) as (address, process), httpx.Client(base_url=address) as client:
        assert client.get("/livez").text == "ok"
        assert client.get("/search", params={"q": MOON}).json()["results"][0]["title"] == "Tides"
        page = client.get("/", params={"q": MOON})
        assert "gravity of the Moon" in page.text
        assert "server" not in page.headers
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
        assert process.returncode in (0, 130)
        assert "Traceback" not in log


def test_a_port_in_use_is_named(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run_alone("serve", "--port", str(taken.getsockname()[1]), "--data-dir", data, "--json")
    assert outcome.code == 1
    assert "address already in use" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.fixture
def without_records(own_data: Path) -> Path:
    for file in own_data.glob("records.sqlite*"):
        file.unlink()
    (own_data / "records.sqlite").mkdir()
    return own_data


async def test_a_server_without_its_records_is_ready_and_says_so(without_records: Path) -> None:
    async with connect(create_app(load_settings(data_dir=without_records))) as client:
        assert (await client.get("/readyz")).json()["records"] == "down"
        assert "zero-moment" in (await client.get("/", params={"q": "What is the zero-moment point?"})).text
