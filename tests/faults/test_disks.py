"""Disks that are full or read-only under a running server: it answers, loses nothing, and recovers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from data_dirs import copy_data
from disk import fill, small_disk
from machine import Trial, book_server

pytestmark = pytest.mark.slow

CLIENTS = int(os.environ.get("GLOSSATOR_CLIENTS", "5"))
ROUNDS = int(os.environ.get("GLOSSATOR_ROUNDS", "1"))


@pytest.mark.parametrize("real", [True, False], ids=["ext4", "tmpfs"])
def test_a_disk_that_fills_up_stops_no_answer_and_loses_none(data: Path, real: bool) -> None:
    trial = Trial(f"full disk ({'ext4' if real else 'tmpfs'})", CLIENTS)
    with small_disk(300, real=real) as disk:
        copied = copy_data(data, disk / "data")
        with book_server(copied) as server:
            trial.before(server)
            for _ in range(ROUNDS):
                outcomes = trial.during(server, lambda: fill(disk), (disk / "ballast").unlink)
                assert not all(outcome.stored for outcome in outcomes)
                assert not any(outcome.refused for outcome in outcomes)
                trial.after(server)
        trial.end(copied)


def test_a_server_that_starts_on_a_full_tmpfs_answers(data: Path) -> None:
    """The holes of the index cannot be read there, so that it is copied to the temporary folder."""
    trial = Trial("start on a full tmpfs", CLIENTS)
    with small_disk(200) as disk:
        copied = copy_data(data, disk / "data")
        fill(disk)
        with book_server(copied) as server:
            trial.during(server, lambda: None, (disk / "ballast").unlink)
            trial.after(server)
        trial.end(copied)


def test_a_full_temporary_folder_is_reported_until_there_is_space(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial("data and temporary folder on a full tmpfs", CLIENTS)
    with small_disk(200) as disk:
        copied = copy_data(data, disk / "data")
        (disk / "tmp").mkdir()
        monkeypatch.setenv("TMPDIR", str(disk / "tmp"))
        fill(disk, left=500_000)
        with book_server(copied) as server:
            outcomes = trial.during(server, lambda: None, (disk / "ballast").unlink)
            assert {outcome.status for outcome in outcomes} == {503}
            trial.after(server)
        trial.end(copied)


def test_a_read_only_disk_can_be_read_and_is_written_once_it_can_be(data: Path) -> None:
    trial = Trial("read-only disk", CLIENTS)

    def remount(disk: Path, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)

    with small_disk(300, real=True) as disk:
        copied = copy_data(data, disk / "data")
        remount(disk, "ro")
        with book_server(copied) as server:
            outcomes = trial.during(server, lambda: None, lambda: remount(disk, "rw"))
            assert not any(outcome.refused or outcome.stored for outcome in outcomes)
            trial.after(server)
        trial.end(copied)
