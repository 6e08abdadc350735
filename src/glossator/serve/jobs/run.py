"""The child process of an ingest job: reads its task from standard input, and writes its state to a file."""

from __future__ import annotations

import json
import sys
import time
import traceback
from dataclasses import asdict, replace

from glossator.core.book.manifest import timestamp
from glossator.core.errors import GlossatorError
from glossator.core.inference.cores import available_cores, low_priority
from glossator.core.settings import Settings, load_settings
from glossator.core.types import IngestReport
from glossator.pipeline.indexing import IngestRequest, build_generation
from glossator.pipeline.wiring import wire
from glossator.serve.jobs.files import Job, JobFiles, JobStatus
from glossator.serve.problems import problem_from

WRITE_SECONDS = 0.5
"""Between two reports of progress."""


def main() -> None:
    """Run the job that standard input describes."""
    request = json.load(sys.stdin)
    settings = load_settings(**request["settings"])
    threads = settings.threads or max(1, available_cores() // 2)
    with low_priority():
        run_job(settings.model_copy(update={"threads": threads}), request["id"], tuple(request["sources"]))


def run_job(settings: Settings, job_id: str, sources: tuple[str, ...]) -> None:
    """Ingest sources; the result is written to the file of the job in any case."""
    files = JobFiles(settings.book_dir)
    with files.living(job_id):
        job = Job(job_id, JobStatus.RUNNING, sources, timestamp())
        files.write(job)
        progress = _Progress(files, job)
        try:
            report = build_generation(wire(settings), IngestRequest(sources), progress)
        except Exception as error:
            if not isinstance(error, GlossatorError):
                traceback.print_exc()
            job = replace(job, status=JobStatus.FAILED, error=problem_from(error).message)
        else:
            job = replace(job, status=JobStatus.SUCCEEDED, report=_as_json(report))
        files.write(replace(job, finished_at=timestamp()))


def _as_json(report: IngestReport) -> dict[str, object]:
    return {name: value for name, value in asdict(report).items() if name not in ("changes", "dry_run")}


class _Progress:
    """Writes progress to the file of the job from time to time."""

    def __init__(self, files: JobFiles, job: Job) -> None:
        self._files, self._job = files, job
        self._written = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if time.monotonic() - self._written >= WRITE_SECONDS or done == total:
            self._files.write(replace(self._job, stage=stage, done=done, total=total))
            self._written = time.monotonic()


if __name__ == "__main__":
    main()
