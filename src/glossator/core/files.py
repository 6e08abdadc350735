"""Atomic writes, file locks and private files, on POSIX and on Windows."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glossator.core.errors import StorageError

DATA_FILES = frozenset(
    "CURRENT CURRENT.next books cache generations ingest.lock jobs keys.json keys.lock keys.next"
    " records.sqlite records.sqlite-journal records.sqlite-shm records.sqlite-wal".split()
)
"""Everything that a data directory contains."""
_LOCK_POLL_SECONDS = 0.02
_CAN_SYNC_FOLDERS = hasattr(os, "O_DIRECTORY")
"""Windows cannot open a folder, so it cannot flush one either."""

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
else:

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace a file in one step that survives a power cut; `private` makes it readable by its owner only.

    Callers must hold a lock. All writers share one temporary file, so a killed writer leaves at most that file behind.
    """
    temporary = path.with_suffix(".next")
    with storage_errors(path):
        temporary.unlink(missing_ok=True)
        try:
            _write_new(temporary, data, private=private)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def _write_new(path: Path, data: bytes, *, private: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _mode(private))
    with os.fdopen(descriptor, "wb") as file:
        if private and hasattr(os, "fchmod"):  # whatever the umask
            os.fchmod(descriptor, _mode(private))
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _mode(private: bool) -> int:
    return 0o600 if private else 0o666


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner may enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create a file that only its owner may read; an existing one is closed to others, but never opened.

    POSIX releases all locks of a process on a file when the process closes any descriptor of it. If that file is a
    SQLite database in use, the next program that opens and closes it deletes the write-ahead log that is still in use.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _mode(private=True)))
    restrict_to_owner(path)


def protect_data_dir(folder: Path) -> None:
    """Close a data directory of an earlier version to others, unless it holds files that are not Glossator's."""
    with suppress(OSError):
        if {entry.name for entry in folder.iterdir()} <= DATA_FILES:
            restrict_to_owner(folder)


def restrict_to_owner(path: Path) -> None:
    """Remove all permissions but the owner's, if there are any and we may."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        with suppress(PermissionError):
            path.chmod(mode & 0o700)


@contextmanager
def file_lock(path: Path, busy: StorageError, *, timeout_seconds: float = 0.0, private: bool = False) -> Iterator[None]:
    """Hold an exclusive lock, which the system releases if the process dies; raise `busy` if another process keeps it.

    Creates the lock file and its folder if needed; the file is never deleted.
    """
    with storage_errors(path):
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _mode(private))
    try:
        with storage_errors(path):
            _wait_for_lock(descriptor, busy, time.monotonic() + timeout_seconds)
        yield
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, busy: StorageError, deadline: float) -> None:
    while True:
        try:
            return _try_lock(descriptor)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise
        if time.monotonic() >= deadline:
            raise busy from None
        time.sleep(_LOCK_POLL_SECONDS)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk; a folder only where the platform can."""
    is_folder = path.is_dir()
    if is_folder and not _CAN_SYNC_FOLDERS:
        return
    # Windows flushes only files that are open for writing.
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Flush a folder and everything in it to the disk."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


def is_in_memory(path: Path) -> bool:
    """Whether a file or folder is on a file system in memory; only known on Linux."""
    number = path.stat().st_dev
    mounts = Path("/proc/self/mountinfo")
    rows = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()] if mounts.exists() else []
    device = f"{os.major(number)}:{os.minor(number)}" if rows else ""
    return any(row[2] == device and row[row.index("-") + 1] == "tmpfs" for row in rows)


def allocate_sparse_files(folder: Path) -> None:
    """Reserve the space of all files in a folder, where they are in memory.

    There, reading a hole of a mapped file takes space, and the process is killed (SIGBUS) if there is none.
    """
    if not is_in_memory(folder):
        return
    for path in folder.resolve().rglob("*"):
        size = path.stat().st_size
        if path.is_file() and path.stat().st_blocks * 512 < size:
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(f"{path} cannot be written: the disk is full.", "Free disk space and retry.") from None
        reason = error.strerror or type(error).__name__
        raise StorageError(f"{path} cannot be written ({reason}).", "Choose another --data-dir.") from None
