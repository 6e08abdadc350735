"""Records what a program asks of the disk."""

from __future__ import annotations

import os
import stat
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
