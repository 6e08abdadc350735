"""Waits for changes to the files of folders, by comparing their sizes and times."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from glossator.ingest.layouts.page import EXCLUDED_FOLDERS

POLL_SECONDS = 0.5
"""A change is reported after one interval without another: editors and generators write several files at once."""

Snapshot = dict[str, tuple[int, int]]
"""The size and the time of each file."""


def snapshot(places: Sequence[Path], excluded: Collection[Path] = ()) -> Snapshot:
    """The files of folders as they are now; hidden folders, and those that no page is read from, are left out."""
    found: Snapshot = {}
    skipped = {os.path.realpath(folder) for folder in excluded}
    for place in places:
        _note(found, str(place))
        for folder, below, files in os.walk(place):
            below[:] = [n for n in below if _is_read(n) and os.path.realpath(Path(folder, n)) not in skipped]
            for name in files:
                _note(found, os.path.join(folder, name))  # noqa: PTH118 - as `os.walk` names it, which may be no text
    return found


def _is_read(name: str) -> bool:
    return not name.startswith(".") and name not in EXCLUDED_FOLDERS


def _note(found: Snapshot, path: str) -> None:
    try:
        state = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return
    found[path] = (state.st_size, state.st_mtime_ns)


def wait_for_change(places: Sequence[Path], before: Snapshot, excluded: Collection[Path] = ()) -> Snapshot:
    """Wait until the files differ from what they were, and no longer change; then what they are."""
    now = before
    while True:
        time.sleep(POLL_SECONDS)
        latest = snapshot(places, excluded)
        if latest == now and latest != before:
            return latest
        now = latest
