"""Routes for operators: ingest the sources of the index again, and follow the job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from glossator.core.book.manifest import SourceRecord
from glossator.core.errors import BadInput
from glossator.core.settings import Settings
from glossator.pipeline.sources import indexed_sources
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.base import DEFAULT_DOOR, StrictBody
from glossator.serve.doors.streams import HEARTBEAT, STREAM_HEADERS, event
from glossator.serve.jobs.files import Job, JobFiles, JobStatus
from glossator.serve.jobs.start import start_job
from glossator.serve.problems import RequestRejected

POLL_SECONDS = 0.25
_HEARTBEAT_SECONDS = 10.0
_STREAM_SHARE = 0.5
"""Of the time that a request may take; then the stream ends, and a client that reconnects gets the current state."""
_EVENTS: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "Events `progress` and, at the end, `done`; the data of each is the job.",
            "properties": {"event": {"enum": ["progress", "done"]}, "data": {"type": "string"}},
            "required": ["data"],
        }
    }
}
_SourceName = Annotated[str, Field(min_length=1, max_length=2000)]
_JobId = Annotated[str, Path(pattern=r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{8}$", description="Id of the job")]


class IngestJobRequest(StrictBody):
    """Which sources to ingest again."""

    sources: Annotated[list[_SourceName] | None, Field(min_length=1, max_length=100)] = Field(
        None, description="Names, paths or URLs of sources of the index; by default all"
    )


class IngestJobState(BaseModel):
    """An ingest job."""

    id: str
    status: JobStatus = Field(description="`lost` if it was killed before it finished")
    sources: list[str] = Field(description="Paths or URLs")
    started_at: datetime
    finished_at: datetime | None = None
    stage: str = Field("", description="`fetch` or `embed`; empty before the first stage")
    done: int = Field(0, ge=0, description="Pages or chunks of this stage")
    total: int = Field(0, ge=0)
    report: dict[str, Any] | None = Field(None, description="The report that `glossator ingest --json` prints")
    error: str | None = Field(None, description="Reason for the failure; the index is unchanged")


class IngestJobList(BaseModel):
    """The latest ingest jobs."""

    jobs: list[IngestJobState] = Field(description="Most recent first")


def job_routes(engine: Engine) -> APIRouter:
    """Ingest jobs; all of these need the scope `admin`."""
    router = DEFAULT_DOOR.router()
    files = JobFiles(engine.settings.book_dir)

    @router.post("/admin/ingest", tags=["operations"], status_code=HTTPStatus.ACCEPTED)
    async def start(body: IngestJobRequest) -> IngestJobState:
        """Ingest sources of the index again, in the background; needs the scope `admin`."""
        known = await asyncio.to_thread(indexed_sources, engine)
        roots = _chosen(known, body.sources)
        return _state(await asyncio.to_thread(start_job, engine.settings, roots))

    @router.get("/admin/ingest", tags=["operations"])
    async def jobs() -> IngestJobList:
        """The latest ingest jobs, most recent first; needs the scope `admin`."""
        return IngestJobList(jobs=[_state(job) for job in await asyncio.to_thread(files.all)])

    @router.get("/admin/ingest/{job_id}", tags=["operations"])
    async def job(job_id: _JobId) -> IngestJobState:
        """The state of an ingest job; needs the scope `admin`."""
        return _state(await _found(files, job_id))

    @router.get(
        "/admin/ingest/{job_id}/events",
        tags=["operations"],
        response_class=Response,
        responses={200: {"content": _EVENTS}},
    )
    async def events(job_id: _JobId) -> Response:
        """The same as a stream of events: `progress` whenever it changes, then `done`; needs the scope `admin`."""
        first = await _found(files, job_id)
        stream = _events(files, first, _end_of_stream(engine.settings))
        return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)

    return router


def _chosen(known: Sequence[SourceRecord], names: Sequence[str] | None) -> list[str]:
    """The paths or URLs of recorded sources; a request cannot name any other place to read."""
    if not known:
        raise BadInput("The index has no sources.", "Run `glossator ingest` first.")
    return list(dict.fromkeys(_root(known, name) for name in names)) if names else [source.root for source in known]


def _root(known: Sequence[SourceRecord], name: str) -> str:
    roots = [s.root for s in known if s.root == name] or [s.root for s in known if s.summary.name == name]
    if len(roots) != 1:
        problem = "Several sources have this name." if roots else "No source of the index has this name or path."
        raise BadInput(problem, "Use a path or URL from `glossator sources list`.")
    return roots[0]


async def _found(files: JobFiles, job_id: str) -> Job:
    job = await asyncio.to_thread(files.get, job_id)
    if job is None:
        raise RequestRejected(
            HTTPStatus.NOT_FOUND,
            "JOB_NOT_FOUND",
            "There is no such job on this host.",
            "See GET /admin/ingest; a job is known only to the host that started it.",
        )
    return job


def _state(job: Job) -> IngestJobState:
    return IngestJobState.model_validate(asdict(job))


def _end_of_stream(settings: Settings) -> float:
    return time.monotonic() + settings.request_seconds * _STREAM_SHARE


async def _events(files: JobFiles, job: Job, deadline: float) -> AsyncIterator[str]:
    silent_since = time.monotonic()
    yield _event(job)
    while job.status is JobStatus.RUNNING and time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
        latest = await asyncio.to_thread(files.get, job.id)
        if latest is None:  # deleted by hand
            return
        if latest != job:
            job, silent_since = latest, time.monotonic()
            yield _event(job)
        elif time.monotonic() - silent_since > _HEARTBEAT_SECONDS:
            silent_since = time.monotonic()
            yield HEARTBEAT


def _event(job: Job) -> str:
    name = "progress" if job.status is JobStatus.RUNNING else "done"
    return event(name, _state(job).model_dump(mode="json"))
