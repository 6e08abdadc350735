"""Repositories that would fill the memory or the disk are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import quick_folder
from glossator.core.errors import SourceError
from glossator.ingest.git.remote import Remote
from glossator.ingest.git.repository import Repository

SLOW_CONNECTION = """
import os, time
sent = 0
while block := os.read(0, 65536):
    os.write(1, block)
    sent += len(block)
    if sent > 2_000_000:
        time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        yield found


@pytest.fixture
def repo(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main", "repo")
    return folder / "repo"


def git(folder: Path, *arguments: str, data: bytes = b"") -> str:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *person, *arguments]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout.decode().strip()


def test_a_few_objects_that_name_a_billion_files_are_refused(repo: Path, folder: Path) -> None:
    entry, kind = git(repo, "hash-object", "-w", "--stdin", data=b"# Page"), "100644 blob"
    for _ in range(9):
        names = "".join(f"{kind} {entry}\tpage{number}\n" for number in range(10))
        entry, kind = git(repo, "mktree", data=names.encode()), "040000 tree"
    git(repo, "update-ref", "refs/heads/main", git(repo, "commit-tree", entry, "-m", "bomb"))
    repository = Repository(folder / "copy", 600.0)
    commit = repository.fetch(Remote(repo.as_uri()), "")
    with pytest.raises(SourceError, match="too large"):
        repository.write(commit, 1_000_000)


def test_a_fetch_that_fills_the_disk_is_ended(repo: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had written is deleted."""
    (repo / "large.bin").write_bytes(os.urandom(4_000_000))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "large")
    (folder / "slow.py").write_text(SLOW_CONNECTION, "utf-8")
    shell = f"git-upload-pack {repo} | {sys.executable} {folder / 'slow.py'}"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"sh -c '{shell}' --")
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    monkeypatch.setattr("glossator.ingest.git.repository.MAX_OBJECT_BYTES", 1_000_000)
    with pytest.raises(SourceError, match="too large"):
        Repository(folder / "copy", 600.0).fetch(Remote(f"ssh://host{repo}"), "")
    assert sum(path.stat().st_size for path in (folder / "copy").rglob("*")) < 500_000
