"""Runs git without prompts, hooks, filters, submodules, transport helpers or external options, with a timeout."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO, cast

from glossator.core.errors import SourceError, SourceUnreachable

_CONFIG = (
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "protocol.ext.allow=never",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",  # objects are written as they come, and not kept in memory
    "http.followRedirects=false",
    "http.proxy=",
    "gc.autoDetach=false",
    "gc.pruneExpire=now",
    "advice.detachedHead=false",
)
_VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_REMOVED = re.compile(
    r"GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_.*|COMMON_DIR|NAMESPACE|CONFIG|CONFIG_PARAMETERS)"
)
"""Variables of a git command that this one runs inside of, such as a hook: they would name another repository."""
MAX_OUTPUT_BYTES = 100_000_000
_MAX_ERROR_BYTES = 65_536
_GUARD_SECONDS = 0.5
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class FolderLimit:
    """A folder that a command writes to, and how large it may become."""

    path: Path
    max_bytes: int

    @classmethod
    def of_growth(cls, path: Path, max_bytes: int) -> FolderLimit:
        """A limit of what is added to a folder."""
        return cls(path, _folder_size(path) + max_bytes)

    def is_exceeded(self) -> bool:
        return _folder_size(self.path) > self.max_bytes


def _folder_size(folder: Path) -> int:
    return sum(map(_size, folder.rglob("*")))


def _size(path: Path) -> int:
    with suppress(OSError):  # git renames and deletes files
        return path.lstat().st_size
    return 0


def git(
    arguments: Sequence[str],
    seconds: float,
    config: Sequence[str] = (),
    data: bytes = b"",
    max_bytes: int = MAX_OUTPUT_BYTES,
    folder: FolderLimit | None = None,
) -> bytes:
    """The output of a git command; an error with the last line of what it says if it fails.

    A command that gives more than `max_bytes`, or writes more than the limit of a folder, is ended: a few kilobytes of
    objects can name billions of files.
    """
    process = _started(arguments, config)
    started, errors, done = time.monotonic(), bytearray(), Event()
    threads = (
        Thread(target=_guard, args=(process, done, seconds, folder)),
        Thread(target=_feed, args=(process, data)),
        Thread(target=_drain, args=(process, errors)),
    )
    try:
        for thread in threads:
            thread.start()
        output = cast(BinaryIO, process.stdout).read(max_bytes + 1)
        if len(output) <= max_bytes:
            process.wait()
    finally:
        done.set()
        if process.poll() is None:
            _end(process)
        for thread in threads:
            thread.join()
        cast(BinaryIO, process.stdout).close()
    if len(output) > max_bytes or (process.returncode and folder is not None and folder.is_exceeded()):
        raise too_large()
    if process.returncode and time.monotonic() - started >= seconds:
        raise SourceUnreachable(
            f"git took more than {seconds / 60:.0f} minutes.", "Raise GLOSSATOR_FETCH_MINUTES, or try again."
        )
    if process.returncode:
        reason = _last_line(bytes(errors))
        raise SourceUnreachable(f"git failed: {reason}", "Check the URL, the branch or tag, and your access.")
    return output


def _started(arguments: Sequence[str], config: Sequence[str]) -> subprocess.Popen[bytes]:
    program = shutil.which("git")
    if program is None:
        raise SourceError("git is not installed.", "Install it to read repositories.")
    options = [part for setting in (*_CONFIG, *config) for part in ("-c", setting)]
    return subprocess.Popen(  # noqa: S603 - arguments that come from outside stand behind `--` or a fixed prefix
        [program, *options, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )


def too_large() -> SourceError:
    return SourceError("The repository is too large.", "Clone it, and ingest the folder of its pages.")


def _guard(process: subprocess.Popen[bytes], done: Event, seconds: float, folder: FolderLimit | None) -> None:
    """End git at its limits; it writes to the folder all the time."""
    ends_at = time.monotonic() + seconds
    while not done.wait(max(0.0, min(_GUARD_SECONDS, ends_at - time.monotonic()))):
        if time.monotonic() >= ends_at or (folder is not None and folder.is_exceeded()):
            _end(process)
            return


def _feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError), cast(BinaryIO, process.stdin) as stream:
        stream.write(data)


def _drain(process: subprocess.Popen[bytes], errors: bytearray) -> None:
    """Keep the beginning of what git says, and read the rest."""
    with suppress(OSError, ValueError), cast(BufferedReader, process.stderr) as stream:
        while block := stream.read1(65_536):
            errors += block[: max(0, _MAX_ERROR_BYTES - len(errors))]


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not _REMOVED.fullmatch(name)}
    ssh = {"GIT_SSH_COMMAND": inherited.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30")}
    return inherited | _VARIABLES | ssh


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and the programs that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _last_line(error: bytes) -> str:
    """The reason that git gives, without a password that a URL may contain."""
    lines = [line for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
    message = reasons[0].partition(":")[2].strip() or reasons[0] if reasons else "it gave no reason"
    return re.sub(r"//[^/@\s]+@", "//", "".join(c for c in message if c.isprintable()))[:300].rstrip(".") + "."


def git_version() -> tuple[int, int]:
    """The version of git."""
    found = _VERSION.match(git(["version"], 30.0))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def unignored_files(folder: Path) -> frozenset[str] | None:
    """The files of a checkout that git does not ignore, relative to it; None if it is not one that git can read."""
    if not os.path.exists(folder / ".git"):  # noqa: PTH110 - false also for a name that is too long
        return None
    arguments = ["-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    try:
        return frozenset(os.fsdecode(name) for name in git(arguments, 120.0).split(b"\0") if name)
    except SourceError:
        return None
