"""A small secret file that several processes change: one at a time, in one step, outlasting a power cut."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glossator.core.errors import StorageProblem

_LOCK_SECONDS = 10.0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the right to change the file; a killed process lets go of it by dying."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(lock, path)
        yield
    finally:
        os.close(lock)


def _wait_for(lock: int, path: Path) -> None:
    end = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StorageProblem(f"Another process is changing {path}.", "Try again.") from None
            time.sleep(0.02)
        else:
            return


def write(path: Path, raw: bytes) -> None:
    """Put these bytes in the place of the file, in one step that outlasts a power cut; nobody else may read them."""
    following = path.with_suffix(".next")
    with _writable(path):
        following.unlink(missing_ok=True)
        descriptor = os.open(following, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)
                file.write(raw)
                file.flush()
                os.fsync(descriptor)
            following.replace(path)
        except BaseException:
            following.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A failed write becomes one clear line."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or type(error).__name__
        remedy = "Free some space and run it again." if full else "Choose another --data-dir."
        raise StorageProblem(f"{path} cannot be written ({reason}).", remedy) from None
