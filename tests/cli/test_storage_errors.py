"""Data directories that cannot be written and full disks: one clear line, and the index still answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from commands import run, run_in_subprocess
from disk import small_disk
from glossator.cli import main as cli
from glossator.core.errors import StorageError
from glossator.embed.local import built_in_model
from glossator.store.index.generations import Generations
from tides import MOON

pytestmark = pytest.mark.slow

PAGE = "# Tides\n\nTides are caused mainly by the gravity of the Moon. The Sun helps a little.\n"
NOBODY = 65534

AS_NOBODY = """
import os, pathlib, sys
from glossator.cli.main import main

def run(*arguments):
    sys.argv = ["glossator", *arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    return 0

data, page, new = sys.argv[1:4]
# As root first, so that everything is imported: `nobody` may not be able to read the interpreter.
stdout, sys.stdout = sys.stdout, open(os.devnull, "w")
assert run("ask", "What causes tides?", "--data-dir", data) == 0
assert run("ingest", page, "--data-dir", new) == 0
sys.stdout = stdout
for path in (*pathlib.Path(data).rglob("*"), pathlib.Path(data)):  # the owner's first command made it private
    path.chmod(0o555 if path.is_dir() else 0o444)
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
asked = run("ask", "What causes tides?", "--data-dir", data)
ingested = run("ingest", page, "--data-dir", data)
diagnosed = run("doctor", "--data-dir", data)
sys.exit(f"{asked} {ingested} {diagnosed}")
"""


@contextmanager
def world_readable_folder() -> Iterator[Path]:
    """A temporary folder that any user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _is_world_readable(path: Path) -> bool:
    """Whether any user may enter every folder above a file."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.resolve().parents)


@pytest.mark.skipif(
    os.getuid() == 0
    and not all(_is_world_readable(Path(file)) for file in (cli.__file__, str(built_in_model() / "model.onnx"))),
    reason="the user `nobody` cannot read the project's folder",
)
def test_read_only_data_directory_can_be_searched_but_not_written(tides_index: Path, tmp_path: Path) -> None:
    with world_readable_folder() as folder:
        data, page = folder / "data", folder / "page.md"
        subprocess.run(["cp", "-r", tides_index, data], check=True)
        page.write_text("# Kites\n\nA kite flies because of the wind.\n", "utf-8")
        code = AS_NOBODY.replace("NOBODY", str(NOBODY))
        command = [sys.executable, "-c", code, data, page, tmp_path / "new"]
        done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=folder)
        for path in (data, *data.rglob("*")):
            path.chmod(0o755)
    refusal, codes = done.stderr.splitlines()
    assert "gravity of the Moon" in done.stdout
    assert "not writable" in " ".join(done.stdout.split())
    assert refusal == f"glossator: {data}/ingest.lock cannot be written (Permission denied). Choose another --data-dir."
    assert codes == "0 5 4"


@pytest.mark.parametrize("megabytes", [0.004, 0.1, 1, 49])
def test_full_disk_fails_with_one_line(megabytes: float, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    with small_disk(megabytes) as disk:
        result = run_in_subprocess("ingest", tmp_path / "page.md", "--data-dir", disk / "data")
        assert result.failed_with(5, "Free disk space"), result
        assert run("ask", MOON, "--data-dir", disk / "data").code == 4


@pytest.mark.parametrize("left", [20_000_000, 0], ids=["nearly full", "full"])
def test_index_still_answers_after_the_disk_fills_up(left: int, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    with small_disk(90, real=True) as disk:
        data = disk / "data"
        assert run("ingest", tmp_path / "page.md", "--data-dir", data).code == 0
        with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while shutil.disk_usage(disk).free > left:
                ballast.write(bytes(65_536))
        (tmp_path / "page.md").write_text(PAGE.replace("little", "lot"), "utf-8")
        result = run_in_subprocess("ingest", tmp_path / "page.md", "--data-dir", data)
        assert result.failed_with(5, "Free disk space"), result
        assert "gravity of the Moon" in run_in_subprocess("ask", MOON, "--data-dir", data).out
        assert [path.name for path in (data / "generations").iterdir()] == ["000001"]
        (disk / "ballast").unlink()
        assert run("ingest", tmp_path / "page.md", "--data-dir", data).code == 0
        assert "helps a lot" in run("ask", MOON, "--data-dir", data).out


def test_ingest_requires_disk_space_per_chunk(tmp_path: Path) -> None:
    store = Generations(tmp_path)
    store._check_free_space(1)
    with pytest.raises(StorageError, match=r"nearly full .* Free disk space"):
        store._check_free_space(10**12)
