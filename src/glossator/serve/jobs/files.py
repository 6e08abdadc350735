"""Jobs as files in the data directory, visible to every worker and after a restart."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from glossator.core.errors import IngestRunning, StorageError
from glossator.core.files import file_lock, storage_errors, write_atomically

MAX_JOBS = 20
"""Jobs that are kept; older ones are deleted when another is started."""
_JOB_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
_LOCK_SECONDS = 10.0
"""How long a new job waits for its lock, which readers hold for a moment to see whether a job is alive."""


class JobStatus(StrEnum):
    """The status of a job; a lost job was killed before it finished."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Job:
    """An ingest of sources of the index, by their paths or URLs."""

    id: str
    status: JobStatus
    sources: tuple[str, ...]
    started_at: str
    finished_at: str | None = None
    stage: str = ""
    done: int = 0
    total: int = 0
    report: dict[str, Any] | None = None
    error: str | None = None


class JobFiles:
    """The jobs of one data directory. At most one is running, and holds a lock while it runs."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "jobs"

    def new_id(self) -> str:
        """An id that says when it was given."""
        return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"

    def all(self) -> list[Job]:
        """All jobs, the newest first."""
        return [job for name in self._ids() if (job := self.get(name)) is not None]

    def get(self, job_id: str) -> Job | None:
        """One job, or None."""
        job = self._read(job_id)
        if job is None or job.status is not JobStatus.RUNNING or self._is_alive(job_id):
            return job
        latest = self._read(job_id)  # it may have ended meanwhile
        return replace(latest, status=JobStatus.LOST) if latest and latest.status is JobStatus.RUNNING else latest

    def running(self) -> Job | None:
        """The job that is running, if one is."""
        job = self.get(self._latest())
        return job if job and job.status is JobStatus.RUNNING else None

    def write(self, job: Job) -> None:
        """Store the state of a job in one step; only the job itself does so, while it holds its lock."""
        write_atomically(self._path(job.id), json.dumps(asdict(job)).encode(), private=True)

    def delete_old(self) -> None:
        """Delete all but the latest jobs."""
        for job_id in self._ids()[MAX_JOBS:]:
            with storage_errors(self.folder):
                self._path(job_id).unlink(missing_ok=True)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Hold the lock that lets one worker start a job at a time."""
        with file_lock(self.folder / "start.lock", _busy(), timeout_seconds=_LOCK_SECONDS, private=True):
            yield

    @contextmanager
    def living(self, job_id: str) -> Iterator[None]:
        """Hold the lock of the running job; the system releases it if the process dies."""
        with self._lock(_LOCK_SECONDS):
            write_atomically(self.folder / "latest", job_id.encode(), private=True)
            yield

    @contextmanager
    def _lock(self, seconds: float) -> Iterator[None]:
        with file_lock(self.folder / "running.lock", _busy(), timeout_seconds=seconds, private=True):
            yield

    def _is_alive(self, job_id: str) -> bool:
        if self._latest() != job_id:
            return False
        try:
            with self._lock(0.0):
                return False
        except IngestRunning:
            return True

    def _latest(self) -> str:
        """The id of the job that ran last; the clock may not tell."""
        with suppress(OSError, ValueError):
            return (self.folder / "latest").read_text("ascii")
        return ""

    def _read(self, job_id: str) -> Job | None:
        if not _JOB_ID.fullmatch(job_id):
            return None
        with suppress(OSError, ValueError, TypeError, KeyError):
            values = json.loads(self._path(job_id).read_bytes())
            known = {field.name: values[field.name] for field in fields(Job) if field.name in values}
            return Job(**known | {"status": JobStatus(known["status"]), "sources": tuple(known["sources"])})
        return None

    def _ids(self) -> list[str]:
        """The ids of all jobs, the newest first."""
        try:
            names = [path.stem for path in self.folder.glob("*.json")]
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be read ({error.strerror}).", "Check its permissions.") from None
        return sorted((name for name in names if _JOB_ID.fullmatch(name)), reverse=True)

    def _path(self, job_id: str) -> Path:
        return self.folder / f"{job_id}.json"


def _busy() -> IngestRunning:
    return IngestRunning("Another job is running.", "Wait until it has finished.")
