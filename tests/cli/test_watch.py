"""`glossator ingest --watch`: every change is ingested, and what is broken does not reach the index."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

import glossator
from commands import COMMAND, quick_folder, run
from glossator.store.index.generations import Generations

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 600.0


@pytest.fixture
def data(small_book: Path) -> Iterator[Path]:
    """In the folder that is watched: what an ingest writes must not start another."""
    with quick_folder() as folder:
        yield folder / "data"


@pytest.fixture
def watching(data: Path, small_book: Path) -> Iterator[subprocess.Popen[bytes]]:
    (small_book / "index-here").mkdir()
    (small_book / "index-here" / "data").symlink_to(data, target_is_directory=True)
    command = [*COMMAND, "ingest", small_book, "--watch", "--json", "--data-dir", small_book / "index-here" / "data"]
    data.mkdir(parents=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    timeout = Timer(TIMEOUT_SECONDS, process.kill)
    timeout.start()
    yield process
    timeout.cancel()
    process.kill()
    process.communicate()


def next_report(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the command ended, or printed nothing until the timeout"
    return json.loads(line)


def test_changes_are_ingested_and_a_broken_page_keeps_the_index(
    watching: subprocess.Popen[bytes], data: Path, small_book: Path
) -> None:
    assert next_report(watching)["documents"]["added"] == 2
    (small_book / "kites.md").write_text("# Kites\n\nA kite needs wind and a line.\n", "utf-8")
    report = next_report(watching)
    assert (report["generation"], report["documents"]["added"]) == (2, 1)
    (small_book / "tides.md").write_bytes(b"# Tides\n\nBroken \xff\xfe text.\n")
    broken = next_report(watching)
    assert "tides.md" in broken["error"]
    assert "not UTF-8" in broken["error"]
    with glossator.open(data) as book:
        assert "Moon" in book.ask("What causes tides?").text
    (small_book / "tides.md").write_text("# Tides\n\nTides are caused by the Moon and the Sun.\n", "utf-8")
    assert next_report(watching)["documents"]["changed"] == 1
    watching.send_signal(signal.SIGTERM)
    assert watching.wait() == 143
    assert watching.stdout is not None
    assert watching.stdout.read() == b""


def test_a_change_during_another_ingest_is_ingested_after_it(
    watching: subprocess.Popen[bytes], data: Path, small_book: Path
) -> None:
    assert next_report(watching)["documents"]["added"] == 2
    with Generations(data).ingest_lock():
        (small_book / "kites.md").write_text("# Kites\n\nA kite needs wind and a line.\n", "utf-8")
        assert "Another ingest" in next_report(watching)["error"]
    assert next_report(watching)["documents"]["added"] == 1


def test_watching_a_url_or_a_dry_run_is_refused(data: Path, small_book: Path) -> None:
    refused = run("ingest", "https://docs.example.org/", "--watch", "--data-dir", data)
    assert refused.failed_with(2, "https://docs.example.org/ cannot be watched", "schedule")
    both = run("ingest", small_book, "--watch", "--dry-run", "--data-dir", data)
    assert both.failed_with(2, "either --dry-run or --watch")
