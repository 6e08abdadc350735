"""Atomic writes and file locks, and imports on platforms that lack parts of POSIX."""

from __future__ import annotations

import errno
import importlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from disk import record_disk_steps
from glossator.core import files
from glossator.core.errors import StorageError
from glossator.core.files import file_lock, storage_errors, sync_tree, write_atomically

pytestmark = pytest.mark.slow

BUSY = StorageError("Somebody else holds it.", "Try again.")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_created_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "CURRENT"
    for data in (b"1\n", b"2\r\n", b""):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == ["CURRENT"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
def test_a_private_file_is_readable_by_its_owner_only(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "keys.json", b"{}", private=True)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "keys.json") == 0o600


def test_an_ordinary_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "CURRENT", b"1\n")
        with file_lock(tmp_path / "ingest.lock", BUSY):
            pass
    finally:
        os.umask(before)
    assert (mode_of(tmp_path / "CURRENT"), mode_of(tmp_path / "ingest.lock")) == (0o640, 0o640)


def test_data_is_flushed_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = record_disk_steps(monkeypatch)
    write_atomically(tmp_path / "CURRENT", b"1\n")
    assert steps == ["file", "replace", "folder"]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "CURRENT"
    write_atomically(path, b"1\n")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"disk is full\. Free disk space"):
        write_atomically(path, b"2\n")
    assert path.read_bytes() == b"1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["CURRENT"]


def test_a_temporary_file_of_a_killed_writer_is_replaced(tmp_path: Path) -> None:
    leftover = tmp_path / "keys.next"
    leftover.write_bytes(b"half")
    leftover.chmod(0o644)
    write_atomically(tmp_path / "keys.json", b"{}", private=True)
    assert (mode_of(tmp_path / "keys.json"), leftover.exists()) == (0o600, False)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for attempt in (
        lambda: write_atomically(tmp_path / "file" / "CURRENT", b"1\n"),
        lambda: file_lock(tmp_path / "file" / "x.lock", BUSY).__enter__(),
    ):
        with pytest.raises(StorageError, match=r"cannot be written \(.+\)\. Choose another --data-dir"):
            attempt()


def test_other_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="not a storage error"), storage_errors(Path("x")):
        raise ValueError("not a storage error")


def test_a_lock_creates_its_folder_and_can_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.lock"
    for _ in range(2):
        with file_lock(path, BUSY, private=True):
            assert mode_of(path) == 0o600


def test_a_held_lock_is_refused_at_once_or_after_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with file_lock(path, BUSY):
        for timeout in (0.0, 0.05):
            with pytest.raises(StorageError, match="Somebody else holds it"):
                file_lock(path, BUSY, timeout_seconds=timeout).__enter__()
    with file_lock(path, BUSY):
        pass


def test_an_error_under_the_lock_releases_it(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(TimeoutError), file_lock(path, BUSY):
        raise TimeoutError
    with file_lock(path, BUSY):
        pass


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    script = (
        "import sys, time; from pathlib import Path; from glossator.core.errors import StorageError;"
        "from glossator.core.files import file_lock;"
        "lock = file_lock(Path(sys.argv[1]), StorageError('busy')); lock.__enter__(); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StorageError, match="Somebody else holds it"):
            file_lock(path, BUSY).__enter__()
        holder.kill()
    with file_lock(path, BUSY, timeout_seconds=10):
        pass


class FakeMsvcrt(ModuleType):
    """Records the locks that Windows would be asked for; the first `refusals` are refused as Windows refuses them."""

    LK_NBLCK = 2

    def __init__(self, refusals: int = 0) -> None:
        super().__init__("msvcrt")
        self.refusals = refusals
        self.calls: list[tuple[int, int]] = []

    def locking(self, _descriptor: int, mode: int, length: int) -> None:
        self.calls.append((mode, length))
        if len(self.calls) <= self.refusals:
            raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The module as it is imported without fcntl, fchmod and folders that can be opened."""
    msvcrt = FakeMsvcrt(refusals=2)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "fcntl", None)
        patched.setitem(sys.modules, "msvcrt", msvcrt)
        patched.delattr(os, "fchmod")
        patched.delattr(os, "O_DIRECTORY")
        importlib.reload(files)
        yield SimpleNamespace(files=files, msvcrt=msvcrt)
    importlib.reload(files)


def test_without_fcntl_locks_are_taken_through_msvcrt(windows: SimpleNamespace, tmp_path: Path) -> None:
    with windows.files.file_lock(tmp_path / "x.lock", BUSY, timeout_seconds=10):
        assert windows.msvcrt.calls == [(FakeMsvcrt.LK_NBLCK, 1)] * 3
    windows.msvcrt.refusals = 100
    with pytest.raises(StorageError, match="Somebody else holds it"):
        windows.files.file_lock(tmp_path / "x.lock", BUSY).__enter__()


def test_where_folders_cannot_be_flushed_files_still_are(
    windows: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x")
    opened: list[str] = []
    real = os.open

    def recorded(path: Path, flags: int, mode: int = 0o777) -> int:
        opened.append(Path(path).name)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", recorded)
    windows.files.write_atomically(tmp_path / "keys.json", b"{}", private=True)
    windows.files.sync_tree(tmp_path / "a")
    assert opened == ["keys.next", "b"]
    assert (tmp_path / "keys.json").read_bytes() == b"{}"


def test_a_whole_tree_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x")
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    sync_tree(tmp_path)
    assert sorted(flushed) == sorted(path.stat().st_ino for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b"))


IMPORT_EVERYTHING = """
import builtins, importlib, os, pkgutil, signal, types
for name in "fchmod fork forkpty geteuid getuid killpg pread sched_getaffinity setpriority O_CLOEXEC SEEK_DATA".split():
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1"):
    delattr(signal, name)
posix_only = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty", "uvloop"}
original = builtins.__import__

def portable_import(name, globals=None, *rest):
    # Only for the package itself: other libraries choose by `sys.platform`, which still says Linux.
    if str((globals or {}).get("__name__")).startswith("glossator"):
        if name in posix_only:
            raise ImportError(f"{name} is not available on this platform")
        if name == "msvcrt":
            return types.ModuleType(name)
    return original(name, globals, *rest)

builtins.__import__ = portable_import
import glossator
for module in pkgutil.walk_packages(glossator.__path__, "glossator."):
    if ".migrations." not in module.name:
        importlib.import_module(module.name)
        print(module.name)
assert not hasattr(glossator.core.files, "fcntl")
"""


def test_every_module_can_be_imported_without_posix_only_parts() -> None:
    command = [sys.executable, "-c", IMPORT_EVERYTHING]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert {"glossator.cli.main", "glossator.serve.app", "glossator.core.files"} <= set(done.stdout.split())
