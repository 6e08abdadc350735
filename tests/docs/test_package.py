"""The package as it is published: its metadata, its files, and that it works away from the source tree."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from paths import ROOT

SOURCE = ROOT / "src" / "glossator"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s\[<>=!~;]", requirement)[0].lower().replace("_", "-") for requirement in requirements}


def imported() -> dict[str, str]:
    """Every third-party package that the source imports, with one file that does."""
    found: dict[str, str] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for top in (module.partition(".")[0] for module in modules):
                if top not in sys.stdlib_module_names and top != "glossator":
                    found[top] = str(file.relative_to(ROOT))
    return found


def test_every_imported_package_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = names(PROJECT["dependencies"]).union(*(names(requirements) for requirements in extras.values()))
    distributions = packages_distributions()
    for module, file in imported().items():
        candidates = {name.lower().replace("_", "-") for name in distributions[module]}
        assert candidates & declared, f"{file} imports {module}, which pyproject.toml does not declare"


def test_the_lock_file_names_no_registry() -> None:
    for file in (ROOT / "requirements").glob("*.txt"):
        assert not re.search(r"https?://|--index-url|--find-links", file.read_text("utf-8")), file.name


def tracked() -> list[str]:
    """The files that git knows and that are there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the files that git knows, as a release would be."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    for name in tracked():
        if name.startswith("src/") or "/" not in name:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    expected = {name.removeprefix("src/") for name in tracked.split("\0") if name and (ROOT / name).exists()}
    assert expected <= set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_the_wheel_names_its_licence_and_extras(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    assert "License-Expression: Apache-2.0" in metadata
    for file in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f"licenses/{file}") for name in archive.namelist())
    for extra in ("llm", "mcp", "otel", "postgres", "qdrant", "redis", "all"):
        assert f"Provides-Extra: {extra}" in metadata


@pytest.mark.slow
def test_the_wheel_answers_a_question(wheel: Path, sample_data: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = (
        "import glossator, sys; from glossator.cli.main import main; print(glossator.__file__, file=sys.stderr); main()"
    )
    command = [sys.executable, "-P", "-c", code, "ask", "What are the stop categories?", "--json"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [*command, "--data-dir", str(sample_data)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(str(tmp_path / "installed"))
    assert "stop category" in json.loads(done.stdout)["text"].lower()
