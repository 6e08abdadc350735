"""Starts an ingest in a child process, which outlives the request and, if necessary, the server."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from http import HTTPStatus
from threading import Thread
from typing import Any

from pydantic import SecretStr

from glossator.core.errors import StorageError
from glossator.core.settings import Settings
from glossator.serve.jobs.files import Job, JobFiles
from glossator.serve.problems import RequestRejected

_START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_log = logging.getLogger(__name__)


def start_job(settings: Settings, sources: Sequence[str]) -> Job:
    """Start a job, and return once it runs; if another is running, that one is named."""
    files = JobFiles(settings.book_dir)
    with files.starting():
        if (running := files.running()) is not None:
            raise RequestRejected(
                HTTPStatus.CONFLICT,
                "INGEST_RUNNING",
                f"The job {running.id} is running.",
                f"Its status is at /admin/ingest/{running.id}.",
            )
        files.delete_old()
        return _start(settings, files, sources)


def _start(settings: Settings, files: JobFiles, sources: Sequence[str]) -> Job:
    job_id = files.new_id()
    values = _values(settings) | {"data_dir": str(settings.data_dir.absolute())}
    request = {"id": job_id, "sources": list(sources), "settings": values}
    child = subprocess.Popen(
        [sys.executable, "-m", "glossator.serve.jobs.run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # a signal to the server does not end it
    )
    with child.stdin as stream:  # type: ignore[union-attr]
        stream.write(json.dumps(request).encode())
    Thread(target=child.wait, daemon=True).start()
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and child.poll() is None and files.get(job_id) is None:
        time.sleep(_POLL_SECONDS)
    if (job := files.get(job_id)) is None:
        raise StorageError("The job did not start.", "See the server log for the reason.")
    _log.info("ingest job %s started", job_id)
    return job


def _values(settings: Settings) -> dict[str, Any]:
    """All settings, with secrets: they are sent to the child through a pipe that nobody else reads."""
    values = settings.model_dump(mode="json")
    return values | {n: v.get_secret_value() for n, v in settings.model_dump().items() if isinstance(v, SecretStr)}
