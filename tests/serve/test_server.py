"""The server: readiness, errors, security headers, new generations, and the real process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

import glossator
import tides_book
from commands import COMMAND, quick_folder, run_in_subprocess
from data_dirs import copy_data
from glossator.facade import Book
from tides_book import BASE, MOON, TIDES, app_with, connect, write_book

pytestmark = pytest.mark.slow

data, app, client, empty = tides_book.data, tides_book.app, tides_book.client, tides_book.empty


async def test_server_is_live_and_ready(client: httpx.AsyncClient) -> None:
    alive, ready = await client.get("/livez"), await client.get("/readyz")
    assert (alive.status_code, alive.text) == (200, "ok")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "generation": 1, "records": "ok"})


@pytest.mark.parametrize("path", ["/readyz", "/search?q=x"])
async def test_missing_index_is_503_without_a_path(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.get(path)
    assert (response.status_code, response.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
    assert "glossator ingest" in response.json()["message"]
    assert "secret-place" not in response.text


async def test_corrupted_index_is_503_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("7\n")
    async with connect(app_with(tmp_path)) as client:
        response = await client.get("/search", params={"q": "x"})
    assert (response.status_code, response.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
    assert str(tmp_path) not in response.text


@pytest.fixture
def own(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change."""
    return copy_data(data, tmp_path / "own")


async def test_internal_error_leaks_nothing(own: Path) -> None:
    async with connect(app_with(own)) as client:
        assert (await client.get("/readyz")).status_code == 200
        documents = own / "generations" / "000001" / "documents.sqlite"
        documents.write_bytes(b"\x00" * documents.stat().st_size)
        response = await client.get("/book/tides")
    assert response.status_code == 500
    assert "Something went wrong" in response.text
    assert "sqlite" not in response.text.lower()
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/livez", "/search?q=x", "/search", "/book/tides", "/nowhere", "/style.css"])
async def test_every_response_has_security_headers(client: httpx.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/?q=tides", "/book/tides", "/search?q=tides", "/readyz"])
async def test_hanging_disk_does_not_block_the_event_loop(data: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "generations").symlink_to(data / "generations")
    os.mkfifo(tmp_path / "CURRENT")
    freed = Event()
    disk = Thread(target=hang, args=(tmp_path / "CURRENT", freed))
    async with connect(app_with(tmp_path)) as client:
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


async def test_new_generation_is_served_without_restart_or_failed_request() -> None:
    with quick_folder() as folder:
        source = write_book(folder / "book")
        with glossator.open(folder / "data") as book:
            book.ingest(source, base_url=BASE)
            async with connect(app_with(folder / "data")) as client:
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
    command = [*COMMAND, "serve", "--port", "0", "--workers", str(workers), "--data-dir", data]
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
def test_real_server_answers_until_interrupted(data: Path, workers: int) -> None:
    with serving(data, workers) as (address, process), httpx.Client(base_url=address, timeout=60) as client:
        assert client.get("/livez").text == "ok"
        assert client.get("/search", params={"q": MOON}).json()["results"][0]["title"] == "Tides"
        page = client.get("/", params={"q": MOON})
        assert "gravity of the Moon" in page.text
        assert "server" not in page.headers
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
        assert process.returncode in (0, 130)
        assert "Traceback" not in log


def test_port_in_use_is_reported(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run_in_subprocess("serve", "--port", str(taken.getsockname()[1]), "--data-dir", data, "--json")
    assert outcome.code == 1
    assert "is in use" in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.fixture
def without_records(own_data: Path) -> Path:
    for file in own_data.glob("records.sqlite*"):
        file.unlink()
    (own_data / "records.sqlite").mkdir()
    return own_data


async def test_server_without_its_database_is_ready_and_reports_it(without_records: Path) -> None:
    async with connect(app_with(without_records)) as client:
        assert (await client.get("/readyz")).json()["records"] == "down"
        assert "zero-moment" in (await client.get("/", params={"q": "What is the zero-moment point?"})).text
