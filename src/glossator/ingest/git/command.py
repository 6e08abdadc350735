"""Runs git without prompts, hooks, filters, submodules, transport helpers or external options, with a timeout."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

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
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")


def git(arguments: Sequence[str], seconds: float, config: Sequence[str] = (), data: bytes = b"") -> bytes:
    """The output of a git command; an error with the last line of what it says if it fails."""
    program = shutil.which("git")
    if program is None:
        raise SourceError("git is not installed.", "Install it to read repositories.")
    options = [part for setting in (*_CONFIG, *config) for part in ("-c", setting)]
    process = subprocess.Popen(  # noqa: S603 - arguments that come from outside stand behind `--` or a fixed prefix
        [program, *options, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )
    try:
        out, err = process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise SourceUnreachable(
            f"git took more than {seconds / 60:.0f} minutes.", "Raise GLOSSATOR_FETCH_MINUTES, or try again."
        ) from None
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        raise SourceUnreachable(f"git failed: {_last_line(err)}", "Check the URL, the branch or tag, and your access.")
    return out


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not _REMOVED.fullmatch(name)}
    ssh = {"GIT_SSH_COMMAND": inherited.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30")}
    return inherited | _VARIABLES | ssh


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and the programs that it started."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    process.communicate()


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
