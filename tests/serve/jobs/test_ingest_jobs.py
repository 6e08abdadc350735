"""`POST /admin/ingest`: a job in a process of its own, one at a time, for sources of the index only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import aconnect_sse

import glossator
from access import bearer
from commands import quick_folder
from doors import serving
from glossator.core.book.manifest import timestamp
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from glossator.serve.jobs.files import MAX_JOBS, Job, JobFiles, JobStatus
from glossator.store.index.generations import Generations

pytestmark = pytest.mark.slow

MOON = "How much does the Sun contribute to tides?"


@pytest.fixture
def data(small_book: Path) -> Iterator[Path]:
    """A data directory with the small book, whose pages have changed since."""
    with quick_folder() as folder:
        with glossator.open(folder / "data") as book:
            book.ingest(small_book)
        text = (small_book / "tides.md").read_text("utf-8")
        (small_book / "tides.md").write_text(text.replace("46", "44"), "utf-8")
        yield folder / "data"


@pytest.fixture
async def client(data: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(data) as opened:
        yield opened


def job_of(files: JobFiles, status: JobStatus = JobStatus.RUNNING, job_id: str = "") -> Job:
    job = Job(job_id or files.new_id(), status, ("/book",), timestamp())
    files.folder.mkdir(exist_ok=True)
    files.write(job)
    return job


async def start(client: httpx.AsyncClient, body: dict[str, Any] | None = None) -> dict[str, Any]:
    response = await client.post("/admin/ingest", json=body or {})
    assert response.status_code == 202, response.text
    return response.json()


async def ended(client: httpx.AsyncClient, job_id: str) -> dict[str, Any]:
    """The job, when it has ended."""
    async with aconnect_sse(client, "GET", f"/admin/ingest/{job_id}/events") as source:
        await asyncio.wait_for(source.response.aread(), 50)
    return (await client.get(f"/admin/ingest/{job_id}")).json()


async def test_a_job_ingests_the_recorded_sources_and_the_server_answers_from_them(
    client: httpx.AsyncClient, data: Path, small_book: Path
) -> None:
    assert "46 percent" in (await client.post("/ask", json={"question": MOON})).json()["answer"]
    job = await start(client)
    assert (job["status"], job["sources"]) == ("running", [str(small_book)])
    done = await ended(client, job["id"])
    assert (done["status"], done["error"], done["report"]["generation"]) == ("succeeded", None, 2)
    assert done["report"]["documents"]["changed"] == 1
    assert "44 percent" in (await client.post("/ask", json={"question": MOON})).json()["answer"]
    async with serving(data) as restarted:
        assert (await restarted.get(f"/admin/ingest/{job['id']}")).json() == done
        assert (await restarted.get("/admin/ingest")).json() == {"jobs": [done]}


async def test_events_follow_a_job_to_its_end(client: httpx.AsyncClient, small_book: Path) -> None:
    job = await start(client, {"sources": [str(small_book)]})
    async with aconnect_sse(client, "GET", f"/admin/ingest/{job['id']}/events") as source:
        events = [(event.event, json.loads(event.data)) async for event in source.aiter_sse()]
    assert [name for name, _ in events] == ["progress"] * (len(events) - 1) + ["done"]
    assert events[-1][1]["status"] == "succeeded"
    async with aconnect_sse(client, "GET", f"/admin/ingest/{job['id']}/events") as source:
        assert [event.event async for event in source.aiter_sse()] == ["done"]


async def test_a_stream_ends_before_the_request_times_out(data: Path) -> None:
    files = JobFiles(data)
    async with serving(data, request_seconds=8) as client:
        job = job_of(files)
        with files.living(job.id):
            response = await client.get(f"/admin/ingest/{job.id}/events")
    assert response.status_code == 200
    assert response.text.count("event: progress") == 1


async def test_a_second_job_is_refused_with_the_name_of_the_first(client: httpx.AsyncClient, data: Path) -> None:
    files = JobFiles(data)
    job = job_of(files)
    with files.living(job.id):
        assert (await client.get(f"/admin/ingest/{job.id}")).json()["status"] == "running"
        refused = await client.post("/admin/ingest", json={})
        assert (refused.status_code, refused.json()["error"]) == (409, "INGEST_RUNNING")
        assert job.id in refused.json()["message"]


async def test_a_killed_job_is_lost_and_the_next_one_starts(client: httpx.AsyncClient, data: Path) -> None:
    killed = job_of(JobFiles(data), job_id="20260101-000000-00000000")
    assert (await client.get(f"/admin/ingest/{killed.id}")).json()["status"] == "lost"
    job = await start(client)
    assert (await ended(client, job["id"]))["status"] == "succeeded"
    assert (await client.get(f"/admin/ingest/{killed.id}")).json()["status"] == "lost"


@pytest.mark.parametrize(
    "sources",
    [["/etc"], ["{parent}"], ["../small"], ["http://127.0.0.1:1/"], ["small\u0000"], ["file:///etc"], ["{root}", "x"]],
)
async def test_no_other_place_can_be_ingested(
    client: httpx.AsyncClient, data: Path, small_book: Path, sources: list[str]
) -> None:
    named = [name.format(parent=small_book.parent, root=small_book) for name in sources]
    response = await client.post("/admin/ingest", json={"sources": named})
    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert str(small_book.parent) not in response.text
    assert not (data / "jobs").exists()


@pytest.mark.parametrize("body", [b"", b"[]", b'{"path": "/etc"}', b'{"sources": []}', b'{"sources": "small"}'])
async def test_other_bodies_start_nothing(client: httpx.AsyncClient, data: Path, body: bytes) -> None:
    """An empty one too: a page of another site could send it without asking the browser's permission."""
    response = await client.post("/admin/ingest", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert not (data / "jobs").exists()


@pytest.mark.parametrize("job_id", ["x", "..%2f..%2fkeys", "20260101-000000-0000000g", "20260101-000000-00000001"])
async def test_an_unknown_job_does_not_exist(client: httpx.AsyncClient, job_id: str) -> None:
    for path in (f"/admin/ingest/{job_id}", f"/admin/ingest/{job_id}/events"):
        assert (await client.get(path)).status_code in (400, 404)


async def test_another_host_says_that_it_does_not_know_the_job(client: httpx.AsyncClient, tides_data: Path) -> None:
    job = await start(client)
    async with serving(tides_data) as other_host:
        response = await other_host.get(f"/admin/ingest/{job['id']}")
    assert (response.status_code, response.json()["error"]) == (404, "JOB_NOT_FOUND")
    assert "on this host" in response.text
    assert "the host that started it" in response.text
    await ended(client, job["id"])


async def test_a_job_that_fails_says_why_and_the_index_stays(
    client: httpx.AsyncClient, data: Path, small_book: Path
) -> None:
    with Generations(data).ingest_lock():
        job = await ended(client, (await start(client))["id"])
    assert (job["status"], job["error"]) == ("failed", "Another ingest is running. Try again when it has finished.")
    await asyncio.to_thread(small_book.rename, small_book.with_name("elsewhere"))
    job = await ended(client, (await start(client))["id"])
    assert (job["status"], job["report"]) == ("failed", None)
    assert "does not exist" in job["error"]
    assert "46 percent" in (await client.post("/ask", json={"question": MOON})).json()["answer"]


async def test_only_a_key_with_the_scope_admin_may_start_a_job(data: Path) -> None:
    store = KeyStore(data / KEYS_FILE)
    keys = {scope: store.create(scope, [scope]) for scope in ("read", "write", "admin")}
    async with serving(data) as client:
        for scope in ("read", "write"):
            assert (await client.post("/admin/ingest", json={}, headers=bearer(keys[scope]))).status_code == 403
        assert (await client.post("/admin/ingest", json={})).status_code == 401
        unknown = await client.post("/admin/ingest", json={"sources": ["x"]}, headers=bearer(keys["admin"]))
        assert unknown.status_code == 400


async def test_an_empty_index_has_nothing_to_ingest(tmp_path: Path) -> None:
    async with serving(tmp_path / "nothing") as client:
        response = await client.post("/admin/ingest", json={})
        assert (response.status_code, (await client.get("/admin/ingest")).json()) == (400, {"jobs": []})
        assert "glossator ingest" in response.json()["message"]


def test_old_jobs_are_deleted(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    for number in range(MAX_JOBS + 3):
        job_of(files, JobStatus.SUCCEEDED, f"20260101-0000{number:02d}-00000000")
    files.delete_old()
    assert [job.id[13:15] for job in files.all()] == [f"{number:02d}" for number in range(MAX_JOBS + 2, 2, -1)]
