"""Small disks, and a record of what a program asks of the disk."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def record_disk_steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which every flush of a file or folder and every rename is added as it happens."""
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def recorded_fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def recorded_replace(source: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    return steps


@contextmanager
def small_disk(megabytes: float, *, real: bool = False) -> Iterator[Path]:
    """A disk of this size, in memory or as a file with a real file system; skips if it cannot be mounted."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as image:
        size = f"size={int(megabytes * 1024)}k"
        commands = [["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder]]
        if real:
            os.truncate(image.name, int(megabytes * 1_048_576))
            commands = [["mkfs.ext4", "-q", "-F", image.name], ["mount", "-o", "loop", image.name, folder]]
        for command in commands:
            if not shutil.which(command[0]) or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip(f"{command[0]} cannot create a small disk here (it needs root and loop devices)")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(disk: Path, left: int = 0) -> None:
    """Leave no more than so many bytes free, by a file named `ballast`."""
    with (disk / "ballast").open("ab", buffering=0) as ballast, suppress(OSError):
        for size in (1_048_576, 4096):
            while shutil.disk_usage(disk).free > left + size and ballast.write(bytes(size)) == size:
                pass
        while not left and ballast.write(bytes(4096)):
            pass
